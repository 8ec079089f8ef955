//! `Retry`: how often and when a job that failed is started again.

use paddlegate::period;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fault::Fault;
use crate::request::Members;

const MAX_ATTEMPTS: u64 = 3;
const INITIAL_MS: u64 = 1_000;
const MAX_INTERVAL_MS: u64 = 300_000;
/// The longest interval: ten years.
const LONGEST_MS: u64 = 10 * 365 * 86_400 * 1_000;

/// The members of a policy.
const MEMBERS: [&str; 10] = [
    "max_attempts",
    "initial_interval",
    "initial_interval_ms",
    "max_interval",
    "max_interval_ms",
    "backoff_coefficient",
    "backoff_strategy",
    "jitter",
    "non_retryable_errors",
    "on_exhaustion",
];

/// The retry policy of a job. The delay before attempt n + 1 is `initial_ms * coefficient^(n - 1)`, or `n * initial_ms`
/// when it is linear, at most `max_ms`; with jitter it is a random part of it, from a half to one and a half.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Retry {
    pub(crate) max_attempts: u64,
    initial_ms: u64,
    coefficient: f64,
    max_ms: u64,
    jitter: bool,
    is_linear: bool,
    /// Classes of errors after which it is not started again; `Auth.*` is every class that begins with `Auth.`.
    never_after: Vec<String>,
    /// Whether it is kept as a dead letter when it has failed for good.
    pub(crate) to_dead_letters: bool,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            max_attempts: MAX_ATTEMPTS,
            initial_ms: INITIAL_MS,
            coefficient: 2.0,
            max_ms: MAX_INTERVAL_MS,
            jitter: true,
            is_linear: false,
            never_after: Vec::new(),
            to_dead_letters: false,
        }
    }
}

impl Retry {
    /// Reads `options.retry`; what it leaves out is as the default has it.
    pub(crate) fn read(members: &Map<String, Value>) -> Result<Self, Fault> {
        let default = Self::default();
        let members = Members::of(members, "retry");
        members.only(&MEMBERS)?;
        let max_attempts = match members.get("max_attempts") {
            None => default.max_attempts,
            Some(number) => number
                .as_u64()
                .filter(|number| (1..=1_000).contains(number))
                .ok_or_else(|| Fault::validation("max_attempts", "must be from 1 to 1000"))?,
        };
        let coefficient = match members.get("backoff_coefficient") {
            None => default.coefficient,
            Some(number) => number
                .as_f64()
                .filter(|number| (1.0..=1_000.0).contains(number))
                .ok_or_else(|| Fault::validation("backoff_coefficient", "must be from 1 to 1000"))?,
        };
        let never_after = members.list("non_retryable_errors")?.map(Vec::as_slice).unwrap_or_default();
        let is_text = |class: &Value| class.as_str().map(str::to_owned);
        let never_after = never_after.iter().map(is_text).collect::<Option<Vec<_>>>();
        Ok(Self {
            max_attempts,
            initial_ms: interval(&members, "initial_interval")?.unwrap_or(default.initial_ms),
            coefficient,
            max_ms: interval(&members, "max_interval")?.unwrap_or(default.max_ms),
            jitter: members.flag("jitter")?.unwrap_or(default.jitter),
            is_linear: one_of(&members, "backoff_strategy", ["exponential", "linear"])? == Some("linear"),
            never_after: never_after.ok_or_else(|| Fault::invalid("non_retryable_errors", "must be texts"))?,
            to_dead_letters: one_of(&members, "on_exhaustion", ["discard", "dead_letter"])? == Some("dead_letter"),
        })
    }

    /// Returns the milliseconds until the next attempt, after so many.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)] // bounded by max_ms
    pub(crate) fn delay_ms(&self, attempts: u64) -> u64 {
        let step = i32::try_from(attempts.saturating_sub(1)).unwrap_or(i32::MAX);
        let factor = if self.is_linear { attempts as f64 } else { self.coefficient.powi(step) };
        let grown = self.initial_ms as f64 * factor;
        let delay = grown.min(self.max_ms as f64);
        (if self.jitter { delay * (0.5 + fastrand::f64()) } else { delay }) as u64
    }

