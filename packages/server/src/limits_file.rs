//! `LimitsFile`: the limiters of the configuration file, and what it says of the server.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use paddlegate::{LoadedLimiter, Paddlegate};

use crate::envoy::Mapping;
use crate::failure::Failure;

/// The limiters of the configuration file, by name.
#[derive(Debug, Default)]
pub(crate) struct LimitsFile {
    limiters: HashMap<String, LoadedLimiter>,
    envoy: Mapping,
}

impl LimitsFile {
    /// Reads a file; a fault names the file and the place in it.
    pub(crate) fn read(path: &Path, paddlegate: &Paddlegate) -> Result<Self, Failure> {
        let fault = |message: &str| Failure::Input(format!("{}: {message}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| fault(&format!("cannot be read: {error}")))?;
        let loaded = paddlegate.load(&text).map_err(|error| fault(error.message()))?;
        let limiters = loaded.into_iter().map(|loaded| (loaded.limiter.name().to_owned(), loaded)).collect();
        let envoy = Mapping::read(&text, &limiters).map_err(|message| fault(&message))?;
        Ok(Self { limiters, envoy })
    }

    /// Returns which limiter decides on a descriptor of Envoy.
    pub(crate) const fn envoy(&self) -> &Mapping {
        &self.envoy
    }

    pub(crate) fn get(&self, name: &str) -> Option<&LoadedLimiter> {
        self.limiters.get(name)
    }
}
