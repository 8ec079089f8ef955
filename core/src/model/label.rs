//! `Label`: the name of a limit within its policy.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::model::kind::Kind;

/// The maximum length of a label, in bytes.
pub const MAX_LABEL: usize = 32;

/// The maximum number of limits that one name can have in use, over all its policies.
pub const MAX_LABELS: usize = 32;

/// The name of a limit within its policy: by default the name of its kind. Dereferences to the text; cheap to clone.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::Limit;
/// let limit = Limit::window(500, Duration::from_secs(60))?;
/// assert_eq!(&**limit.label(), "window");
/// assert_eq!(limit.labelled("rpm")?.label().to_string(), "rpm");
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone)]
pub struct Label(Text);

#[derive(Clone)]
enum Text {
    Kind(Kind),
    Own(Arc<str>),
}

impl Label {
    /// Returns the label with this text.
    ///
    /// `Invalid` with the argument `label` unless it has 1 to 32 bytes: a lower-case letter, then lower-case letters,
    /// digits, `_` and `-`.
    pub fn new(text: &str) -> Result<Self> {
        if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == text) {
            return Ok(Self::of(kind));
        }
        let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
        let first = text.bytes().next();
        if !first.is_some_and(|byte| byte.is_ascii_lowercase()) || text.len() > MAX_LABEL || !text.bytes().all(is_part)
        {
            let shown: String = text.chars().take(40).collect();
            let rule = "must have 1 to 32 characters, a to z first, then also digits, _ and -";
            return Err(Error::invalid("label", format!("{rule}: label={shown:?}")));
        }
        Ok(Self(Text::Own(Arc::from(text))))
    }

    /// Returns the label of a limit without one of its own.
    pub(crate) const fn of(kind: Kind) -> Self {
        Self(Text::Kind(kind))
    }
}

impl Deref for Label {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Text::Kind(kind) => kind.name(),
            Text::Own(text) => text,
        }
    }
}

impl PartialEq for Label {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Text::Kind(kind), Text::Kind(other)) => kind == other,
            (Text::Own(text), Text::Own(other)) => text == other,
            _ => false,
        }
    }
}

impl Eq for Label {}

impl Hash for Label {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &**self)
    }
}

/// Returns the error for a name with too many limits in use.
pub(crate) fn too_many_labels() -> Error {
    let message =
        format!("the name has too many limits with different labels in use, use other names: limits={MAX_LABELS}");
    Error::invalid("limits", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_short_and_plain() {
        for text in ["a", "rpm", "per_user-2", "leaky", &"a".repeat(MAX_LABEL)] {
            assert_eq!(&*Label::new(text).unwrap(), text);
        }
        for text in ["", "A", "1st", "_a", "-", "a b", "a.b", "a:b", "\u{e4}", &"a".repeat(MAX_LABEL + 1)] {
            assert_eq!(Label::new(text).unwrap_err().argument(), Some("label"), "{text:?}");
        }
        assert_eq!(Label::new("window").unwrap(), Label::of(Kind::Window));
    }
}
