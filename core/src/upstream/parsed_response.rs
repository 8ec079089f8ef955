//! `ParsedResponse`: a response with bounded sizes, header access and a parsed `Date`.

use super::decimal::{http_date, seconds, units_down};
use super::json::Json;
use super::{Feedback, Reset, Response};
use crate::base::micros::{MAX_SPAN, MAX_TIME, Micros};

/// Stands for a missing status; HTTP has no status 0.
pub(super) const UNKNOWN: u16 = 0;
const MAX_HEADER: usize = 4 << 10;
const MAX_BODY: usize = 8 << 20;
/// The maximum number of GraphQL errors that are inspected.
const MAX_ERRORS: usize = 100;
/// The wait for a date that cannot be compared with any clock; GitHub recommends the same.
pub(super) const UNKNOWN_WAIT: Micros = Micros(60_000_000);

/// The parts of a response that the providers read.
pub(super) struct ParsedResponse<'a> {
    pub(super) status: u16,
    pub(super) body: Json<'a>,
    headers: &'a [(&'a str, &'a str)],
    date: Option<Micros>,
}

impl<'a> ParsedResponse<'a> {
    pub(super) fn new(response: &Response<'a>) -> Self {
        let body = if response.body.len() > MAX_BODY { "" } else { response.body };
        let mut parsed = Self {
            status: response.status.unwrap_or(UNKNOWN),
            body: Json(body),
            headers: response.headers,
            date: None,
        };
        parsed.date = parsed.header("date").and_then(http_date);
        parsed
    }

    /// Returns the first value of a header within the length limit, without surrounding spaces.
    pub(super) fn header(&self, name: &str) -> Option<&'a str> {
        self.values(name).next()
    }

    /// Returns an integer from a header, rounded down.
    pub(super) fn count(&self, name: &str) -> Option<u64> {
        self.header(name).and_then(units_down)
    }

    /// Returns all values of a header that may be repeated, as one list.
    pub(super) fn list(&self, name: &str) -> Option<String> {
        let mut joined = String::new();
        for value in self.values(name).filter(|value| !value.is_empty()) {
            if joined.len() + value.len() + 2 > MAX_HEADER {
                return None;
            }
            if !joined.is_empty() {
                joined.push_str(", ");
            }
            joined.push_str(value);
        }
        (!joined.is_empty()).then_some(joined)
    }

    /// Returns whether a header's name has this prefix.
    pub(super) fn has_prefix(&self, prefix: &str) -> bool {
        self.headers.iter().any(|(name, _)| {
            name.as_bytes().get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
        })
    }

    /// Converts a reset time of the upstream's clock to a wait if the response has a `Date`.
    pub(super) fn reset_at(&self, time: Micros) -> Option<Reset> {
        if time > MAX_TIME {
            return None;
        }
        match self.date {
            Some(date) => reset_after(Micros(time.0.saturating_sub(date.0))),
            None => Some(Reset::At(time)),
        }
    }

    /// Returns `Retry-After` for any status; zero if its date is past.
    pub(super) fn retry_after(&self) -> Option<Micros> {
        let text = self.header("retry-after")?;
        seconds(text).or_else(|| {
            let time = http_date(text)?;
            Some(self.date.map_or(UNKNOWN_WAIT, |date| Micros(time.0.saturating_sub(date.0))))
        })
    }

    /// Applies the HTTP rules: 429 is a refusal; 429 and 503 pause for `Retry-After`, and 429 without it pauses until
    /// the last of the exhausted budgets resets.
    pub(super) fn settle(&self, feedback: &mut Feedback) {
        feedback.throttled |= self.status == 429;
        if feedback.throttled || self.status == 503 {
            feedback.pause = feedback.pause.or_else(|| self.retry_after());
        }
        if feedback.throttled {
            feedback.pause = feedback.pause.or_else(|| feedback.until_reset());
        }
    }

    fn values<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'a str> + 's {
        let named = self.headers.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.trim_matches([' ', '\t'])).filter(|value| value.len() <= MAX_HEADER)
    }
}

/// Returns the errors of a GraphQL response.
pub(super) fn errors(list: Option<Json<'_>>) -> Vec<Json<'_>> {
    list.map(|list| list.elements(MAX_ERRORS)).unwrap_or_default()
}

/// Returns a reset after a wait; `None` beyond ten years.
pub(super) fn reset_after(wait: Micros) -> Option<Reset> {
    (wait <= MAX_SPAN).then_some(Reset::After(wait))
}
