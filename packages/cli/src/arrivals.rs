//! `parse`: the terminal's notation of arrivals.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The name, the syntax and an example of each shape.
const SHAPES: [(&str, &str, &str); 7] = [
    ("steady", "steady N/UNIT for SPAN", "steady 10/s for 1m"),
    ("poisson", "poisson N/UNIT for SPAN", "poisson 10/s for 1m"),
    ("burst", "burst N every SPAN for SPAN", "burst 100 every 1m for 5m"),
    ("ramp", "ramp N..M/UNIT for SPAN", "ramp 1..20/s for 5m"),
    ("daily", "daily N..M/UNIT for SPAN", "daily 2..20/s for 1d"),
    ("jobs", "jobs N", "jobs 10000"),
    ("times", "times FILE", "times arrivals.csv"),
];

/// The parsed value of `--arrivals`.
#[derive(Debug, PartialEq)]
pub(crate) enum Arrivals {
    /// The `arrivals` of a scenario. The core validates numbers and durations.
    Shape(Value),
    /// The file with the times.
    Times(PathBuf),
}

/// Parses the value of `--arrivals`; error messages do not contain the option's name.
pub(crate) fn parse(text: &str) -> Result<Arrivals, String> {
    let text = text.trim();
    // A path may contain spaces.
    if let Some(path) = text.strip_prefix("times").filter(|rest| rest.starts_with(char::is_whitespace)) {
        return Ok(Arrivals::Times(Path::new(path.trim()).to_owned()));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let (words, from) = match words[..] {
        [ref shape @ .., "from", span] => (shape, Some(span)),
        _ => (&words[..], None),
    };
    let shape = match *words {
        [kind @ ("steady" | "poisson"), rate, "for", span] => rate.split_once('/').and_then(|(count, unit)| {
            Some(json!({ "kind": kind, "count": whole(count)?, "per": per(unit), "for": span }))
        }),
        ["burst", count, "every", every, "for", span] => {
            whole(count).map(|count| json!({ "kind": "burst", "count": count, "every": every, "for": span }))
        }
        [kind @ ("ramp" | "daily"), rate, "for", span] => rate.split_once('/').and_then(|(counts, unit)| {
            let (count, to) = counts.split_once("..")?;
            Some(json!({ "kind": kind, "count": whole(count)?, "to": whole(to)?, "per": per(unit), "for": span }))
        }),
        ["jobs", count] => whole(count).map(|count| json!({ "kind": "jobs", "count": count })),
        _ => None,
    };
    let mut shape = shape.ok_or_else(|| fault(words.first().copied(), text))?;
    if let Some(from) = from {
        shape["from"] = json!(from);
    }
    Ok(Arrivals::Shape(shape))
}

/// Returns `1s` for the short form `s`; any other text is a duration, which the core parses.
fn per(unit: &str) -> String {
    if matches!(unit, "ms" | "s" | "m" | "h" | "d") { format!("1{unit}") } else { unit.to_owned() }
}

fn whole(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn fault(kind: Option<&str>, text: &str) -> String {
    let shown: String = text.chars().take(60).collect();
    if let Some((_, shape, example)) = SHAPES.iter().find(|(name, ..)| kind == Some(*name)) {
        return format!("must be written as {shape:?} with whole numbers, such as {example:?}: value={shown:?}");
    }
    let kinds: Vec<&str> = SHAPES.iter().map(|(name, ..)| *name).collect();
    format!("must begin with one of {}, such as \"poisson 10/s for 1m\": value={shown:?}", kinds.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_read_and_its_example_too() {
        for (text, shape) in [
            ("steady 10/s for 1m", json!({"kind": "steady", "count": 10, "per": "1s", "for": "1m"})),
            (" poisson  3/PT0.5S for 1h ", json!({"kind": "poisson", "count": 3, "per": "PT0.5S", "for": "1h"})),
            ("burst 5 every 1m for 5m", json!({"kind": "burst", "count": 5, "every": "1m", "for": "5m"})),
            ("ramp 1..20/10s for 5m", json!({"kind": "ramp", "count": 1, "to": 20, "per": "10s", "for": "5m"})),
            ("daily 2..9/minute for 1d", json!({"kind": "daily", "count": 2, "to": 9, "per": "minute", "for": "1d"})),
            ("jobs 7", json!({"kind": "jobs", "count": 7})),
            ("jobs 7 from 59s", json!({"kind": "jobs", "count": 7, "from": "59s"})),
        ] {
            assert_eq!(parse(text), Ok(Arrivals::Shape(shape)), "{text}");
        }
        assert_eq!(parse("times my file.csv"), Ok(Arrivals::Times("my file.csv".into())));
        for (kind, _, example) in SHAPES {
            assert!(parse(example).is_ok() && example.starts_with(kind), "{example}");
        }
    }

    #[test]
    fn a_fault_shows_how_it_is_written() {
        for (text, begin) in [
            ("", "must begin with one of steady, poisson"),
            ("from 1s", "must begin with one of"),
            ("Poisson 1/s for 1s", "must begin with one of"),
            ("times", "must be written as \"times FILE\""),
            ("jobs", "must be written as \"jobs N\""),
            ("jobs -1", "must be written as \"jobs N\""),
            ("jobs 99999999999999999999", "must be written as \"jobs N\""),
            ("jobs +1", "must be written as \"jobs N\""),
            ("steady 1.5/s for 1m", "must be written as \"steady N/UNIT for SPAN\""),
            ("steady 1 for 1m", "must be written as \"steady"),
            ("ramp 1/s for 1m", "must be written as \"ramp N..M/UNIT"),
            ("daily 1../s for 1m", "must be written as \"daily"),
            ("burst 1 for 1m", "must be written as \"burst N every"),
        ] {
            assert!(parse(text).unwrap_err().starts_with(begin), "{text:?} {:?}", parse(text));
        }
    }
}
