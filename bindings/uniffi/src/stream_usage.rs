//! `NativeStreamUsage`: the usage in a body that is read in chunks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paddlegate_core::StreamUsage;

/// Finds the usage in the body of a response that is read in chunks.
#[derive(uniffi::Object)]
pub struct NativeStreamUsage(Mutex<StreamUsage>);

#[uniffi::export]
impl NativeStreamUsage {
    #[uniffi::constructor]
    pub fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }

    pub fn feed(&self, chunk: Vec<u8>) {
        self.state().feed(&chunk);
    }

    pub fn body(&self) -> String {
        self.state().body()
    }

    pub fn ignored(&self) -> Vec<String> {
        self.state().ignored()
    }
}

impl NativeStreamUsage {
    fn state(&self) -> MutexGuard<'_, StreamUsage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
