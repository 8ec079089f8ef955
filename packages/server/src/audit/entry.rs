//! `AuditEntry`: one change, and `AuditId`: its place among the others.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

/// One change.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AuditEntry {
    /// The id of the change, for `after` and `Last-Event-ID`: two numbers with `-` between, or one. Ids rise.
    #[schema(value_type = String, examples("1700000000000-0"))]
    pub id: AuditId,
    /// What it was.
    #[serde(flatten)]
    pub text: Text,
}

/// What a change was.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
pub struct Text {
    /// When, in seconds since 1970 by the clock of the program that made it.
    pub at: f64,
    /// The name of the token, or `anonymous`; of a change from a terminal the `--by`.
    pub who: String,
    /// The limiter.
    pub limiter: String,
    /// The key; null without one.
    #[schema(required)]
    pub key: Option<String>,
    /// What was done, with its values.
    pub what: String,
    /// Why; null when nothing was said.
    #[schema(required)]
    pub reason: Option<String>,
    /// A word that no other change has.
    pub uid: String,
}

impl Text {
    /// Creates the text of a change that was made now.
    pub(crate) fn now(who: &str, limiter: &str, key: Option<&str>, what: &str, reason: Option<&str>) -> Self {
        // The time of people who read the log; no decision depends on it.
        #[allow(clippy::disallowed_methods)]
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
        Self {
            at,
            who: who.to_owned(),
            limiter: limiter.to_owned(),
            key: key.map(str::to_owned),
            what: what.trim_end().to_owned(),
            reason: reason.map(str::to_owned),
            uid: paddlegate::new_id().unwrap_or_default(),
        }
    }
}

/// The place of a change: that of an entry of a Redis stream, or a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditId(pub(crate) u64, pub(crate) u64);

impl FromStr for AuditId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |text: &str| {
            let is_plain = (1..=15).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
            if is_plain { text.parse().map_err(|_| ()) } else { Err(()) }
        };
        let (time, rest) = text.split_once('-').unwrap_or((text, "0"));
        Ok(Self(number(time)?, number(rest)?))
    }
}

impl fmt::Display for AuditId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.0, self.1)
    }
}

impl Serialize for AuditId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
