//! `StreamUsage`: the usage in a body that is read in chunks, without holding the body.

#[cfg(test)]
mod tests;

use serde::de::IgnoredAny;

use super::json::Json;

/// The maximum length of a value that is kept.
const MAX_KEPT: usize = 4 << 10;
/// The maximum length of what [`StreamUsage::body`] and [`StreamUsage::ignored`] return: more than all that is kept.
pub const MAX_STREAM_USAGE: usize = 64 << 10;
/// One more than the longest name that is looked for.
const MAX_NAME: usize = 14;
const FIELD: &[u8] = b"data:";

/// The places of what is kept: the member, the object of the root in which it is, and what it is.
const PLACES: [(&str, &str, Value); 9] = [
    ("usage", "", Value::Usage),
    ("usage", "response", Value::Usage),
    ("usage", "x_groq", Value::GroqUsage),
    ("usage", "message", Value::InputUsage),
    ("usageMetadata", "", Value::Gemini),
    ("usageMetadata", "response", Value::Gemini),
    ("cost", "extensions", Value::Cost),
    ("rateLimit", "data", Value::RateLimit),
    ("error", "", Value::Error),
];

/// The members of a usage that are read. A stream may report them in several events.
const COUNTS: [&str; 7] = [
    "total_tokens",
    "prompt_tokens",
    "input_tokens",
    "completion_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "prompt_tokens_details",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Usage,
    GroqUsage,
    /// Anthropic's `message_start`, before there is output.
    InputUsage,
    Gemini,
    Cost,
    RateLimit,
    Error,
}

/// Finds the usage in the body of a response that is read in chunks: JSON, or server-sent events with JSON.
///
/// It keeps the usage of `OpenAI` (chat with `stream_options.include_usage`, and responses), Anthropic (`message_start` and
/// `message_delta`), Gemini and Groq, GraphQL's `extensions.cost` and `data.rateLimit`, and an `error`. Of each count
/// the last event that has it is kept. Memory is bounded, and chunks may end anywhere.
///
/// # Examples
///
/// ```
/// # use paddlegate::upstream::{Response, StreamUsage};
/// # use paddlegate::{Feedback, MAX_PAUSE, Provider};
/// let mut usage = StreamUsage::default();
/// usage.feed(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: {\"choices\":[],\"usage\":{\"total_to");
/// usage.feed(b"kens\":12}}\n\ndata: [DONE]\n\n");
/// assert_eq!(usage.body(), r#"{"usage":{"total_tokens":12}}"#);
/// let response = Response { status: Some(200), headers: &[], body: &usage.body() };
/// assert_eq!(Feedback::read(Provider::Auto, &response, MAX_PAUSE).actual, Some(12));
/// ```
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
pub struct StreamUsage {
    line: Line,
    after_return: bool,
    /// Whether the JSON is that of an event.
    is_event: bool,
    has_events: bool,
    json: Scanner,
    counts: [Option<String>; COUNTS.len()],
    has_input: bool,
    has_output: bool,
    is_groq: bool,
    gemini: Option<String>,
    cost: Option<String>,
    rate_limit: Option<String>,
    error: Option<String>,
    ignored: Vec<String>,
}

/// Where in a line the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// After this many bytes of [`FIELD`].
    Start(usize),
    Json,
    Other,
}

impl Default for Line {
    fn default() -> Self {
        Self::Start(0)
    }
}

impl StreamUsage {
    /// Reads the next bytes of the body.
    pub fn feed(&mut self, chunk: &[u8]) {
        for byte in chunk {
            self.read(*byte);
        }
    }

    /// Returns what was found as the body of a response, for [`Feedback::read`](super::Feedback::read); empty for nothing.
    pub fn body(&self) -> String {
        let counts = COUNTS.iter().zip(&self.counts);
        let counts = counts.filter_map(|(name, count)| Some(format!("\"{name}\":{}", count.as_ref()?)));
        let usage = self.has_output.then(|| format!("\"usage\":{{{}}}", counts.collect::<Vec<_>>().join(",")));
        let shown = |value: &Option<String>, before: &str, after: &str| {
            value.as_ref().map(|value| format!("{before}{value}{after}"))
        };
        let members = [
            usage,
            self.is_groq.then(|| "\"x_groq\":{}".to_owned()),
            shown(&self.gemini, "\"usageMetadata\":", ""),
            shown(&self.cost, "\"extensions\":{\"cost\":", "}"),
            shown(&self.rate_limit, "\"data\":{\"rateLimit\":", "}"),
            shown(&self.error, "\"error\":", ""),
        ];
        let members: Vec<String> = members.into_iter().flatten().collect();
        if members.is_empty() { String::new() } else { format!("{{{}}}", members.join(",")) }
    }

    /// Returns what was found and not kept, with the reason. Complete after the last chunk.
    pub fn ignored(&self) -> Vec<String> {
        let mut ignored = self.ignored.clone();
        let is_empty = self.gemini.is_none() && self.cost.is_none() && self.rate_limit.is_none();
        if self.json.depth > 0 {
            ignored.push("body: ended inside of its json".to_owned());
        }
        if self.has_input && !self.has_output {
            ignored.push("usage: the stream ended before its output was counted".to_owned());
        } else if self.has_events && !self.has_output && is_empty {
            let how = "ask for it, in openai's chat by stream_options.include_usage";
            ignored.push(format!("usage: the stream has none, {how}"));
        }
        ignored
    }

