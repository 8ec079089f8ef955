//! `Store`: creates limiters in the memory of the page or the process.

use paddlegate::{Error, Kind, Paddlegate, Policy, Result, WAIT_TIMEOUT};
use wasm_bindgen::prelude::*;

use crate::argument;
use crate::clock::{StoreClock, TestClock};
use crate::host::{Host, Thrown, number};
use crate::limiter::Limiter;

/// The limits of one `Paddlegate` object.
#[wasm_bindgen]
pub struct Store {
    pub(crate) paddlegate: Paddlegate,
    pub(crate) host: Host,
    pub(crate) clock: StoreClock,
}

/// One limit of a policy.
#[wasm_bindgen]
pub struct Limit(pub(crate) paddlegate::Limit);

#[wasm_bindgen]
impl Store {
    /// Creates a separate store. `url` must be `memory://`, `undefined` or `null`. Without a clock the time is that of
    /// JavaScript.
    #[wasm_bindgen(constructor)]
    pub fn new(host: Host, url: &JsValue, clock: Option<TestClock>) -> Thrown<Self> {
        if url.is_undefined() || url.is_null() || url.as_string().as_deref() == Some("memory://") {
            let clock = StoreClock::new(clock).map_err(|error| host.error(error))?;
            return Ok(Self { paddlegate: Paddlegate::memory_with_clock(clock.inner()), host, clock });
        }
        Err(host
            .error(Error::invalid("url", "this package keeps limits in memory; for Redis use the package paddlegate")))
    }

    /// Creates a limit from its kind and values. Without a label it has the name of its kind.
    #[allow(clippy::needless_pass_by_value)] // wasm-bindgen passes lists by value
    pub fn limit(&self, kind: &JsValue, numbers: Vec<JsValue>, label: &JsValue) -> Thrown<Limit> {
        argument::limit(kind, &numbers, label).map(Limit).map_err(|error| self.host.error(error))
    }

    /// Creates a limiter with these limits.
    pub fn limiter(&self, name: &JsValue, limits: Vec<Limit>, ttl: &JsValue, group: &JsValue) -> Thrown<Limiter> {
        let made = self.made(name, limits, ttl, group);
        made.map(|limiter| self.limiter_of(limiter)).map_err(|error| self.host.error(error))
    }

    /// Creates a limiter of several limiters, which decide together.
    #[allow(clippy::needless_pass_by_value)] // wasm-bindgen passes lists by value
    pub fn together(&self, limiters: Vec<Limiter>) -> Thrown<Limiter> {
        let limiters: Vec<&paddlegate::Limiter> = limiters.iter().map(|limiter| &limiter.inner).collect();
        let made = self.paddlegate.together(&limiters);
        made.map(|limiter| self.limiter_of(limiter)).map_err(|error| self.host.error(error))
    }

    /// Returns the limiters that were used.
    pub fn limiters(&self) -> Thrown<Vec<JsValue>> {
        let listed = self.paddlegate.limiters().map_err(|error| self.host.error(error))?;
        Ok(listed.iter().map(|listed| self.host.limiter(listed)).collect())
    }

    /// Returns the wait timeout in milliseconds: the given one, otherwise the default.
    #[wasm_bindgen(js_name = waitTimeoutMs)]
    pub fn wait_timeout_ms(&self, given: &JsValue) -> Thrown<f64> {
        let timeout = argument::optional(given, |value| argument::millis("wait_timeout", value));
        timeout.map(|timeout| number(timeout.unwrap_or(WAIT_TIMEOUT).0) / 1e3).map_err(|error| self.host.error(error))
    }

    /// Returns a new id for a call.
    #[wasm_bindgen(js_name = newId)]
    pub fn new_id(&self) -> Thrown<String> {
        paddlegate::new_id().map_err(|error| self.host.error(error))
    }
}

impl Store {
    pub(crate) fn limiter_of(&self, limiter: paddlegate::Limiter) -> Limiter {
        Limiter { inner: limiter, host: self.host.clone(), clock: self.clock.clone() }
    }

    fn made(&self, name: &JsValue, limits: Vec<Limit>, ttl: &JsValue, group: &JsValue) -> Result<paddlegate::Limiter> {
        let (name, policy) = (argument::text("name", name)?, Policy::new(limits.into_iter().map(|limit| limit.0))?);
        let limiter = match argument::optional(ttl, |value| argument::interval("ttl", value))? {
            None => self.paddlegate.limiter(&name, policy),
            Some(ttl) => self.paddlegate.limiter_with_ttl(&name, policy, ttl.duration()),
        }?;
        match argument::optional(group, |value| argument::text("group", value))? {
            None => Ok(limiter),
            Some(group) => limiter.with_group(&group),
        }
    }
}

/// Returns the names of the kinds.
#[wasm_bindgen]
pub fn kinds() -> Vec<String> {
    Kind::ALL.iter().map(|kind| kind.name().to_owned()).collect()
}
