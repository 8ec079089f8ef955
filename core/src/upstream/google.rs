//! Google: refusals in the body, with the wait of `RetryInfo`, and the tokens of Gemini.
//!
//! After <https://ai.google.dev/gemini-api/docs/rate-limits>, <https://cloud.google.com/apis/design/errors> and
//! <https://developers.google.com/workspace/drive/api/guides/handle-errors>. A refusal has status 429, or 403 with a reason
//! such as `userRateLimitExceeded`.

use super::decimal::{go_duration, units_up};
use super::json::Json;
use super::parsed_response::{ParsedResponse, errors};
use super::{Feedback, Reset};

/// The reasons of a 403 that is a limit.
const REASONS: [&str; 4] = ["rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "dailyLimitExceeded"];

pub(super) fn read(response: &ParsedResponse<'_>) -> Feedback {
    let mut feedback = Feedback::default();
    let body = whole(response.body);
    let [error, usage] = body.pick(["error", "usageMetadata"]);
    if let Some(usage) = usage {
        used(usage, &mut feedback);
    }
    feedback.throttled = response.status == 403 && error.is_some_and(is_limited);
    if feedback.throttled || response.status == 429 {
        feedback.wait_until(error.and_then(retry_delay).or_else(|| response.retry_after()));
    }
    response.settle(&mut feedback);
    feedback
}

/// Returns whether a body is Google's.
pub(super) fn is_of(body: Json<'_>) -> bool {
    let [error, usage] = whole(body).pick(["error", "usageMetadata"]);
    let is_error = |error| retry_delay(error).is_some() || is_limited(error);
    usage.is_some_and(|usage| usage.get("totalTokenCount").is_some()) || error.is_some_and(is_error)
}

/// A stream that is refused is an array of one object.
fn whole(body: Json<'_>) -> Json<'_> {
    body.elements(1).into_iter().next().unwrap_or(body)
}

fn retry_delay(error: Json<'_>) -> Option<Reset> {
    let details = errors(error.get("details"));
    let delays = details.into_iter().filter_map(|detail| go_duration(&detail.get("retryDelay")?.text()?));
    delays.max().map(Reset::After)
}

fn is_limited(error: Json<'_>) -> bool {
    let [list, details] = error.pick(["errors", "details"]);
    let reasons = errors(list).into_iter().chain(errors(details));
    reasons
        .filter_map(|error| error.get("reason")?.text())
        .any(|reason| REASONS.contains(&&*reason) || reason == "RATE_LIMIT_EXCEEDED")
}

/// Reads the tokens of Gemini. What it thinks is output.
fn used(usage: Json<'_>, feedback: &mut Feedback) {
    let members = usage.pick(["totalTokenCount", "promptTokenCount", "toolUsePromptTokenCount"]);
    let [total, prompt, tools] = members.map(|member| member.and_then(Json::number).and_then(units_up));
    let input = prompt.map(|prompt| prompt.saturating_add(tools.unwrap_or(0)));
    feedback.actual = total;
    feedback.actual_input = input;
    feedback.actual_output = total.zip(input).map(|(total, input)| total.saturating_sub(input));
}

#[cfg(test)]
mod tests {
    use super::super::Provider;
    use super::super::tests::{body, read};
    use crate::base::micros::Micros;

    #[test]
    fn gemini_tells_its_tokens_and_how_long_to_wait() {
        let answer = r#"{"candidates":[],"usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":20,
            "thoughtsTokenCount":100,"totalTokenCount":128}}"#;
        let feedback = body(Provider::Auto, answer);
        assert_eq!((feedback.actual, feedback.actual_input, feedback.actual_output), (Some(128), Some(8), Some(120)));
        let refusal = r#"{"error":{"code":429,"message":"You exceeded your current quota. Please retry in 36.7s.",
            "status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},
            {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36s"}]}}"#
            .replace('\n', " ");
        for refusal in [refusal.clone(), format!("[{refusal}]")] {
            let feedback = read(Provider::Auto, 429, &[], &refusal);
            assert_eq!((feedback.throttled, feedback.pause), (true, Some(Micros(36_000_000))));
        }
        let without = refusal.replace("\"retryDelay\"", "\"other\"");
        assert_eq!(read(Provider::Auto, 429, &[], &without).pause, Some(Micros(36_700_000)), "of the message");
    }

    #[test]
    fn a_403_of_google_may_be_a_limit() {
        let error = |reason: &str| format!(r#"{{"error":{{"errors":[{{"reason":"{reason}"}}],"code":403}}}}"#);
        for (reason, throttled) in [
            ("userRateLimitExceeded", true),
            ("rateLimitExceeded", true),
            ("dailyLimitExceeded", true),
            ("forbidden", false),
        ] {
            assert_eq!(read(Provider::Auto, 403, &[], &error(reason)).throttled, throttled, "{reason}");
        }
    }
}
