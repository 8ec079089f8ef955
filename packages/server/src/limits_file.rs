//! `LimitsFile`: the limiters of the configuration file, and what it says of the server.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use paddlegate::{LimiterInfo, LimiterPage, LoadedLimiter, Micros, OnUnavailable, Paddlegate};

use crate::envoy::Mapping;
use crate::failure::Failure;
use crate::options::Options;

/// The limiters of the configuration file, by name.
#[derive(Debug, Default)]
pub(crate) struct LimitsFile {
    limiters: HashMap<String, LoadedLimiter>,
    envoy: Mapping,
    /// Those of them that a list of the store had: it shows them by itself.
    used: Mutex<HashSet<String>>,
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
        Ok(Self { limiters, envoy, used: Mutex::default() })
    }

    /// Returns which limiter decides on a descriptor of Envoy.
    pub(crate) const fn envoy(&self) -> &Mapping {
        &self.envoy
    }

    /// Adds to the last page of a list of the store the limiters of these names that no program has used yet.
    ///
    /// What is on an earlier page is known by then, unless another server has read that page.
    pub(crate) fn add_unused(&self, prefix: &str, mut page: LimiterPage) -> LimiterPage {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let of_file = |info: &&LimiterInfo| {
            let loaded = self.limiters.get(&info.name).map(|loaded| &loaded.limiter);
            loaded.is_some_and(|of| of.group() == info.group.as_deref() && of.is_keyed() == info.keyed)
        };
        used.extend(page.limiters.iter().filter(of_file).map(|info| info.name.clone()));
        if page.cursor.is_none() {
            let unused = self.limiters.iter().filter(|(name, _)| name.starts_with(prefix) && !used.contains(*name));
            page.limiters.extend(unused.map(|(name, LoadedLimiter { limiter, .. })| LimiterInfo {
                name: name.clone(),
                group: limiter.group().map(str::to_owned),
                keyed: limiter.is_keyed(),
                mode: limiter.policy().mode(),
                limits: limiter.policy().limits().to_vec(),
                last_used: Micros(0),
                ttl: limiter.ttl(),
            }));
            page.limiters = LimiterInfo::sorted(page.limiters);
        }
        page
    }

    pub(crate) fn get(&self, name: &str) -> Option<&LoadedLimiter> {
        self.limiters.get(name)
    }
}