    /// Returns whether the job is started again after an error.
    pub(crate) fn allows(&self, attempts: u64, error: &Value) -> bool {
        let class = || error["details"]["error_class"].as_str().or_else(|| error["type"].as_str());
        let excludes = |pattern: &String| match (pattern.strip_suffix('*'), class()) {
            (Some(start), Some(class)) => class.starts_with(start),
            (None, Some(class)) => class == pattern,
            (_, None) => false,
        };
        let is_retryable = error["retryable"].as_bool().unwrap_or(true);
        is_retryable && attempts < self.max_attempts && !self.never_after.iter().any(excludes)
    }
}

/// Reads one of two words.
fn one_of<'a>(members: &Members<'a>, name: &str, words: [&str; 2]) -> Result<Option<&'a str>, Fault> {
    match members.text(name)? {
        Some(word) if !words.contains(&word) => {
            let [first, second] = words;
            let message = format!("must be {first:?} or {second:?}: {name}={word:?}");
            Err(Fault::unsupported(&format!("retry.{name}"), message))
        }
        word => Ok(word),
    }
}

/// Reads an interval in ISO 8601 under this name, or in milliseconds under it with `_ms` behind.
fn interval(members: &Members<'_>, name: &'static str) -> Result<Option<u64>, Fault> {
    let in_ms = format!("{name}_ms");
    if let Some(number) = members.get(&in_ms) {
        let number = number.as_u64().filter(|ms| *ms <= LONGEST_MS);
        return number.map(Some).ok_or_else(|| Fault::validation(&in_ms, "must be milliseconds, at most ten years"));
    }
    let Some(text) = members.text(name)? else { return Ok(None) };
    let length = period::iso8601(text).map_err(|error| Fault::validation(name, error.message()))?;
    Ok(Some(length.0 / 1_000))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn retry(document: &Value) -> Result<Retry, Fault> {
        Retry::read(document.as_object().unwrap())
    }

    #[test]
    fn delays_grow_as_the_policy_says_and_no_further() {
        let delays = |document: Value| [1, 2, 3, 4].map(|attempts| retry(&document).unwrap().delay_ms(attempts));
        let exponential = json!({"initial_interval": "PT1S", "backoff_coefficient": 3, "jitter": false});
        assert_eq!(delays(exponential), [1_000, 3_000, 9_000, 27_000]);
        let linear = json!({"initial_interval_ms": 500, "backoff_strategy": "linear", "jitter": false});
        assert_eq!(delays(linear), [500, 1_000, 1_500, 2_000]);
        let capped = json!({"backoff_coefficient": 10, "max_interval": "PT2S", "jitter": false});
        assert_eq!(delays(capped), [1_000, 2_000, 2_000, 2_000]);
        let random = retry(&json!({"initial_interval": "PT2S", "backoff_coefficient": 1})).unwrap();
        let seen: Vec<u64> = (0..1_000).map(|_| random.delay_ms(1)).collect();
        assert!(seen.iter().all(|ms| (1_000..3_000).contains(ms)) && seen.iter().any(|ms| *ms != seen[0]));
    }

    #[test]
    fn some_errors_are_for_good() {
        let document = json!({"max_attempts": 3, "non_retryable_errors": ["Fatal", "Auth.*"]});
        let retry = retry(&document).unwrap();
        let class = |class: &str| json!({"details": {"error_class": class}});
        assert!(retry.allows(2, &class("Other")) && !retry.allows(3, &class("Other")));
        assert!(!retry.allows(1, &class("Fatal")) && retry.allows(1, &class("FatalToo")));
        assert!(!retry.allows(1, &class("Auth.Expired")) && !retry.allows(1, &json!({"type": "Fatal"})));
        assert!(!retry.allows(1, &json!({"retryable": false})));
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        for (name, value) in
            [("max_attempts", json!(-1)), ("max_attempts", json!(0)), ("backoff_coefficient", json!(0.5))]
        {
            let fault = retry(&json!({name: value})).unwrap_err();
            assert_eq!((fault.status.as_u16(), fault.argument.as_deref()), (422, Some(name)));
        }
        assert!(retry(&json!({"initial_interval": "soon"})).is_err());
    }
}
