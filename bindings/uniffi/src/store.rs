//! `NativeStore`: creates limiters that share one store.

use std::sync::Arc;

use paddlegate_core::{LimiterInfo, LoadOptions, LoadedLimiter, Micros, OnUnavailable, Paddlegate};

use crate::clock::NativeClock;
use crate::error::Result;
use crate::gate::NativeGate;
use crate::limit::{NativeLimit, NativeOptions, unavailable};
use crate::limiter::NativeLimiter;
use crate::number::{micros, some, some_us, us};

/// A store, in memory or in Redis.
#[derive(uniffi::Object)]
pub struct NativeStore(Paddlegate);

/// A limiter that a document defines.
#[derive(uniffi::Record)]
pub struct NativeLoaded {
    pub limiter: Arc<NativeLimiter>,
    pub wait_timeout_us: Option<i64>,
    pub on_limit: String,
}

/// An entry of the list of limiters.
#[derive(uniffi::Record)]
pub struct NativeListed {
    pub name: String,
    pub group: Option<String>,
    pub keyed: bool,
    pub mode: String,
    pub limits: Vec<NativeLimit>,
    pub last_used_us: i64,
    pub ttl_us: i64,
}

/// A page of the list of limiters, and the cursor of the next.
#[derive(uniffi::Record)]
pub struct NativePage {
    pub limiters: Vec<NativeListed>,
    pub cursor: Option<String>,
}

#[uniffi::export]
impl NativeStore {
    /// Opens a store without a connection; without a URL that of the environment.
    #[uniffi::constructor]
    pub fn new(url: Option<String>, timeout_us: Option<i64>, clock: Option<Arc<NativeClock>>) -> Result<Arc<Self>> {
        let timeout = some("timeout", timeout_us, micros)?.map(Micros::duration);
        let clock = clock.as_ref().map(|clock| &clock.0);
        Ok(Arc::new(Self(match url {
            Some(url) => Paddlegate::open_with_clock(&url, timeout, clock)?,
            None => Paddlegate::from_env_with_clock(timeout, clock)?,
        })))
    }

    pub fn is_memory(&self) -> bool {
        self.0.redis().is_none()
    }

    /// Returns the time within which a call returns or fails; none in memory.
    pub fn timeout_us(&self) -> Option<i64> {
        self.0.redis().map(|redis| us(redis.timeout()))
    }

    pub fn close_connections(&self) {
        self.0.close();
    }

    pub fn limiter(
        &self,
        name: String,
        limits: Vec<NativeLimit>,
        options: NativeOptions,
    ) -> Result<Arc<NativeLimiter>> {
        let policy = options.policy(&limits)?;
        let limiter = match some("ttl", options.ttl_us, micros)? {
            Some(ttl) => self.0.limiter_with_ttl(&name, policy, ttl.duration())?,
            None => self.0.limiter(&name, policy)?,
        };
        Ok(Arc::new(NativeLimiter(options.applied(limiter)?)))
    }

    pub fn together(&self, limiters: Vec<Arc<NativeLimiter>>) -> Result<Arc<NativeLimiter>> {
        let each: Vec<_> = limiters.iter().map(|limiter| &limiter.0).collect();
        Ok(Arc::new(NativeLimiter(self.0.together(&each)?)))
    }

    pub fn load(
        &self,
        document: String,
        lock_timeout_us: Option<i64>,
        tenant: Option<String>,
        group: Option<String>,
        on_unavailable: Option<String>,
        local_share_percent: Option<i64>,
    ) -> Result<Vec<NativeLoaded>> {
        let options = LoadOptions {
            lock_timeout: some("lock_timeout", lock_timeout_us, micros)?,
            tenant: tenant.as_deref(),
            group: group.as_deref(),
        };
        let unavailable = unavailable(on_unavailable.as_deref(), local_share_percent)?;
        let loaded = self.0.load_with(&document, &options)?;
        Ok(loaded.into_iter().map(|it| NativeLoaded::of(it, unavailable)).collect())
    }

    pub fn conductor_limiter(
        &self,
        definition: String,
        run: String,
        lock_timeout_us: Option<i64>,
        on_unavailable: Option<String>,
        local_share_percent: Option<i64>,
    ) -> Result<NativeLoaded> {
        let lock_timeout = some("lock_timeout", lock_timeout_us, micros)?;
        let unavailable = unavailable(on_unavailable.as_deref(), local_share_percent)?;
        Ok(NativeLoaded::of(self.0.conductor_limiter(&definition, &run, lock_timeout)?, unavailable))
    }

    pub fn invantive_gate(&self, document: String) -> Result<Arc<NativeGate>> {
        Ok(Arc::new(NativeGate(self.0.invantive_gate(&document)?)))
    }

    pub fn limiters(&self, prefix: String) -> Result<Vec<NativeListed>> {
        Ok(self.0.limiters_with_prefix(&prefix)?.iter().map(NativeListed::from).collect())
    }

    pub fn limiter_page(&self, prefix: String, cursor: Option<String>) -> Result<NativePage> {
        let page = self.0.limiter_page(&prefix, cursor.as_deref())?;
        Ok(NativePage { limiters: page.limiters.iter().map(NativeListed::from).collect(), cursor: page.cursor })
    }
}

impl NativeLoaded {
    fn of(it: LoadedLimiter, unavailable: Option<OnUnavailable>) -> Self {
        let limiter = match unavailable {
            Some(mode) => it.limiter.with_on_unavailable(mode),
            None => it.limiter,
        };
        Self {
            limiter: Arc::new(NativeLimiter(limiter)),
            wait_timeout_us: some_us(it.wait_timeout),
            on_limit: it.on_limit.name().to_owned(),
        }
    }
}

impl From<&LimiterInfo> for NativeListed {
    fn from(it: &LimiterInfo) -> Self {
        Self {
            name: it.name.clone(),
            group: it.group.clone(),
            keyed: it.keyed,
            mode: it.mode.name().to_owned(),
            limits: NativeLimit::shown_all(&it.limits),
            last_used_us: us(it.last_used),
            ttl_us: us(it.ttl),
        }
    }
}

/// Returns the default time for which a call waits.
#[uniffi::export]
pub fn default_wait_timeout_us() -> i64 {
    us(paddlegate_core::WAIT_TIMEOUT)
}

/// Returns the longest time that the core accepts.
#[uniffi::export]
pub fn max_span_us() -> i64 {
    us(paddlegate_core::MAX_SPAN)
}
