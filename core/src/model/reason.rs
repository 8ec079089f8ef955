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
}

impl Reason {
    /// Returns the name, as the scripting languages show it: that of the limit's kind, `paused` or `too_large`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limit(kind) => kind.name(),
            Self::Paused => Kind::Paused.name(),
            Self::TooLarge => "too_large",
        }
    }

    /// Returns the code, as C shows it: that of the limit's kind, or 9 for `TooLarge`. The codes never change.
    pub const fn code(self) -> u8 {
        match self {
            Self::Limit(kind) => kind as u8,
            Self::Paused => Kind::Paused as u8,
            Self::TooLarge => 9,
        }
    }

    /// Returns the reason with this name.
    pub fn from_name(name: &str) -> Result<Self> {
        if name == Self::TooLarge.name() { Ok(Self::TooLarge) } else { Kind::from_name(name).map(Self::from) }
    }
}

impl From<Kind> for Reason {
    fn from(kind: Kind) -> Self {
        if kind == Kind::Paused { Self::Paused } else { Self::Limit(kind) }
    }
}
