//! `Reason`: why a call was refused or queued.

use crate::base::error::Result;
use crate::model::kind::Kind;

/// Why a call was refused or queued.
///
/// # Examples
///
/// ```
/// # use paddlegate::{Kind, Reason};
/// assert_eq!(Reason::Limit(Kind::Window).name(), "window");
/// assert_eq!(Reason::from_name("too_large")?, Reason::TooLarge);
/// assert_eq!((Reason::Limit(Kind::Window).code(), Reason::TooLarge.code()), (2, 9));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A limit of this kind.
    Limit(Kind),
    /// A pause, of the policy or set at run time.
    Paused,
    /// A limit that was lowered at run time is below the cost. The call can pass when the limit is raised again.
    TooLarge,
    /// A block, set by a command or by refusals.
    Blocked,
    /// Another run of the job, with the same id, holds its lease, as a [`Waiter`](crate::Waiter) of a job finds. The other may
    /// still run, or its process has died.
    Running,
}

impl Reason {
    /// Returns the name, as the scripting languages show it: the name of the limit's kind, `paused`, `too_large`,
    /// `blocked` or `running`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limit(kind) => kind.name(),
            Self::Paused => Kind::Paused.name(),
            Self::TooLarge => "too_large",
            Self::Blocked => "blocked",
            Self::Running => "running",
        }
    }

    /// Returns the code, as C shows it: the code of the limit's kind, 9 for `TooLarge`, 12 for `Blocked` or 13
    /// for `Running`. The codes never change. No reason has the code 10, with which C says that the store was unavailable.
    pub const fn code(self) -> u8 {
        match self {
            Self::Limit(kind) => kind as u8,
            Self::Paused => Kind::Paused as u8,
            Self::TooLarge => 9,
            Self::Blocked => 12,
            Self::Running => 13,
        }
    }

    /// Returns the reason with this name.
    pub fn from_name(name: &str) -> Result<Self> {
        let others = [Self::TooLarge, Self::Blocked, Self::Running];
        others.into_iter().find(|other| other.name() == name).map_or_else(|| Kind::from_name(name).map(Self::from), Ok)
    }
}

impl From<Kind> for Reason {
    fn from(kind: Kind) -> Self {
        if kind == Kind::Paused { Self::Paused } else { Self::Limit(kind) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_code() {
        let kinds = Kind::ALL.into_iter().map(Reason::from);
        let mut codes: Vec<u8> =
            kinds.chain([Reason::TooLarge, Reason::Blocked, Reason::Running]).map(Reason::code).collect();
        codes.sort_unstable();
        assert_eq!(codes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13]);
    }
}
