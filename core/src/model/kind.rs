//! `Kind`: the kinds of limits, with their names.

use crate::base::error::{Error, Result};

/// The kind of a limit. `reason` shows its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A fixed number of units in each aligned interval.
    Bucket = 1,
    /// A fixed number of units in any interval, wherever it starts.
    Window = 2,
    /// A burst of the capacity, then the rate at which it drains.
    Leaky = 3,
    /// A leaky meter whose cost is estimated first and corrected later.
    Points = 4,
    /// Evenly spaced starts, whatever their cost.
    Throttle = 5,
    /// No limit.
    Unlimited = 6,
    /// Every call is refused.
    Paused = 7,
    /// A fixed number of leases at once.
    Concurrency = 8,
    /// A fixed number of units in each period of the calendar.
    ///
    /// The numbers between are other reasons for a refusal.
    Quota = 11,
}

impl Kind {
    /// All kinds, in the order of their codes.
    pub const ALL: [Self; 9] = [
        Self::Bucket,
        Self::Window,
        Self::Leaky,
        Self::Points,
        Self::Throttle,
        Self::Unlimited,
        Self::Paused,
        Self::Concurrency,
        Self::Quota,
    ];

    /// Returns the names of the arguments that give the amount and the interval of a limit; `None` where the kind has no
    /// such number.
    pub const fn arguments(self) -> (Option<&'static str>, Option<&'static str>) {
        match self {
            Self::Bucket | Self::Window | Self::Throttle => (Some("limit"), Some("interval")),
            Self::Leaky => (Some("capacity"), Some("drain")),
            Self::Points => (Some("capacity"), Some("refill")),
            Self::Concurrency => (Some("limit"), Some("lock_timeout")),
            // The periods are given by a calendar.
            Self::Quota => (Some("limit"), None),
            Self::Unlimited | Self::Paused => (None, None),
        }
    }

    /// Returns the name of the kind, as `reason` shows it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bucket => "bucket",
            Self::Window => "window",
            Self::Leaky => "leaky",
            Self::Points => "points",
            Self::Throttle => "throttle",
            Self::Unlimited => "unlimited",
            Self::Paused => "paused",
            Self::Concurrency => "concurrency",
            Self::Quota => "quota",
        }
    }

    /// Returns the kind with this name.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Kind;
    /// assert_eq!(Kind::from_name("leaky")?, Kind::Leaky);
    /// assert_eq!(Kind::from_name("token").unwrap_err().argument(), Some("kind"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            Error::invalid(
                "kind",
                format!(
                    "must be bucket, window, leaky, points, throttle, concurrency, quota, unlimited or paused: kind={shown:?}"
                ),
            )
        })
    }

    /// Returns whether a limit of this kind counts what was taken.
    pub(crate) const fn has_state(self) -> bool {
        !matches!(self, Self::Unlimited | Self::Paused)
    }

    /// Returns the letter of this kind in the state and in the script.
    pub(crate) const fn letter(self) -> char {
        match self {
            Self::Bucket => 'b',
            Self::Window => 'w',
            Self::Leaky => 'l',
            Self::Points => 'p',
            Self::Throttle => 't',
            Self::Unlimited => 'u',
            Self::Paused => 'z',
            Self::Concurrency => 'c',
            Self::Quota => 'q',
        }
    }
}
