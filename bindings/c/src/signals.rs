//! What a signal does to a call that waits for the server.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use paddlegate_core::{Error as CoreError, Micros, SignalHandling};

use crate::error::{Code, Error};
use crate::guard::guard;
use crate::wait::PG_FOREVER;

/// A host such as Ruby handles a signal only after the call has returned, so a call to a server that
/// does not reply must end soon after the signal.
const DEFAULT: u64 = 100_000;
const IGNORE: u64 = u64::MAX;

static AFTER_SIGNAL: AtomicU64 = AtomicU64::new(DEFAULT);

/// Sets how long a call that waits for the server may go on after a signal has arrived on its thread,
/// for all calls of this process: from 0 to an hour. The default is 100,000, for hosts that handle
/// a signal only when the call has returned; the call is then PG_UNAVAILABLE. With PG_FOREVER
/// a signal does not end a call, for hosts that handle signals on other threads: it ends within the
/// time-out of its store as ever.
#[unsafe(no_mangle)]
pub extern "C" fn pg_after_signal(time_us: i64, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || {
        let time = match u64::try_from(time_us) {
            Ok(time) if time <= 3_600_000_000 => time,
            Err(_) if time_us == PG_FOREVER => IGNORE,
            _ => {
                let reason = format!("must be from 0 to 3600000000, or PG_FOREVER: time_us={time_us}");
                return Err(CoreError::invalid("time_us", reason));
            }
        };
        AFTER_SIGNAL.store(time, Ordering::Relaxed);
        Ok(())
    })
}

/// Returns what a signal does to a call.
pub(crate) fn on_signal() -> SignalHandling<'static> {
    match AFTER_SIGNAL.load(Ordering::Relaxed) {
        IGNORE => SignalHandling::Ignore,
        time => SignalHandling::FinishWithin(Micros(time)),
    }
}