    /// Reads a byte of a line. JSON that is no event may have lines.
    fn read(&mut self, byte: u8) {
        let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
        let is_open = self.json.depth > 0;
        if is_open && !self.is_event {
            return self.scan(byte);
        }
        match (self.line, byte) {
            (_, b'\n') if after_return => {}
            (line, b'\n' | b'\r') => {
                let is_cut = line == Line::Start(0) && is_open;
                if is_cut || !is_open {
                    self.json = Scanner::default();
                }
                if is_cut {
                    self.ignore("event: ended inside of its json".to_owned());
                }
                self.line = Line::Start(0);
            }
            (Line::Json, _) => self.scan(byte),
            // Spaces, or a byte order mark, before a line.
            (Line::Other, _) | (Line::Start(0), b' ' | b'\t' | 0xef | 0xbb | 0xbf) => {}
            (Line::Start(at), _) if FIELD.get(at) == Some(&byte) => {
                let is_whole = at + 1 == FIELD.len();
                self.line = if is_whole { Line::Json } else { Line::Start(at + 1) };
                if is_whole {
                    (self.is_event, self.has_events) = (true, true);
                }
            }
            (Line::Start(0), b'{' | b'[') if !is_open => {
                (self.line, self.is_event) = (Line::Json, false);
                self.scan(byte);
            }
            (Line::Start(_), _) => self.line = Line::Other,
        }
    }

    fn scan(&mut self, byte: u8) {
        let Some((value, name, text)) = self.json.read(byte) else { return };
        let text = match text {
            Some(text) => String::from_utf8(text).ok().filter(|text| serde_json::from_str::<IgnoredAny>(text).is_ok()),
            None => return self.ignore(format!("{name}: is above {MAX_KEPT} bytes")),
        };
        let Some(text) = text else { return self.ignore(format!("{name}: is no json")) };
        match value {
            Value::Usage | Value::GroqUsage | Value::InputUsage => {
                let is_input = value == Value::InputUsage;
                for (count, new) in self.counts.iter_mut().zip(Json(&text).pick(COUNTS)) {
                    if let Some(new) = new.filter(|new| !new.is_null()) {
                        *count = Some(new.0.to_owned());
                        self.has_input |= is_input;
                        self.has_output |= !is_input;
                    }
                }
                self.is_groq |= value == Value::GroqUsage;
            }
            Value::Gemini => self.gemini = Some(text),
            Value::Cost => self.cost = Some(text),
            Value::RateLimit => self.rate_limit = Some(text),
            Value::Error => self.error = Some(text),
        }
    }

    /// Notes what is ignored, once.
    fn ignore(&mut self, note: String) {
        if !self.ignored.contains(&note) {
            self.ignored.push(note);
        }
    }
}

/// Finds the values at [`PLACES`] in JSON. It tells only strings and brackets apart.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
struct Scanner {
    /// The open brackets.
    depth: usize,
    /// Whether the root is a list, whose elements count as roots.
    is_list: bool,
    /// Of the root and of one of its members: whether it is an object, and the name of the last member.
    is_object: [bool; 2],
    names: [Vec<u8>; 2],
    in_string: bool,
    is_escaped: bool,
    /// Whether the next string is a name.
    is_name: bool,
    /// A value that is being read: its place, the brackets around it, and its text, unless that is too long.
    kept: Option<(usize, usize, Option<Vec<u8>>)>,
}

impl Scanner {
    /// Reads a byte and returns a value that ends with it, its name and its text.
    fn read(&mut self, byte: u8) -> Option<(Value, &'static str, Option<Vec<u8>>)> {
        if let Some((_, _, text)) = &mut self.kept {
            *text = text.take().filter(|text| text.len() < MAX_KEPT);
            if let Some(text) = text {
                text.push(byte);
            }
        }
        // The level of the members that are being read; the members of the root have level 0.
        let level = self.depth.checked_sub(1 + usize::from(self.is_list)).filter(|level| *level < 2);
        if self.in_string {
            let is_end = byte == b'"' && !self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            self.in_string = !is_end;
            if let Some(name) = level.and_then(|level| self.names.get_mut(level)).filter(|_| self.is_name && !is_end)
                && name.len() < MAX_NAME
            {
                name.push(byte);
            }
            return None;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if let Some(name) = level.and_then(|level| self.names.get_mut(level)).filter(|_| self.is_name) {
                    name.clear();
                }
            }
            b'{' | b'[' => self.open(byte, level),
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.is_name = false;
                if let Some((place, _, text)) = self.kept.take_if(|kept| kept.1 == self.depth) {
                    return PLACES.get(place).map(|(name, _, value)| (*value, *name, text));
                }
            }
            b',' => self.is_name = level.is_some_and(|level| self.is_object.get(level) == Some(&true)),
            b':' => self.is_name = false,
            _ => {}
        }
        None
    }

    fn open(&mut self, byte: u8, level: Option<usize>) {
        let is_object = byte == b'{';
        if self.depth == 0 {
            self.is_list = !is_object;
        }
        if let (Some(level), None) = (level, &self.kept) {
            let [root, inner] = &self.names;
            let is_at = |(name, of, _): &(&str, &str, Value)| match (level, of.is_empty()) {
                (0, true) => name.as_bytes() == root,
                (1, false) => of.as_bytes() == root && name.as_bytes() == inner,
                _ => false,
            };
            let place = PLACES.iter().position(is_at).filter(|_| self.is_object.get(level) == Some(&true));
            self.kept = place.map(|place| (place, self.depth, Some(vec![byte])));
        }
        self.depth += 1;
        self.is_name = is_object;
        let inner = self.depth.checked_sub(1 + usize::from(self.is_list));
        if let Some(inner) = inner.and_then(|level| self.is_object.get_mut(level)) {
            *inner = is_object;
        }
    }
}
