//! The headers that most APIs send: `X-RateLimit-Limit`, `-Remaining`, `-Reset`.

use super::parsed_response::ParsedResponse;
use super::structured::{Item, Value, list};
use super::{Budget, Feedback, Reset, Unit};
use crate::base::micros::{MAX_SPAN, Micros};

/// The prefixes of the three headers: nearly all APIs, then Okta and X.
const PREFIXES: [&str; 2] = ["x-ratelimit", "x-rate-limit"];

pub(super) fn read(response: &ParsedResponse<'_>) -> Feedback {
    let budgets = PREFIXES.iter().flat_map(|prefix| budgets(response, prefix, Vec::new()));
    let mut feedback = Feedback { budgets: budgets.collect(), ..Feedback::default() };
    response.settle(&mut feedback);
    feedback
}

/// Reads the three headers with this prefix, in addition to the given policies.
///
/// The limit may be a list, `10, 10;w=1, 50;w=60`: the limit closest to exhaustion, then the policies (drafts 00 to
/// 04). Without it what was used and what is left make it.
pub(super) fn budgets(response: &ParsedResponse<'_>, prefix: &str, mut policies: Vec<Item>) -> Vec<Budget> {
    let [limit, left, until, used] = ["limit", "remaining", "reset", "used"].map(|word| format!("{prefix}-{word}"));
    let limits = response.list(&limit);
    let mut limits = limits.as_deref().and_then(list).unwrap_or_default().into_iter();
    let first = limits.next();
    policies.splice(..0, limits);
    let remaining = response.count(&left);
    let amount = first.as_ref().and_then(|item| whole(&item.value)).or_else(|| response.count(&limit));
    let amount = amount.or_else(|| remaining?.checked_add(response.count(&used)?));
    let window = [&limit, &left, &until].into_iter().find_map(|name| response.window(name));
    of_policies(remaining, amount, window, response.reset(&until), &policies)
}

/// Returns the reported budget, with the window of the policy that has the same limit, then the other policies.
pub(super) fn of_policies(
    remaining: Option<u64>,
    limit: Option<u64>,
    window: Option<Micros>,
    reset: Option<Reset>,
    policies: &[Item],
) -> Vec<Budget> {
    let same = policies.iter().position(|policy| limit.is_some() && whole(&policy.value) == limit);
    let window = window.or_else(|| same.and_then(|index| policies.get(index)?.window).and_then(span));
    let reported = Budget::new(Unit::Requests, remaining, limit).map(|budget| Budget { window, reset, ..budget });
    let others = policies.iter().enumerate().filter(|(index, _)| Some(*index) != same);
    let others = others.filter_map(|(_, policy)| {
        let budget = Budget::new(Unit::Requests, None, whole(&policy.value))?;
        Some(Budget { window: policy.window.and_then(span), ..budget })
    });
    reported.into_iter().chain(others).collect()
}

/// Converts seconds to a duration; `None` for zero and beyond ten years.
pub(super) fn span(seconds: u64) -> Option<Micros> {
    let micros = seconds.checked_mul(1_000_000)?;
    Some(Micros(micros)).filter(|span| span.0 > 0 && *span <= MAX_SPAN)
}

fn whole(value: &Value) -> Option<u64> {
    if let Value::Number(number) = value { Some(*number) } else { None }
}

#[cfg(test)]
mod tests {
    use super::super::Provider;
    use super::super::tests::read;
    use super::*;

    const DATE: (&str, &str) = ("Date", "Mon, 01 Jul 2013 17:27:06 GMT");

    #[test]
    fn resets_are_told_by_their_size() {
        let after = |micros| Some(Reset::After(Micros(micros)));
        for (text, reset) in [
            ("30", after(30_000_000)),
            ("0.25", after(250_000)),
            ("0", after(0)),
            ("1372700873", after(1_247_000_000)),
            ("1372700873000", after(1_247_000_000)),
            ("1372699000", after(0)),
            ("2013-07-01T17:47:53Z", after(1_247_000_000)),
            ("2013-07-01 17:47:53 UTC", after(1_247_000_000)),
            ("2013-07-01T17:47:53+0000", after(1_247_000_000)),
            ("60s", after(60_000_000)),
            ("4, 4", after(4_000_000)),
            ("76;w=21600", after(76_000_000)),
            ("Mon, 01 Jul 2013 17:47:53 GMT", after(1_247_000_000)),
            ("soon", None),
            ("-1", None),
            ("99999999999999999", None),
            ("99999999999999999999999", None),
        ] {
            let headers = [DATE, ("X-RateLimit-Limit", "60"), ("X-RateLimit-Reset", text)];
            assert_eq!(read(Provider::Auto, 200, &headers, "").budgets[0].reset, reset, "{text}");
        }
        let headers = [("X-RateLimit-Limit", "60"), ("X-RateLimit-Reset", "1372700873")];
        let at = Some(Reset::At(Micros(1_372_700_873_000_000)));
        assert_eq!(read(Provider::Auto, 200, &headers, "").budgets[0].reset, at);
    }

    #[test]
    fn a_refusal_waits_for_what_is_spent() {
        let headers = [("X-RateLimit-Limit", "60"), ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "30"), DATE];
        let feedback = read(Provider::Auto, 429, &headers, "");
        assert_eq!((feedback.throttled, feedback.pause), (true, Some(Micros(30_000_000))));
        assert_eq!(read(Provider::Auto, 200, &headers, "").pause, None);
        let decimals = [("X-RateLimit-Limit", "60.0"), ("X-RateLimit-Remaining", "7.9")];
        let budget = Budget::new(Unit::Requests, Some(7), Some(60));
        assert_eq!(read(Provider::Auto, 200, &decimals, "").budgets, Vec::from_iter(budget));
        let bare = read(Provider::Auto, 429, &[], "");
        assert_eq!((bare.throttled, bare.pause, bare.budgets.len()), (true, None, 0));
    }
}
