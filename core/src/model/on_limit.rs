//! `OnLimit`: the action for work that a limit refuses.

use crate::base::error::{Error, Result};

/// The action for work that a limit refuses. Packages and servers carry it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "documents", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum OnLimit {
    /// The caller gets an error with the time to retry.
    #[default]
    Raise,
    /// The work is skipped without an error.
    Ignore,
    /// The job stays in its queue until the limit allows it.
    Wait,
    /// The job is scheduled for the time at which the limit is expected to allow it.
    Reschedule,
    /// The job is discarded.
    Drop,
}

impl OnLimit {
    /// All actions.
    pub const ALL: [Self; 5] = [Self::Raise, Self::Ignore, Self::Wait, Self::Reschedule, Self::Drop];

    /// Returns the name of the action, as documents write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raise => "raise",
            Self::Ignore => "ignore",
            Self::Wait => "wait",
            Self::Reschedule => "reschedule",
            Self::Drop => "drop",
        }
    }

    /// Returns the action with this name.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::OnLimit;
    /// assert_eq!(OnLimit::from_name("reschedule")?, OnLimit::Reschedule);
    /// assert_eq!(OnLimit::default().name(), "raise");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name).ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            Error::invalid("on_limit", format!("must be raise, ignore, wait, reschedule or drop: on_limit={shown:?}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_found_by_its_name() {
        for action in OnLimit::ALL {
            assert_eq!(OnLimit::from_name(action.name()).unwrap(), action);
        }
        assert_eq!(OnLimit::from_name("Wait").unwrap_err().argument(), Some("on_limit"));
    }
}
