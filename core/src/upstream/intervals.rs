//! Headers that name the interval of a limit, and others that are like the common ones.
//!
//! - `X-RateLimit-Limit-Minute` and `-Remaining-Minute`: Kong (<https://developer.konghq.com/plugins/rate-limiting/>).
//! - `x-ratelimit-limit-req-minute`, `-tokens-minute`: Mistral (<https://docs.mistral.ai/deployment/laplateforme/tier/>).
//! - `x-ratelimit-limit-requests-day`, `-tokens-minute`: Cerebras
//!   (<https://inference-docs.cerebras.ai/support/rate-limits>).
//! - `X-RateLimit-Requests-Limit`: `RapidAPI` (<https://docs.rapidapi.com/docs/response-headers>).
//! - `X-HubSpot-RateLimit-Max`, `-Daily`: `HubSpot` (<https://developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines>).

use super::common::budgets;
use super::decimal::milliseconds;
use super::parsed_response::ParsedResponse;
use super::{Budget, Feedback, Unit};
use crate::base::micros::{MAX_SPAN, Micros};

const INTERVALS: [(&str, u64); 4] = [("second", 1), ("minute", 60), ("hour", 3_600), ("day", 86_400)];
const COUNTED: [(&str, Unit); 4] =
    [("", Unit::Requests), ("req-", Unit::Requests), ("requests-", Unit::Requests), ("tokens-", Unit::Tokens)];

pub(super) fn read(response: &ParsedResponse<'_>) -> Feedback {
    let mut feedback = Feedback::default();
    for (counted, unit) in COUNTED {
        for (interval, seconds) in INTERVALS {
            let name = |word: &str| format!("x-ratelimit-{word}-{counted}{interval}");
            let [limit, remaining] = ["limit", "remaining"].map(|word| response.count(&name(word)));
            let Some(budget) = Budget::new(unit, remaining, limit) else { continue };
            let reset = response.reset(&name("reset"));
            feedback.budgets.push(Budget { window: Some(Micros(seconds * 1_000_000)), reset, ..budget });
        }
    }
    feedback.budgets.extend(budgets(response, "x-ratelimit-requests", Vec::new()));
    feedback.budgets.extend(hubspot(response).into_iter().flatten());
    response.settle(&mut feedback);
    feedback
}

fn hubspot(response: &ParsedResponse<'_>) -> [Option<Budget>; 2] {
    let budget = |remaining: &str, limit: &str, window| {
        let budget = Budget::new(Unit::Requests, response.count(remaining), response.count(limit))?;
        Some(Budget { window, ..budget })
    };
    let interval = response.read("x-hubspot-ratelimit-interval-milliseconds", milliseconds);
    let interval = interval.filter(|interval| interval.0 > 0 && *interval <= MAX_SPAN);
    [
        budget("x-hubspot-ratelimit-remaining", "x-hubspot-ratelimit-max", interval),
        budget("x-hubspot-ratelimit-daily-remaining", "x-hubspot-ratelimit-daily", Some(Micros(86_400_000_000))),
    ]
}
