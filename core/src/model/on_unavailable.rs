//! `OnUnavailable`: what a limiter answers while its store cannot decide.

use crate::base::error::{Error, Result};

/// What a limiter answers to `acquire`, `enter` and `peek` while the store cannot decide. The names never change.
///
/// In all but the first the decision says that it is [`degraded`](Decision::degraded), nobody waits, and after five
/// failures in a row a node is asked by one call a second only, until one succeeds. In a cluster a node that fails
/// changes nothing for the limiters of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnavailable {
    /// The error [`Unavailable`](ErrorKind::Unavailable).
    #[default]
    Raise,
    /// Refused until the store is asked again.
    Closed,
    /// Granted, and never counted. A lease granted so ends nobody else's.
    Open,
    /// Decided by this process alone, with so many hundredths of every limit: while the store is away the limits hold over
    /// all processes whose shares are not above 100 in sum. It goes on from what the store last said was left of the
    /// tightest limit, and never from more; a pause that it has heard of stays. What is granted so is not counted in the
    /// store later.
    Local {
        /// 1 to 100. A limit of which less than one unit is left refuses.
        share: u8,
    },
}

impl OnUnavailable {
    /// The mode of that name; `share` is that of `local`, by default 100.
    pub fn from_name(name: &str, share: Option<u64>) -> Result<Self> {
        match (name, share) {
            ("raise", None) => Ok(Self::Raise),
            ("closed", None) => Ok(Self::Closed),
            ("open", None) => Ok(Self::Open),
            ("local", share) => match u8::try_from(share.unwrap_or(100)) {
                Ok(share @ 1..=100) => Ok(Self::Local { share }),
                _ => Err(Error::invalid("share", format!("must be from 1 to 100: share={}", share.unwrap_or(100)))),
            },
            ("raise" | "closed" | "open", Some(_)) => {
                Err(Error::invalid("share", format!("belongs to on_unavailable=local: on_unavailable={name}")))
            }
            _ => {
                let shown: String = name.chars().take(40).collect();
                let message = format!("must be raise, closed, open or local: on_unavailable={shown:?}");
                Err(Error::invalid("on_unavailable", message))
            }
        }
    }

    /// The mode in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raise => "raise",
            Self::Closed => "closed",
            Self::Open => "open",
            Self::Local { .. } => "local",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_found_by_name_and_share() {
        for mode in [OnUnavailable::Raise, OnUnavailable::Closed, OnUnavailable::Open] {
            assert_eq!(OnUnavailable::from_name(mode.name(), None), Ok(mode));
            assert_eq!(OnUnavailable::from_name(mode.name(), Some(50)).unwrap_err().argument(), Some("share"));
        }
        assert_eq!(OnUnavailable::from_name("local", None), Ok(OnUnavailable::Local { share: 100 }));
        assert_eq!(OnUnavailable::from_name("local", Some(1)), Ok(OnUnavailable::Local { share: 1 }));
        for share in [0, 101, u64::MAX] {
            assert_eq!(OnUnavailable::from_name("local", Some(share)).unwrap_err().argument(), Some("share"));
        }
        assert_eq!(OnUnavailable::from_name("Open", None).unwrap_err().argument(), Some("on_unavailable"));
    }
}
