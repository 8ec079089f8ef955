//! `TestClock`, and the clock of a store.

use paddlegate::{Micros, Result};
use wasm_bindgen::prelude::*;

use crate::argument::{interval, whole};
use crate::host::{Host, Thrown, number};

#[wasm_bindgen]
extern "C" {
    /// Returns the wall clock in milliseconds. Unlike `performance.now()` it advances while a laptop sleeps.
    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    fn date_now() -> f64;
}

/// A clock that moves only when a test moves it. Times are microseconds since 1970.
#[wasm_bindgen]
pub struct TestClock {
    clock: paddlegate::TestClock,
    host: Host,
}

#[wasm_bindgen]
impl TestClock {
    /// Creates a clock at a time.
    #[wasm_bindgen(constructor)]
    pub fn new(host: Host, now_us: &JsValue) -> Thrown<Self> {
        match time(now_us).and_then(paddlegate::TestClock::new) {
            Ok(clock) => Ok(Self { clock, host }),
            Err(error) => Err(host.error(error)),
        }
    }

    /// Returns the time.
    pub fn now(&self) -> f64 {
        number(self.clock.now().0)
    }

    /// Moves the clock to a time.
    pub fn set(&self, now_us: &JsValue) -> Thrown<()> {
        time(now_us).and_then(|now| self.clock.set(now)).map_err(|error| self.host.error(error))
    }

    /// Moves the clock forward by seconds, a word or an ISO 8601 duration.
    pub fn advance(&self, span: &JsValue) -> Thrown<()> {
        let span = interval("span", span);
        span.and_then(|span| self.clock.advance(span.duration())).map_err(|error| self.host.error(error))
    }

    /// Returns the same clock once more, for a store to take over.
    #[must_use]
    pub fn share(&self) -> Self {
        Self { clock: self.clock.clone(), host: self.host.clone() }
    }
}

/// The clock of a store: that of a test, or one that follows the clock of JavaScript.
#[derive(Clone)]
pub(crate) enum StoreClock {
    Test(paddlegate::TestClock),
    Host(paddlegate::TestClock),
}

impl StoreClock {
    pub(crate) fn new(clock: Option<TestClock>) -> Result<Self> {
        match clock {
            Some(test) => Ok(Self::Test(test.clock)),
            None => paddlegate::TestClock::new(Micros(0)).map(Self::Host),
        }
    }

    pub(crate) fn inner(&self) -> &paddlegate::TestClock {
        match self {
            Self::Test(clock) | Self::Host(clock) => clock,
        }
    }

    /// Sets the time of the next operation, unless a test sets it.
    pub(crate) fn update(&self) -> Result<()> {
        match self {
            Self::Test(_) => Ok(()),
            Self::Host(clock) => clock.set(now()),
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
fn now() -> Micros {
    Micros((date_now() * 1e3) as u64)
}

fn time(now_us: &JsValue) -> Result<Micros> {
    whole("now", now_us).map(Micros)
}
