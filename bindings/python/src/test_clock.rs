//! `TestClock`: the clock of a store in tests.

use paddlegate::Micros;
use pyo3::prelude::*;

use crate::argument::{OptionalArg, refused, span, whole};
use crate::error::Result;

/// A clock for tests of code that uses limiters. It moves only when the test moves it.
///
/// `Paddlegate(url, clock=clock)` decides by it; several stores may share one. `now_us` is its
/// time in microseconds since 1970, from 0, the default, to 2^52; another raises `InvalidError`. A
/// call that waits still sleeps in real time and reads the clock at each attempt.
///
///     clock = TestClock()
///     api = Paddlegate("memory://", clock=clock).window("api", 1, "minute")
///     assert api.allow() and not api.allow()
///     clock.advance("minute")
///     assert api.allow()
#[pyclass(frozen, module = "paddlegate")]
pub(crate) struct TestClock(paddlegate::TestClock);

#[pymethods]
impl TestClock {
    /// Without it pytest would look for tests in this class.
    #[classattr]
    const fn __test__() -> bool {
        false
    }

    #[new]
    #[pyo3(signature = (now_us=None), text_signature = "(now_us=0)")]
    fn new(now_us: OptionalArg) -> Result<Self> {
        Ok(Self(paddlegate::TestClock::new(now_us.map_or(Ok(Micros(0)), time)?)?))
    }

    /// Microseconds since 1970. An earlier time is that of a server whose clock ran backwards.
    #[getter]
    fn now_us(&self) -> u64 {
        self.0.now().0
    }

    #[setter]
    fn set_now_us(&self, now_us: &Bound<'_, PyAny>) -> Result<()> {
        Ok(self.0.set(time(now_us)?)?)
    }

    /// Move the clock forward by at most ten years: seconds, a `timedelta` or words.
    fn advance(&self, by: &Bound<'_, PyAny>) -> Result<()> {
        Ok(self.0.advance(span("by", by)?.duration())?)
    }
}

fn time(now_us: &Bound<'_, PyAny>) -> Result<Micros> {
    whole("now_us", now_us).map(Micros)
}

/// Reads the clock with which a store is opened.
pub(crate) fn clock(clock: OptionalArg) -> Result<Option<paddlegate::TestClock>> {
    let given = |clock: &Bound<'_, PyAny>| match clock.cast::<TestClock>() {
        Ok(clock) => Ok(clock.get().0.clone()),
        Err(_) => Err(refused("clock", "must be a TestClock", clock)),
    };
    clock.map(given).transpose()
}
