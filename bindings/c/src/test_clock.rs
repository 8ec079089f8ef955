//! `pg_test_clock`: the clock of a store in tests.

use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

use paddlegate_core::{Micros, TestClock};

use crate::decision::number;
use crate::error::{Code, Error};
use crate::guard::{guard, guard_into};
use crate::handle::Table;
use crate::request::not_negative;

/// A clock for tests, which moves only when the test moves it. Stores that were opened with it, see
/// pg_store_open_with_clock, decide by it.
///
/// A pg_acquire_timeout that waits still sleeps in real time, and reads the clock at each attempt.
pub struct TestClockHandle {
    _opaque: [u8; 0],
}

pub(crate) static CLOCKS: Table<TestClock, TestClockHandle> = Table::new("clock", 0b1111);

/// Creates a clock at a time since 1970, from 0 to 2^52. The caller must close the handle with
/// pg_test_clock_close.
#[unsafe(no_mangle)]
pub extern "C" fn pg_test_clock_new(
    now_us: i64,
    clock: Option<&mut MaybeUninit<*mut TestClockHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("clock", clock, ptr::null_mut, error, || CLOCKS.open(TestClock::new(time(now_us)?)?))
}

/// Returns the time of a clock since 1970; -1 when clock is not open.
#[unsafe(no_mangle)]
pub extern "C" fn pg_test_clock_now(clock: *const TestClockHandle) -> i64 {
    let mut now = -1;
    let body = |clock: &TestClock| {
        now = number(Some(clock.now().0));
        Ok(())
    };
    guard(None, || CLOCKS.with(clock, body));
    now
}

/// Sets a clock to a time since 1970, from 0 to 2^52. An earlier time than before is that of a
/// server whose clock ran backwards.
#[unsafe(no_mangle)]
pub extern "C" fn pg_test_clock_set(
    clock: *const TestClockHandle,
    now_us: i64,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard(error, || CLOCKS.with(clock, |clock| clock.set(time(now_us)?)))
}

/// Moves a clock forward by a time, to at most 2^52 since 1970.
#[unsafe(no_mangle)]
pub extern "C" fn pg_test_clock_advance(
    clock: *const TestClockHandle,
    by_us: i64,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard(error, || CLOCKS.with(clock, |clock| clock.advance(Duration::from_micros(not_negative("by", by_us)?))))
}

/// Closes the handle of a clock. The stores that were opened with the clock continue to decide by
/// it.
#[unsafe(no_mangle)]
pub extern "C" fn pg_test_clock_close(clock: *mut TestClockHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || CLOCKS.close(clock))
}

fn time(now_us: i64) -> paddlegate_core::Result<Micros> {
    not_negative("now", now_us).map(Micros)
}
