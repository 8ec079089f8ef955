//! `App`: what all requests share.

use std::ops::Deref;
use std::sync::Arc;

use arc_swap::ArcSwap;
use paddlegate::{LoadedLimiter, Paddlegate};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::limits_file::LimitsFile;
use crate::options::Options;

/// What all requests share: the store, the limiters of the file, and whether the server stops. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Shared>);

/// The contents of an [`App`].
pub struct Shared {
    paddlegate: Paddlegate,
    options: Options,
    limits: ArcSwap<LimitsFile>,
    stopping: CancellationToken,
}

impl App {
    /// Opens the store and reads the limits file. Connects at the first call.
    pub(crate) fn open(options: Options) -> Result<Self, Failure> {
        let url = options.redis.as_deref().unwrap_or("memory://");
        let paddlegate = Paddlegate::open(url, options.timeout)
            .map_err(|error| Failure::Input(format!("--redis: {}", error.message())))?;
        let limits = options.limits.as_deref().map(|path| LimitsFile::read(path, &paddlegate)).transpose()?;
        let limits = ArcSwap::from_pointee(limits.unwrap_or_default());
        Ok(Self(Arc::new(Shared { paddlegate, options, limits, stopping: CancellationToken::new() })))
    }
}

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Shared {
    /// Returns the store.
    pub fn paddlegate(&self) -> &Paddlegate {
        &self.paddlegate
    }

    /// Returns how the server runs.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the limiter of the limits file with this name.
    pub fn limiter(&self, name: &str) -> Option<LoadedLimiter> {
        self.limits.load().get(name).cloned()
    }

    /// Returns what ends when the server stops: a request that waits then gives up.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }
}
