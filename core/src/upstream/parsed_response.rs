//! `ParsedResponse`: a response with bounded sizes, header access and a parsed `Date`.

use std::cell::RefCell;

use super::decimal::{duration, http_date, milliseconds, rate, seconds, time, units_down, wait_in};
use super::json::Json;
use super::structured::{Value, list};
use super::{Feedback, Reset, Response};
use crate::base::micros::{MAX_SPAN, MAX_TIME, Micros};

/// Stands for a missing status; HTTP has no status 0.
pub(super) const UNKNOWN: u16 = 0;
const MAX_HEADER: usize = 4 << 10;
const MAX_BODY: usize = 8 << 20;
/// The maximum number of GraphQL errors that are inspected.
const MAX_ERRORS: usize = 100;
/// The maximum number of values that are reported as not understood, and of their characters.
const MAX_UNREAD: usize = 8;
const MAX_SHOWN: usize = 40;
/// The wait for a date that cannot be compared with any clock; GitHub recommends the same.
pub(super) const UNKNOWN_WAIT: Micros = Micros(60_000_000);

/// The parts of a response that the providers read.
pub(super) struct ParsedResponse<'a> {
    pub(super) status: u16,
    pub(super) body: Json<'a>,
    headers: &'a [(&'a str, &'a str)],
    date: Option<Micros>,
    /// The values that were looked at and not understood.
    unread: RefCell<Vec<String>>,
}

impl<'a> ParsedResponse<'a> {
    pub(super) fn new(response: &Response<'a>) -> Self {
        let body = if response.body.len() > MAX_BODY { "" } else { response.body };
        let mut parsed = Self {
            status: response.status.unwrap_or(UNKNOWN),
            body: Json(body),
            headers: response.headers,
            date: None,
            unread: RefCell::default(),
        };
        parsed.date = parsed.header("date").and_then(http_date);
        parsed
    }

    /// Returns the first value of a header within the length limit, without surrounding spaces.
    pub(super) fn header(&self, name: &str) -> Option<&'a str> {
        self.values(name).next()
    }

    /// Returns an integer from a header, rounded down; the least of several.
    pub(super) fn count(&self, name: &str) -> Option<u64> {
        let one = |text: &str| units_down(text.split(';').next()?.trim_end());
        self.read(name, |text| {
            let parts = text.split(',').map(|part| one(part.trim()));
            rate(text).map(|(units, _)| units).or_else(|| parts.min().flatten())
        })
    }

    /// Returns the window that a header has as a parameter, `76;w=21600`, or in words, `1 per 5 second`.
    pub(super) fn window(&self, name: &str) -> Option<Micros> {
        let text = self.header(name)?;
        let item =
            list(text).and_then(|items| items.into_iter().next()).filter(|item| matches!(item.value, Value::Number(_)));
        let span =
            |seconds: u64| seconds.checked_mul(1_000_000).map(Micros).filter(|span| span.0 > 0 && *span <= MAX_SPAN);
        item.and_then(|item| item.window).and_then(span).or_else(|| rate(text).map(|(_, interval)| interval))
    }

    /// Returns a reset in any of the common forms: small numbers are seconds from now, large ones seconds since 1970, those
    /// too large for that milliseconds since 1970; otherwise a duration or a date. The last of several.
    pub(super) fn reset(&self, name: &str) -> Option<Reset> {
        self.read(name, |text| self.moment(text))
    }

    fn moment(&self, text: &str) -> Option<Reset> {
        self.one_moment(text).or_else(|| {
            let parts: Option<Vec<Reset>> = text.split(',').map(|part| self.one_moment(part.trim())).collect();
            parts?.into_iter().reduce(Reset::later)
        })
    }

    fn one_moment(&self, text: &str) -> Option<Reset> {
        let plain = text.split(';').next()?.trim_end();
        match seconds(plain) {
            Some(number) if number <= MAX_SPAN => reset_after(number),
            Some(number) if number <= MAX_TIME => self.reset_at(number),
            Some(_) => milliseconds(plain).and_then(|time| self.reset_at(time)),
            None => duration(plain).and_then(reset_after).or_else(|| self.reset_at(time(text)?)),
        }
    }

    /// Returns what a header says; what is not understood is noted.
    pub(super) fn read<T>(&self, name: &str, parse: impl Fn(&'a str) -> Option<T>) -> Option<T> {
        let text = self.header(name).filter(|text| !text.is_empty())?;
        let value = parse(text);
        if value.is_none() {
            self.note_unread(name, text);
        }
        value
    }

    fn note_unread(&self, name: &str, text: &str) {
        // Without what JSON escapes, so that a note looks alike everywhere.
        let plain = |c: char| match c {
            '"' | '\\' => '\'',
            c if c.is_control() => ' ',
            c => c,
        };
        let shown: String = text.chars().take(MAX_SHOWN).map(plain).collect();
        let note = format!("{name}: is not understood: {shown}");
        let mut unread = self.unread.borrow_mut();
        if unread.len() < MAX_UNREAD && !unread.contains(&note) {
            unread.push(note);
        }
    }

    /// Returns the notes on values that were not understood.
    pub(super) fn into_unread(self) -> Vec<String> {
        self.unread.into_inner()
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
    pub(super) fn retry_after(&self) -> Option<Reset> {
        self.read("retry-after", |text| match http_date(text) {
            Some(time) => {
                Some(Reset::After(self.date.map_or(UNKNOWN_WAIT, |date| Micros(time.0.saturating_sub(date.0)))))
            }
            // Every wait is cut to the longest, so that a long one is as good as another.
            None => self.moment(text).or_else(|| seconds(text).map(Reset::After)),
        })
    }

    /// Returns the wait that the message of an error names.
    fn wait_of_message(&self) -> Option<Reset> {
        let [error, message] = self.body.pick(["error", "message"]);
        let text = error.and_then(|error| error.get("message")).or(message)?.text()?;
        wait_in(&text).map(Reset::After)
    }

    /// Applies the HTTP rules: 429 is a refusal; 429 and 503 pause for `Retry-After`, and 429 without it for the time that
    /// the message names, otherwise until the last of the exhausted budgets resets.
    pub(super) fn settle(&self, feedback: &mut Feedback) {
        feedback.throttled |= self.status == 429;
        if feedback.throttled || self.status == 503 {
            feedback.wait_until(self.retry_after());
        }
        if feedback.throttled {
            feedback.wait_until(self.wait_of_message());
            let reset = feedback.until_reset().filter(|_| feedback.pause.is_none() && feedback.pause_at.is_none());
            feedback.is_until_reset = reset.is_some();
            feedback.wait_until(reset);
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
