//! `LimitsFile`: the limiters of the configuration file, and what it says of the server.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use paddlegate::{LoadedLimiter, OnUnavailable, Paddlegate};

use crate::envoy::Mapping;
use crate::failure::Failure;
use crate::options::Options;

/// The limiters of the configuration file, by name.
#[derive(Debug, Default)]
pub(crate) struct LimitsFile {
    limiters: HashMap<String, LoadedLimiter>,
    envoy: Mapping,
}

impl LimitsFile {
    /// Reads the file of the options, if they have one; a fault names the file and the place in it.
    pub(crate) fn of(options: &Options, paddlegate: &Paddlegate) -> Result<Option<Self>, Failure> {
        options.limits.as_deref().map(|path| Self::read(path, options.on_unavailable, paddlegate)).transpose()
    }

    fn read(path: &Path, on_unavailable: OnUnavailable, paddlegate: &Paddlegate) -> Result<Self, Failure> {
        let fault = |message: &str| Failure::Input(format!("{}: {message}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| fault(&format!("cannot be read: {error}")))?;
        let loaded = paddlegate.load(&text).map_err(|error| fault(error.message()))?;
        let named = |loaded: LoadedLimiter| {
            let limiter = loaded.limiter.with_on_unavailable(on_unavailable);
            (limiter.name().to_owned(), LoadedLimiter { limiter, ..loaded })
        };
        let limiters = loaded.into_iter().map(named).collect();
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
