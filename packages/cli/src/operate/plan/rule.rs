//! `Rule`: what a plan must not do, such as `newly_refused>0`.

use std::fmt;

use paddlegate::period;

use super::Outcome;

/// The names, and whether the number is a span.
const NAMES: [(&str, bool); 6] = [
    ("newly_refused", false),
    ("newly_granted", false),
    ("refused", false),
    ("wait_median", true),
    ("wait_p95", true),
    ("wait_longest", true),
];

/// A rule of `--fail-on`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    text: String,
    name: &'static str,
    or_equal: bool,
    most: Most,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Most {
    /// Calls, or microseconds.
    Number(u64),
    /// Thousandths of a percent of the calls.
    Share(u64),
}

impl Rule {
    /// Reads a rule; messages do not contain the name of the option.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let names = || NAMES.map(|(name, _)| name).join(", ");
        let (name, most) = text.split_once('>').ok_or_else(|| {
            format!("must be a name, > or >=, and a number, such as newly_refused>0; names are {}", names())
        })?;
        let (most, or_equal) = most.strip_prefix('=').map_or((most, false), |most| (most, true));
        let (name, most) = (name.trim(), most.trim());
        let known = NAMES.iter().find(|(known, _)| *known == name);
        let (name, is_span) = *known.ok_or_else(|| format!("the name must be one of {}", names()))?;
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let most = if is_span {
            let zero = matches!(most, "0" | "0s" | "0ms").then_some(paddlegate::Micros(0));
            Most::Number(zero.map_or_else(|| period::period(most), Ok).map_err(|error| error.message().to_owned())?.0)
        } else if let Some(percent) = most.strip_suffix('%') {
            Most::Share(
                thousandths(percent)
                    .ok_or("a share must be a number with up to three digits after the point, such as 0.5%")?,
            )
        } else {
            Most::Number(number(most).ok_or("the number must be a whole one such as 0, or a share such as 1%")?)
        };
        Ok(Self { text: text.to_owned(), name, or_equal, most })
    }

    /// Returns whether the outcome is what the rule forbids.
    pub(super) fn holds(&self, outcome: &Outcome) -> bool {
        let candidate = &outcome.candidate;
        let value = match self.name {
            "newly_refused" => outcome.newly_refused,
            "newly_granted" => outcome.newly_granted,
            "refused" => candidate.arrived - candidate.granted,
            "wait_median" => candidate.wait.p50,
            "wait_p95" => candidate.wait.p95,
            _ => candidate.wait.max,
        };
        let (value, most) = match self.most {
            Most::Number(most) => (u128::from(value), u128::from(most)),
            Most::Share(share) => (u128::from(value) * 100_000, u128::from(share) * u128::from(candidate.arrived)),
        };
        value > most || (self.or_equal && value == most)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads `0.5` as 500.
fn thousandths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 3 {
        return None;
    }
    format!("{whole}{part:0<3}").parse().ok()
}

#[cfg(test)]
mod tests {
    use paddlegate::simulate::{Totals, Waits};

    use super::*;

    #[test]
    fn a_rule_holds_above_its_number() {
        let totals = Totals {
            arrived: 1_000,
            granted: 980,
            wait: Waits { p95: 2_000_000, ..Waits::default() },
            ..Totals::default()
        };
        let outcome = Outcome {
            in_force: totals.clone(),
            candidate: totals,
            newly_refused: 5,
            newly_granted: 0,
            recorded: [0; 3],
            unlike: 0,
            may_lack: false,
            changes: 0,
        };
        for (rule, holds) in [
            ("newly_refused>0", true),
            ("newly_refused>5", false),
            ("newly_refused>=5", true),
            ("newly_refused > 0.5%", false),
            ("newly_refused>=0.5%", true),
            ("newly_refused>0.499%", true),
            ("newly_granted>0", false),
            ("refused>19", true),
            ("refused>2%", false),
            ("wait_p95>2s", false),
            ("wait_p95>1999ms", true),
            ("wait_longest>0", false),
        ] {
            assert_eq!(Rule::parse(rule).unwrap().holds(&outcome), holds, "{rule}");
        }
    }

    #[test]
    fn a_fault_says_how_a_rule_is_written() {
        for (rule, begin) in [
            ("", "must be a name, > or >=, and a number"),
            ("newly_refused", "must be a name"),
            ("refusals>0", "the name must be one of newly_refused"),
            ("refused>", "the number must be a whole one"),
            ("refused>-1", "the number must be a whole one"),
            ("refused>1.5", "the number must be a whole one"),
            ("refused>1.2345%", "a share must be a number"),
            ("wait_p95>5", "must be second"),
            ("wait_p95>1%", "must be second"),
        ] {
            assert!(Rule::parse(rule).unwrap_err().starts_with(begin), "{rule} {:?}", Rule::parse(rule));
        }
    }
}
