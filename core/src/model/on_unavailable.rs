//! `OnUnavailable`: the behaviour of a limiter while its store cannot decide.

use crate::base::error::{Error, Result};

/// The result of `try_acquire`, `acquire_with_id` and `peek` while the store cannot decide. The names never change.
///
/// All modes except `Raise` mark the decision as [`degraded`](crate::Decision::degraded) and queue no call. In these modes only
/// one call a second goes to the node after five consecutive failures, until one succeeds; with `Raise` each call does, and may
/// take its whole time-out. In a cluster a failing node does
/// not affect the limiters on other nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnavailable {
    /// The error [`Unavailable`](crate::ErrorKind::Unavailable).
    #[default]
    Raise,
    /// A refusal; `retry_after` is the time until the next attempt to reach the store.
    FailClosed,
    /// A grant that is never counted. Releasing its permit ends no lease.
    FailOpen,
    /// A decision by this process alone, with a share of every limit.
    ///
    /// While the store is away, the limits hold across all processes whose shares add up to at most 100. The local
    /// state starts from the remaining units that the store last reported for the most restrictive limit, capped at the
    /// share. A pause that this process knows of stays in force. The store does not count local grants later.
    Local {
        /// Percent of every limit, 1 to 100. Refuses when the share of a limit is below one unit.
        share_percent: u8,
    },
}

impl OnUnavailable {
    /// Returns the mode of limiters that decide together: the strictest of theirs.
    pub(crate) fn strictest(each: impl Iterator<Item = Self>) -> Self {
        let modes: Vec<Self> = each.map(Self::together).collect();
        let ordered = [Self::Raise, Self::FailClosed];
        ordered.into_iter().find(|mode| modes.contains(mode)).unwrap_or(Self::FailOpen)
    }

    /// Returns the mode for limiters that decide together, which this process does not do alone.
    pub(crate) fn together(self) -> Self {
        if matches!(self, Self::Local { .. }) { Self::FailClosed } else { self }
    }

    /// Returns the mode with this name. `share_percent` belongs to `local` and defaults to 100.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::OnUnavailable;
    /// assert_eq!(OnUnavailable::from_name("local", Some(25))?, OnUnavailable::Local { share_percent: 25 });
    /// assert_eq!(OnUnavailable::from_name("fail_open", Some(25)).unwrap_err().argument(), Some("local_share_percent"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn from_name(name: &str, share_percent: Option<u64>) -> Result<Self> {
        match (name, share_percent) {
            ("raise", None) => Ok(Self::Raise),
            ("fail_closed", None) => Ok(Self::FailClosed),
            ("fail_open", None) => Ok(Self::FailOpen),
            ("local", share_percent) => match u8::try_from(share_percent.unwrap_or(100)) {
                Ok(share_percent @ 1..=100) => Ok(Self::Local { share_percent }),
                _ => Err(Error::invalid(
                    "local_share_percent",
                    format!("must be from 1 to 100: local_share_percent={}", share_percent.unwrap_or(100)),
                )),
            },
            ("raise" | "fail_closed" | "fail_open", Some(_)) => Err(Error::invalid(
                "local_share_percent",
                format!("belongs to on_unavailable=local: on_unavailable={name}"),
            )),
            _ => {
                let shown: String = name.chars().take(40).collect();
                let message = format!("must be raise, fail_closed, fail_open or local: on_unavailable={shown:?}");
                Err(Error::invalid("on_unavailable", message))
            }
        }
    }

    /// Returns the name of the mode.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raise => "raise",
            Self::FailClosed => "fail_closed",
            Self::FailOpen => "fail_open",
            Self::Local { .. } => "local",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_found_by_name_and_share() {
        for mode in [OnUnavailable::Raise, OnUnavailable::FailClosed, OnUnavailable::FailOpen] {
            assert_eq!(OnUnavailable::from_name(mode.name(), None), Ok(mode));
            assert_eq!(
                OnUnavailable::from_name(mode.name(), Some(50)).unwrap_err().argument(),
                Some("local_share_percent")
            );
        }
        assert_eq!(OnUnavailable::from_name("local", None), Ok(OnUnavailable::Local { share_percent: 100 }));
        assert_eq!(OnUnavailable::from_name("local", Some(1)), Ok(OnUnavailable::Local { share_percent: 1 }));
        for share in [0, 101, u64::MAX] {
            assert_eq!(
                OnUnavailable::from_name("local", Some(share)).unwrap_err().argument(),
                Some("local_share_percent")
            );
        }
        assert_eq!(OnUnavailable::from_name("Open", None).unwrap_err().argument(), Some("on_unavailable"));
    }
}
