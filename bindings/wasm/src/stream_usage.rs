//! `StreamUsage`: the usage in a body that is read in chunks.

use wasm_bindgen::prelude::*;

/// Finds the usage in a body.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct StreamUsage(paddlegate::StreamUsage);

#[wasm_bindgen]
impl StreamUsage {
    /// Creates a reader for one body.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes of the body.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.0.feed(chunk);
    }

    /// Returns what was found, as a body.
    pub fn body(&self) -> String {
        self.0.body()
    }

    /// Returns what was found and not kept.
    pub fn ignored(&self) -> Vec<String> {
        self.0.ignored()
    }
}
