//! `TestClock`: a clock that moves only when a test moves it.

use napi::Either;
use napi_derive::napi;
use paddlegate::Micros;

use crate::convert::{Code, number, span, thrown, whole};

type Result<T> = napi::Result<T, Code>;

/// The clock of stores in tests. Times are microseconds since 1970.
#[napi]
pub struct TestClock {
    pub(crate) inner: paddlegate::TestClock,
}

#[napi]
impl TestClock {
    /// Creates a clock at a time.
    #[napi(constructor, catch_unwind)]
    pub fn new(now_us: f64) -> Result<Self> {
        let inner = time(now_us).and_then(paddlegate::TestClock::new);
        Ok(Self { inner: inner.map_err(|error| thrown(&error))? })
    }

    /// Returns the time.
    #[napi(catch_unwind)]
    pub fn now(&self) -> f64 {
        number(self.inner.now().0)
    }

    /// Moves the clock to a time.
    #[napi(catch_unwind)]
    pub fn set(&self, now_us: f64) -> Result<()> {
        time(now_us).and_then(|now| self.inner.set(now)).map_err(|error| thrown(&error))
    }

    /// Moves the clock forward by seconds, or by text for [`Micros::parse`].
    #[napi(catch_unwind)]
    #[allow(clippy::needless_pass_by_value)]
    pub fn advance(&self, by: Either<f64, String>) -> Result<()> {
        let by = span("span", &by);
        by.and_then(|by| self.inner.advance(by.duration())).map_err(|error| thrown(&error))
    }
}

fn time(now_us: f64) -> paddlegate::Result<Micros> {
    whole("now", now_us).map(Micros)
}
