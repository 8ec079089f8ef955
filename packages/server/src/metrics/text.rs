//! The text format of Prometheus, in chunks: that of many limiters is larger than what is known of them.

use std::fmt::{Display, Write};
use std::sync::Arc;

use paddlegate::Micros;

use super::families::{Family, Kind, Times, Value, Values, families};
use super::{Measured, Own, Snapshot};
use crate::access::{Access, Scope};
use crate::json::seconds;

/// The length of a chunk in bytes from which the next one begins; a chunk ends with a whole line.
const CHUNK: usize = 64 << 10;

/// Writes an export, chunk by chunk.
pub(crate) struct Text {
    snapshot: Arc<Snapshot>,
    own: Own,
    access: Access,
    /// The place of the next family, and of the next limiter in it.
    family: usize,
    limiter: usize,
}

impl Text {
    /// Returns whether a metric of keys is not exported.
    fn is_left_out(&self, family: &Family) -> bool {
        matches!(family.values, Values::Key(_)) && self.snapshot.keys().is_empty()
    }

    pub(crate) const fn new(snapshot: Arc<Snapshot>, own: Own, access: Access) -> Self {
        Self { snapshot, own, access, family: 0, limiter: 0 }
    }
}

impl Iterator for Text {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let mut chunk = String::with_capacity(CHUNK + (CHUNK >> 3));
        while let Some(family) = families().nth(self.family) {
            if self.limiter == 0 && !self.is_left_out(family) {
                head(&mut chunk, family);
            }
            match family.values {
                Values::Server(value) => sample(&mut chunk, family, None, &[], value(&self.own)),
                Values::Limiter(values) => {
                    while let Some(one) = self.snapshot.limiters().get(self.limiter) {
                        self.limiter += 1;
                        if self.access.may(Scope::Read, &one.name) {
                            values(one, &mut |labels, value| sample(&mut chunk, family, Some(one), labels, value));
                        }
                        // Behind a limiter, because a family without one written is begun again by the next chunk.
                        if chunk.len() >= CHUNK {
                            return Some(chunk);
                        }
                    }
                }
                Values::Key(values) => {
                    for one in self.snapshot.keys().iter().filter(|one| self.access.may(Scope::Read, &one.limiter)) {
                        values(one, &mut |labels, value| {
                            sample(&mut chunk, family, None, &[&[("key", &*one.key)], labels].concat(), value);
                        });
                    }
                }
            }
            (self.family, self.limiter) = (self.family + 1, 0);
        }
        (!chunk.is_empty()).then_some(chunk)
    }
}

fn head(text: &mut String, family: &Family) {
    let (Family { name, help, kind, .. }, prefix) = (family, family.prefix());
    let _ = write!(text, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {}\n", kind.name());
}

fn sample(text: &mut String, family: &Family, one: Option<&Measured>, labels: &[(&str, &str)], value: Value<'_>) {
    let mut line = |suffix: &str, more: Option<&str>, value: &dyn Display| {
        let _ = write!(text, "{}{}{suffix}", family.prefix(), family.name);
        let of_limiter = one.into_iter().flat_map(Measured::labels);
        let bound = more.map(|bound| ("le", bound));
        let mut separator = '{';
        for (name, value) in of_limiter.chain(labels.iter().copied()).chain(bound) {
            text.push(separator);
            let _ = write!(text, "{name}=\"");
            escape(text, value);
            text.push('"');
            separator = ',';
        }
        let _ = writeln!(text, "{} {value}", if separator == ',' { "}" } else { "" });
    };
    debug_assert_eq!(matches!(value, Value::Times(_)), family.kind == Kind::Histogram);
    match value {
        Value::Whole(number) => line("", None, &number),
        Value::Times(Times { bounds, counts, sum }) => {
            let mut total = 0;
            // Of a histogram without a count the bounds are left out, as most limiters have none.
            for (bound, count) in bounds.iter().zip(counts) {
                total += count;
                line("_bucket", Some(&seconds(Micros(*bound)).to_string()), &total);
            }
            total += counts.get(bounds.len()).copied().unwrap_or(0);
            line("_bucket", Some("+Inf"), &total);
            line("_sum", None, &seconds(sum));
            line("_count", None, &total);
        }
    }
}

fn escape(text: &mut String, value: &str) {
    for part in value.split_inclusive(['\\', '"', '\n']) {
        let plain = part.trim_end_matches(['\\', '"', '\n']);
        text.push_str(plain);
        text.push_str(match part[plain.len()..].chars().next() {
            Some('\\') => r"\\",
            Some('"') => "\\\"",
            Some(_) => r"\n",
            None => "",
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use paddlegate::Request;

    use super::*;
    use crate::app::App;
    use crate::options::Options;

    #[tokio::test]
    async fn a_family_begins_once_wherever_a_chunk_ends() {
        let app = App::open(Options::default()).expect("a store in memory");
        for i in 0..100 {
            let name = format!("limiter-{i:012}");
            let limiter = app.paddlegate().bucket(&name, 1, Duration::from_secs(60)).expect("a limiter");
            limiter.try_acquire(Request::cost(1)).expect("a decision");
        }
        let mut limiters = super::super::limiters(&app).await.expect("the numbers");
        // A byte more of a name is six more of the first family, which ends around the end of the first chunk.
        for length in (0..4_000).step_by(10) {
            limiters[0].name = "n".repeat(length).into();
            let snapshot = Arc::new(Snapshot { limiters: Some(limiters), keys: Vec::new() });
            let text = Text::new(snapshot.clone(), Own::of(&app, &snapshot), Access::anybody());
            let text = text.collect::<String>();
            let mut heads = text.lines().filter(|line| line.starts_with('#')).collect::<Vec<_>>();
            let all = heads.len();
            heads.sort_unstable();
            heads.dedup();
            assert_eq!(heads.len(), all, "length={length}");
            limiters = Arc::into_inner(snapshot).and_then(|snapshot| snapshot.limiters).expect("the only reference");
        }
    }
}
