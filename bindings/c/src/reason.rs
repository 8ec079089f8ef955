//! `pg_reason`: why a call was refused or queued.

use std::ffi::c_char;

use paddlegate_core::{Kind as CoreKind, Reason as CoreReason};

use crate::names;

/// Why a call was refused or queued. The numbers never change; those of a limit are its kind's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Reason {
    /// No reason: the call was granted.
    None = 0,
    /// A limit of the kind PG_KIND_BUCKET.
    Bucket = 1,
    /// A limit of the kind PG_KIND_WINDOW.
    Window = 2,
    /// A limit of the kind PG_KIND_LEAKY.
    Leaky = 3,
    /// A limit of the kind PG_KIND_POINTS.
    Points = 4,
    /// A limit of the kind PG_KIND_THROTTLE.
    Throttle = 5,
    /// A pause, by the policy or at run time, see pg_pause.
    Paused = 7,
    /// A limit of the kind PG_KIND_CONCURRENCY.
    Concurrency = 8,
    /// A limit that was lowered at run time is below the cost. The call can pass when the limit is
    /// raised again.
    TooLarge = 9,
    /// The store cannot decide, see pg_limiter_with_on_unavailable.
    Unavailable = 10,
    /// A limit of the kind PG_KIND_QUOTA.
    Quota = 11,
    /// A block, see pg_block and pg_limiter_with_block_after.
    Blocked = 12,
    /// Another run of the job with the same id holds its lease, see pg_waiter_init_job.
    Running = 13,
}

impl From<CoreReason> for Reason {
    fn from(reason: CoreReason) -> Self {
        match reason {
            CoreReason::Limit(CoreKind::Bucket) => Self::Bucket,
            CoreReason::Limit(CoreKind::Window) => Self::Window,
            CoreReason::Limit(CoreKind::Leaky) => Self::Leaky,
            CoreReason::Limit(CoreKind::Points) => Self::Points,
            CoreReason::Limit(CoreKind::Throttle) => Self::Throttle,
            CoreReason::Limit(CoreKind::Concurrency) => Self::Concurrency,
            CoreReason::Limit(CoreKind::Quota) => Self::Quota,
            CoreReason::Paused | CoreReason::Limit(CoreKind::Paused) => Self::Paused,
            CoreReason::TooLarge => Self::TooLarge,
            CoreReason::Blocked => Self::Blocked,
            CoreReason::Running => Self::Running,
            // It refuses nothing.
            CoreReason::Limit(CoreKind::Unlimited) => Self::None,
        }
    }
}

/// Returns the name of a reason, such as "window" or "too_large"; "?" for an unknown number. Do not
/// free the text.
#[unsafe(no_mangle)]
pub extern "C" fn pg_reason_name(reason: i32) -> *const c_char {
    names::of(reason, &names::REASONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_core() {
        for kind in CoreKind::ALL.into_iter().filter(|kind| *kind != CoreKind::Unlimited) {
            let core = CoreReason::from(kind);
            assert_eq!(Reason::from(core) as i32, i32::from(core.code()), "{core:?}");
        }
        for core in [CoreReason::TooLarge, CoreReason::Blocked, CoreReason::Running] {
            assert_eq!(Reason::from(core) as i32, i32::from(core.code()), "{core:?}");
        }
    }
}
