//! The fields `RateLimit` and `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers.
//!
//! Drafts 08 to 11: `RateLimit: "default";r=50;t=30`, `RateLimit-Policy: "default";q=100;w=60`, several of each. Draft
//! 07: `RateLimit: limit=100, remaining=50, reset=5`. Drafts 00 to 06: `RateLimit-Limit`, `-Remaining`, `-Reset`.
//! Policies with a unit other than requests are ignored.

use super::common::{budgets, of_policies, span};
use super::parsed_response::{ParsedResponse, reset_after};
use super::structured::{Item, Value, dictionary, list};
use super::{Budget, Feedback, Reset, Unit};
use crate::base::micros::Micros;

pub(super) fn read(response: &ParsedResponse<'_>) -> Feedback {
    let policies = response.list("ratelimit-policy");
    let policies = policies.as_deref().and_then(list).unwrap_or_default();
    let limits = response.list("ratelimit");
    let budgets = limits.as_deref().and_then(|limits| named(limits, &policies).or_else(|| combined(limits, &policies)));
    let budgets = budgets.unwrap_or_else(|| {
        let (quotas, numbers): (Vec<_>, Vec<_>) = policies.into_iter().partition(|policy| policy.quota.is_some());
        let quotas =
            quotas.iter().filter(|policy| counts_requests(policy)).filter_map(|policy| of_policy(policy, None));
        self::budgets(response, "ratelimit", numbers).into_iter().chain(quotas).collect()
    });
    let mut feedback = Feedback { budgets, ..Feedback::default() };
    response.settle(&mut feedback);
    feedback
}

/// Drafts 08 to 11: every limit with the policy of its name, then the policies without a limit.
fn named(limits: &str, policies: &[Item]) -> Option<Vec<Budget>> {
    let limits = list(limits)?;
    let (mut budgets, mut used) = (Vec::new(), Vec::new());
    for limit in &limits {
        if !matches!(limit.value, Value::Text(_)) {
            continue;
        }
        let policy = policies.iter().position(|policy| policy.value == limit.value);
        used.extend(policy);
        let policy = policy.and_then(|index| policies.get(index));
        if policy.is_none_or(counts_requests) {
            budgets.extend(of_policy(policy.unwrap_or(limit), Some(limit)));
        }
    }
    let others = policies.iter().enumerate().filter(|(index, policy)| !used.contains(index) && counts_requests(policy));
    budgets.extend(others.filter_map(|(_, policy)| of_policy(policy, None)));
    Some(budgets)
}

/// Draft 07: policies have no names and are matched by their limit.
fn combined(limits: &str, policies: &[Item]) -> Option<Vec<Budget>> {
    let [limit, remaining, reset] = dictionary(limits, ["limit", "remaining", "reset"])?;
    Some(of_policies(remaining, limit, None, reset.and_then(self::reset), policies))
}

fn of_policy(policy: &Item, limit: Option<&Item>) -> Option<Budget> {
    let budget = Budget::new(Unit::Requests, limit.and_then(|limit| limit.remaining), policy.quota)?;
    let reset = limit.and_then(|limit| limit.reset).and_then(self::reset);
    Some(Budget { window: policy.window.and_then(span), reset, ..budget })
}

fn reset(seconds: u64) -> Option<Reset> {
    seconds.checked_mul(1_000_000).map(Micros).and_then(reset_after)
}

