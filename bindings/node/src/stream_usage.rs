//! `StreamUsage`: the usage in a body that is read in chunks.

use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;

/// Finds the usage in a body.
#[napi]
#[derive(Default)]
pub struct StreamUsage {
    inner: paddlegate::StreamUsage,
}

#[napi]
impl StreamUsage {
    /// Creates a reader for one body.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes of the body.
    #[napi(catch_unwind)]
    #[allow(clippy::needless_pass_by_value)]
    pub fn feed(&mut self, chunk: Uint8Array) {
        self.inner.feed(&chunk);
    }

    /// Returns what was found, as a body.
    #[napi(catch_unwind)]
    pub fn body(&self) -> String {
        self.inner.body()
    }

    /// Returns what was found and not kept.
    #[napi(catch_unwind)]
    pub fn ignored(&self) -> Vec<String> {
        self.inner.ignored()
    }
}
