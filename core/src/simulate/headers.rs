//! `headers`: the response headers of a server that enforces the policy.

use crate::model::limit::{Kind, Limit};
use crate::model::policy::Policy;

/// The state of the tightest limit after a decision, in microseconds.
pub(super) struct LimitLevel {
    pub(super) limit: usize,
    pub(super) remaining: u64,
    pub(super) reset_after: Option<u64>,
    /// Only after a refusal.
    pub(super) retry_after: Option<u64>,
}

/// Returns `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11, and `Retry-After` of RFC
/// 9110.
///
/// Seconds are rounded up. A pause by an admin command has no policy and so no `RateLimit`.
pub(super) fn headers(policy: &Policy, standing: &LimitLevel) -> Vec<(&'static str, String)> {
    let limits = policy.limits();
    let mut headers = Vec::new();
    let policies: Vec<String> = limits.iter().map(described).collect();
    if !policies.is_empty() {
        headers.push(("RateLimit-Policy", policies.join(", ")));
    }
    if let Some(limit) = limits.get(standing.limit) {
        let reset = standing.reset_after.map_or_else(String::new, |reset| format!(";t={}", reset.div_ceil(1_000_000)));
        let item = format!("\"{}\";r={}{reset}", limit.label(), standing.remaining);
        headers.push(("RateLimit", item));
    }
    if let Some(retry) = standing.retry_after {
        headers.push(("Retry-After", retry.div_ceil(1_000_000).to_string()));
    }
    headers
}

fn described(limit: &Limit) -> String {
    let (label, amount) = (limit.label(), limit.amount());
    match limit.kind() {
        Kind::Concurrency => format!("\"{label}\";q={amount};qu=\"concurrent-requests\""),
        Kind::Paused | Kind::Unlimited => format!("\"{label}\";q=0"),
        _ => format!("\"{label}\";q={amount};w={}", limit.interval().0.div_ceil(1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn they_are_those_of_the_draft() {
        let second = Duration::from_secs(1);
        let minutely = Limit::bucket(100, 60 * second).and_then(|limit| limit.labelled("rpm"));
        let limits = [Limit::bucket(5, second), minutely, Limit::concurrency(3, second)];
        let policy = Policy::new(limits.map(Result::unwrap)).unwrap();
        let policies = "\"bucket\";q=5;w=1, \"rpm\";q=100;w=60, \"concurrency\";q=3;qu=\"concurrent-requests\"";
        let refused = LimitLevel { limit: 1, remaining: 0, reset_after: Some(1_500_000), retry_after: Some(1) };
        assert_eq!(
            headers(&policy, &refused),
            [
                ("RateLimit-Policy", policies.to_owned()),
                ("RateLimit", "\"rpm\";r=0;t=2".to_owned()),
                ("Retry-After", "1".to_owned())
            ]
        );
        let paused = LimitLevel { limit: 3, remaining: 0, reset_after: None, retry_after: None };
        assert_eq!(headers(&policy, &paused), [("RateLimit-Policy", policies.to_owned())]);
    }
}