fn counts_requests(policy: &Item) -> bool {
    policy.unit.as_deref().is_none_or(|unit| matches!(unit, "requests" | "request"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::super::{MAX_PAUSE, Provider};
    use super::*;

    type Numbers = (Option<u64>, Option<u64>, Option<u64>, Option<u64>);

    /// Remaining, limit, window and reset in seconds.
    fn numbers(headers: &[(&str, &str)]) -> Vec<Numbers> {
        let feedback = read(Provider::Ietf, 200, headers, "");
        assert_eq!(feedback, read(Provider::Auto, 200, headers, ""));
        assert!(feedback.budgets.iter().all(|budget| budget.unit == Unit::Requests && budget.refill.is_none()));
        feedback.budgets.iter().map(seconds).collect()
    }

    fn seconds(budget: &Budget) -> Numbers {
        let reset = budget.reset.map(|reset| match reset {
            Reset::After(wait) => wait.0 / 1_000_000,
            Reset::At(_) => panic!("a wait was sent"),
        });
        (budget.remaining, budget.limit, budget.window.map(|window| window.0 / 1_000_000), reset)
    }

    #[test]
    fn drafts_08_to_11_have_named_policies() {
        let policy = ("RateLimit-Policy", "\"default\";q=100;w=60");
        let limit = ("RateLimit", "\"default\";r=50;t=30");
        assert_eq!(numbers(&[policy, limit]), [(Some(50), Some(100), Some(60), Some(30))]);
        assert_eq!(numbers(&[limit]), [(Some(50), None, None, Some(30))]);
        assert_eq!(numbers(&[policy]), [(None, Some(100), Some(60), None)]);
        let express = [
            ("ratelimit-policy", "\"100-in-15min\"; q=100; w=900; pk=:MTIzNDU2Nzg5MA==:"),
            ("ratelimit", "\"100-in-15min\"; r=99; t=900"),
        ];
        assert_eq!(numbers(&express), [(Some(99), Some(100), Some(900), Some(900))]);
    }

    #[test]
    fn several_policies_in_one_line_or_many() {
        let policies = "\"permin\";q=50;w=60,\"perhr\";q=1000;w=3600,\"perday\";q=5000;w=86400";
        let expected = [
            (Some(20), Some(50), Some(60), Some(23)),
            (Some(399), Some(1000), Some(3600), Some(2402)),
            (None, Some(5000), Some(86_400), None),
        ];
        let one = [("RateLimit-Policy", policies), ("RateLimit", "\"permin\";r=20;t=23, \"perhr\";r=399;t=2402")];
        assert_eq!(numbers(&one), expected);
        let many =
            [("RateLimit-Policy", policies), ("RateLimit", "permin;r=20;t=23"), ("RateLimit", "perhr;r=399;t=2402")];
        assert_eq!(numbers(&many), expected);
    }

    #[test]
    fn units_that_are_not_requests_say_nothing() {
        let headers = [
            ("RateLimit-Policy", "\"bytes\";q=65535;qu=\"content-bytes\";w=10, \"peak\";q=10;qu=\"requests\";w=1"),
            ("RateLimit", "\"bytes\";r=100;t=5, \"peak\";r=9;t=1"),
        ];
        assert_eq!(numbers(&headers), [(Some(9), Some(10), Some(1), Some(1))]);
    }

    #[test]
    fn draft_07_is_one_dictionary() {
        let limit = ("RateLimit", "limit=100, remaining=50, reset=5");
        assert_eq!(numbers(&[limit]), [(Some(50), Some(100), None, Some(5))]);
        let policies = ("RateLimit-Policy", "100;w=60, 10000;w=86400");
        let expected = [(Some(50), Some(100), Some(60), Some(5)), (None, Some(10_000), Some(86_400), None)];
        assert_eq!(numbers(&[limit, policies]), expected);
    }

    #[test]
    fn drafts_00_to_06_have_a_header_for_each() {
        let rest = [("RateLimit-Remaining", "70"), ("RateLimit-Reset", "9")];
        let expected = (Some(70), Some(100), Some(60), Some(9));
        let with = |headers: &[(&'static str, &'static str)]| numbers(&[&rest[..], headers].concat());
        assert_eq!(with(&[("RateLimit-Limit", "100")]), [(Some(70), Some(100), None, Some(9))]);
        assert_eq!(with(&[("RateLimit-Limit", "100, 100;w=60")]), [expected]);
        assert_eq!(with(&[("RateLimit-Limit", "100"), ("RateLimit-Policy", "100;w=60")]), [expected]);
        let day = (None, Some(5000), Some(86_400), None);
        assert_eq!(with(&[("RateLimit-Limit", "100, 100;w=60;burst=1000, 5000;w=86400")]), [expected, day]);
    }

    #[test]
    fn malformed_fields_are_ignored_and_odd_parameters_alone_are() {
        for bad in ["\"default", "limit=100, remaining=", "=;=", "\"a\";r=50;t=", "é", ""] {
            assert!(numbers(&[("RateLimit", bad), ("RateLimit-Limit", "x")]).is_empty(), "{bad}");
        }
        let odd = [("RateLimit-Policy", "\"a\";q=1.5;w=\"60\""), ("RateLimit", "\"a\";r=7;t=-1")];
        assert_eq!(numbers(&odd), [(Some(7), None, None, None)]);
    }

    #[test]
    fn retry_after_goes_before_reset() {
        let limit = ("RateLimit", "default;r=0;t=5");
        let date = ("Date", "Mon, 05 Aug 2019 09:27:00 GMT");
        let dated = [date, ("Retry-After", "Mon, 05 Aug 2019 09:27:20 GMT"), ("RateLimit-Limit", "9"), limit];
        let micros = |wait| Some(Micros(wait));
        assert_eq!(Feedback::read(Provider::Ietf, &response(&dated), MAX_PAUSE).pause, micros(20_000_000));
        let spent = [("RateLimit-Policy", "default;q=9"), limit];
        assert_eq!(Feedback::read(Provider::Ietf, &response(&spent), MAX_PAUSE).pause, micros(5_000_000));
    }

    fn response<'a>(headers: &'a [(&'a str, &'a str)]) -> super::super::Response<'a> {
        super::super::Response { status: Some(429), headers, body: "" }
    }
}
