//! `HeaderFields`: the fields of a response that tell a caller what a decision left.

use std::borrow::Cow;

use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::model::decision::{Decision, DecisionLimit};
use crate::model::kind::Kind;

/// Which fields of a response tell a caller what a [`Decision`] left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HeaderFields {
    /// `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-10, with an item for each limit.
    #[default]
    Draft,
    /// `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset` and `RateLimit-Policy` of the sixth draft: the tightest
    /// limit, with seconds until more is available.
    Draft6,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`: the tightest limit, with the second since 1970 in
    /// which more is available, as GitHub and express-rate-limit send it.
    X,
}

impl HeaderFields {
    const ALL: [Self; 3] = [Self::Draft, Self::Draft6, Self::X];

    /// Returns the name: `draft`, `draft-6` or `x`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Draft6 => "draft-6",
            Self::X => "x",
        }
    }

    /// Returns the fields with this name; `Invalid` with the argument `fields` for another one.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|fields| fields.name() == name).ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            Error::invalid("fields", format!("must be draft, draft-6 or x: fields={shown:?}"))
        })
    }
}

impl Decision {
    /// Returns the fields of a response that tell its caller what this decision left, as names and values.
    ///
    /// A decision [`with_limits`](crate::Request::with_limits) gives all of them. Without its limits they describe the tightest
    /// one, and not its interval. A refusal has `Retry-After`, in whole seconds, if the time is known. All seconds are rounded up,
    /// so that a caller that obeys is not refused again. A pause has no limit and so no other fields.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{HeaderFields, Micros, Paddlegate, Request, TestClock};
    /// let clock = TestClock::new(Micros(1_000_000))?;
    /// let api = Paddlegate::memory_with_clock(&clock).window("api", 5, Duration::from_secs(60))?;
    /// let headers = api.try_acquire(Request::cost(3).with_limits())?.headers(HeaderFields::Draft);
    /// let (policy, limit) = (r#""window";q=5;w=60"#.to_owned(), r#""window";r=2;t=60"#.to_owned());
    /// assert_eq!(headers, [("RateLimit-Policy", policy), ("RateLimit", limit)]);
    /// let refused = api.try_acquire(Request::cost(3))?.headers(HeaderFields::X);
    /// assert_eq!(refused[2..], [("X-RateLimit-Reset", "61".to_owned()), ("Retry-After", "60".to_owned())]);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn headers(&self, fields: HeaderFields) -> Vec<(&'static str, String)> {
        let mut headers = match fields {
            HeaderFields::Draft => self.draft(),
            HeaderFields::Draft6 => self.draft6(),
            HeaderFields::X => {
                self.tightest(["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"], |reset| {
                    // Without the time of a store no other time is known.
                    (self.at.0 > 0).then_some(Micros(self.at.0.saturating_add(reset.0)))
                })
            }
        };
        headers.extend(self.retry_after.filter(|_| !self.allowed()).map(retry_after));
        headers
    }

    fn draft(&self) -> Vec<(&'static str, String)> {
        let mut policies: Vec<String> = self.limits.iter().map(|limit| self.policy_of(limit)).collect();
        let mut limits: Vec<String> = self.limits.iter().map(|limit| self.level_of(limit)).collect();
        if let (true, Some(label), Some(limit)) = (limits.is_empty(), &self.label, self.limit) {
            let name = self.limiter.as_ref().map_or_else(|| label.to_string(), |limiter| format!("{limiter}:{label}"));
            policies.push(policy_item(&name, limit, None, None));
            limits.push(level_item(&name, self.remaining.unwrap_or(0), more_after(self.retry_after, self.reset_after)));
        }
        draft(&policies, &limits)
    }

    fn draft6(&self) -> Vec<(&'static str, String)> {
        let mut headers = self.tightest(["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"], Some);
        // An item without an interval is not allowed.
        let known = self.limits.iter().filter(|limit| limit.kind != Kind::Concurrency);
        let policies = known.map(|limit| format!("{};w={}", limit.limit, whole_seconds(limit.interval)));
        headers.extend(joined("RateLimit-Policy", &policies.collect::<Vec<_>>()));
        headers
    }

    /// Returns the amount and the rest of the limit that is described, and when more is available.
    fn tightest(
        &self,
        [limit, remaining, reset]: [&'static str; 3],
        time: impl Fn(Micros) -> Option<Micros>,
    ) -> Vec<(&'static str, String)> {
        let (Some(_), Some(amount), Some(left)) = (&self.label, self.limit, self.remaining) else { return Vec::new() };
        let more = more_after(self.retry_after, self.reset_after).and_then(time).map(whole_seconds);
        let numbers = [(limit, Some(amount)), (remaining, Some(left)), (reset, more)];
        numbers.into_iter().filter_map(|(name, number)| Some((name, number?.to_string()))).collect()
    }

    fn policy_of(&self, limit: &DecisionLimit) -> String {
        policy_item(&self.name_of(limit), limit.limit, Some(limit.kind), Some(limit.interval))
    }

    fn level_of(&self, limit: &DecisionLimit) -> String {
        level_item(&self.name_of(limit), limit.remaining, more_after(limit.retry_after, limit.reset_after))
    }

    /// Returns the label, or of several limiters the name, with the label where it has several limits.
    fn name_of<'a>(&self, limit: &'a DecisionLimit) -> Cow<'a, str> {
        let Some(limiter) = &limit.limiter else { return Cow::Borrowed(&limit.label) };
        let of_same = self.limits.iter().filter(|other| other.limiter == limit.limiter);
        if of_same.count() == 1 { Cow::Borrowed(limiter) } else { Cow::Owned(format!("{limiter}:{}", limit.label)) }
    }
}

/// Returns the fields of the newest draft with these items.
pub(crate) fn draft(policies: &[String], limits: &[String]) -> Vec<(&'static str, String)> {
    joined("RateLimit-Policy", policies).into_iter().chain(joined("RateLimit", limits)).collect()
}

/// Returns the item of a limit in `RateLimit-Policy`.
pub(crate) fn policy_item(name: &str, limit: u64, kind: Option<Kind>, interval: Option<Micros>) -> String {
    let name = quoted(name);
    match (kind, interval) {
        (Some(Kind::Concurrency), _) => format!(r#"{name};q={limit};qu="concurrent-requests""#),
        (_, Some(interval)) if interval.0 > 0 => format!("{name};q={limit};w={}", whole_seconds(interval)),
        _ => format!("{name};q={limit}"),
    }
}

/// Returns the item of a limit in `RateLimit`.
pub(crate) fn level_item(name: &str, remaining: u64, more_after: Option<Micros>) -> String {
    let more = more_after.map_or_else(String::new, |after| format!(";t={}", whole_seconds(after)));
    format!("{};r={remaining}{more}", quoted(name))
}

/// Returns the field of a refusal.
pub(crate) fn retry_after(after: Micros) -> (&'static str, String) {
    ("Retry-After", whole_seconds(after).max(1).to_string())
}

/// Returns when more is available. Of a limit that holds nothing up it is when the limit is whole.
pub(crate) fn more_after(retry_after: Option<Micros>, reset_after: Option<Micros>) -> Option<Micros> {
    retry_after.filter(|after| after.0 > 0).or(reset_after)
}

fn joined(name: &'static str, items: &[String]) -> Option<(&'static str, String)> {
    (!items.is_empty()).then(|| (name, items.join(", ")))
}

/// Returns a string of structured fields, which has printable ASCII alone.
fn quoted(name: &str) -> String {
    let mut all = String::from('"');
    for c in name.chars() {
        let plain = if c == ' ' || c.is_ascii_graphic() { c } else { '?' };
        if matches!(plain, '"' | '\\') {
            all.push('\\');
        }
        all.push(plain);
    }
    all + "\""
}

/// Returns whole seconds, rounded up.
const fn whole_seconds(micros: Micros) -> u64 {
    micros.0.div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_string_of_structured_fields() {
        assert_eq!(quoted("a \"b\"\\ é\n"), r#""a \"b\"\\ ??""#);
    }

    #[test]
    fn an_unknown_name_of_fields_is_refused() {
        assert_eq!(HeaderFields::from_name("ietf").unwrap_err().argument(), Some("fields"));
        for fields in HeaderFields::ALL {
            assert_eq!(HeaderFields::from_name(fields.name()).unwrap(), fields);
        }
    }
}
