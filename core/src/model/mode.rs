//! `Mode`: whether a limiter refuses calls, or only says which it would refuse.

use crate::base::error::{Error, Result};

/// Whether a limiter refuses.
///
/// # Examples
///
/// ```
/// # use paddlegate::Mode;
/// assert_eq!((Mode::default(), Mode::Shadow.name()), (Mode::Enforce, "shadow"));
/// assert_eq!(Mode::from_name("enforce")?, Mode::Enforce);
/// assert_eq!(Mode::from_name("off").unwrap_err().argument(), Some("mode"));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "documents", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[repr(u8)]
pub enum Mode {
    /// Calls above a limit are refused or wait.
    #[default]
    Enforce = 0,
    /// Calls above a limit are granted, charge nothing and say so in [`Decision::would_refuse`](crate::Decision::would_refuse).
    Shadow = 1,
}

impl Mode {
    /// Returns the name: `enforce` or `shadow`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Shadow => "shadow",
        }
    }

    /// Returns the mode with this name.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "enforce" => Ok(Self::Enforce),
            "shadow" => Ok(Self::Shadow),
            other => {
                let shown: String = other.chars().take(40).collect();
                Err(Error::invalid("mode", format!("must be enforce or shadow: mode={shown:?}")))
            }
        }
    }

    /// Returns the letter by which the store knows the mode.
    pub(crate) const fn letter(self) -> char {
        match self {
            Self::Enforce => 'e',
            Self::Shadow => 's',
        }
    }
}
