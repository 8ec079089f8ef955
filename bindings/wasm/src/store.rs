//! `Store`: creates limiters in the memory of the page or the process.

use paddlegate::{Answer, Error, Kind, Mode, Paddlegate, Policy, Prepared, Result, WAIT_TIMEOUT};
use wasm_bindgen::prelude::*;

use crate::argument;
use crate::clock::{StoreClock, TestClock};
use crate::host::{Host, Thrown, number};
use crate::limiter::{Limiter, unexpected};

/// The limits of one `Paddlegate` object.
#[wasm_bindgen]
pub struct Store {
    pub(crate) paddlegate: Paddlegate,
    pub(crate) host: Host,
    pub(crate) clock: StoreClock,
}

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

    /// Creates a limiter with limits, each a list of its kind, its values and its label. A rule for blocks is a list of its
    /// numbers.
    #[allow(clippy::too_many_arguments)]
    pub fn limiter(
        &self,
        name: &JsValue,
        limits: &JsValue,
        ttl: &JsValue,
        group: &JsValue,
        keyed: bool,
        statistics: bool,
        mode: &JsValue,
        block_after: &JsValue,
        aging: &JsValue,
    ) -> Thrown<Limiter> {
        let built = self.made(name, limits, ttl, group).and_then(|mut limiter| {
            if keyed {
                limiter = limiter.keyed()?;
            }
            if let Some(mode) = argument::optional(mode, |mode| Mode::from_name(&argument::text("mode", mode)?))? {
                limiter = limiter.with_mode(mode)?;
            }
            if let Some(rule) = argument::optional(block_after, argument::block_after)? {
                limiter = limiter.with_block_after(rule)?;
            }
            if let Some(aging) = argument::optional(aging, |aging| argument::interval("aging", aging))? {
                limiter = limiter.with_aging(aging.duration())?;
            }
            if statistics { Ok(limiter) } else { limiter.without_statistics() }
        });
        built.map(|limiter| self.limiter_of(limiter)).map_err(|error| self.host.error(error))
    }

    /// Creates a limiter of several limiters, which decide together.
    #[allow(clippy::needless_pass_by_value)] // wasm-bindgen passes lists by value
    pub fn together(&self, limiters: Vec<Limiter>) -> Thrown<Limiter> {
        let limiters: Vec<&paddlegate::Limiter> = limiters.iter().map(|limiter| &limiter.inner).collect();
        let made = self.paddlegate.together(&limiters);
        made.map(|limiter| self.limiter_of(limiter)).map_err(|error| self.host.error(error))
    }

    /// Returns the limiters that were used, whose names begin with `prefix`. `cursor` must be `undefined` or `null`.
    pub fn limiters(&self, prefix: &JsValue, cursor: &JsValue) -> Thrown<Vec<JsValue>> {
        let listed = || {
            let prefix = argument::optional(prefix, |prefix| argument::text("prefix", prefix))?.unwrap_or_default();
            // As core says; its pages would add their sorting to the module.
            if !cursor.is_undefined() && !cursor.is_null() {
                return Err(Error::invalid("cursor", "a list in memory has one page; leave it out"));
            }
            Ok(self.paddlegate.prepare_list(0, 0, &prefix))
        };
        // Memory answers at once, with all limiters on one page.
        let Prepared::Answered(Answer::List(page)) = listed().map_err(|error| self.host.error(error))? else {
            return Err(self.host.error(unexpected()));
        };
        let by_name = page.listed.iter().enumerate().map(|(at, listed)| (&*listed.name, listed.keyed, at));
        let by_name = by_name.collect::<std::collections::BinaryHeap<_>>().into_sorted_vec();
        Ok(by_name.into_iter().map(|(_, _, at)| self.host.limiter(&page.listed[at])).collect())
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

    fn made(&self, name: &JsValue, limits: &JsValue, ttl: &JsValue, group: &JsValue) -> Result<paddlegate::Limiter> {
        let policy = Policy::new(argument::limits(limits)?)?;
        let name = argument::text("name", name)?;
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

/// Returns the names of the kinds, with commas between them.
#[wasm_bindgen]
pub fn kinds() -> String {
    Kind::ALL.map(Kind::name).join(",")
}
