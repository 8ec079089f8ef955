//! `Checks`: what the doctor has found.

use serde_json::{Value, json};

use crate::human::{count, plain};

/// The findings, in the order of the checks.
#[derive(Debug, Default)]
pub(super) struct Checks(Vec<Check>);

#[derive(Debug)]
struct Check {
    name: &'static str,
    verdict: Verdict,
    detail: String,
    advice: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Ok,
    Unknown,
    Warning,
    Fault,
}

impl Verdict {
    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Fault => "fault",
        }
    }
}

impl Checks {
    /// Adds what is as it should be.
    pub(super) fn ok(&mut self, name: &'static str, detail: impl Into<String>) {
        self.add(name, Verdict::Ok, detail.into(), None);
    }

    /// Adds what cannot be found out.
    pub(super) fn unknown(&mut self, name: &'static str, detail: impl Into<String>, advice: impl Into<String>) {
        self.add(name, Verdict::Unknown, detail.into(), Some(advice.into()));
    }

    /// Adds what may do harm.
    pub(super) fn warn(&mut self, name: &'static str, detail: impl Into<String>, advice: impl Into<String>) {
        self.add(name, Verdict::Warning, detail.into(), Some(advice.into()));
    }

    /// Adds what does harm.
    pub(super) fn fault(&mut self, name: &'static str, detail: impl Into<String>, advice: impl Into<String>) {
        self.add(name, Verdict::Fault, detail.into(), Some(advice.into()));
    }

    fn add(&mut self, name: &'static str, verdict: Verdict, detail: String, advice: Option<String>) {
        self.0.push(Check { name, verdict, detail, advice });
    }

    pub(super) fn have_fault(&self) -> bool {
        self.0.iter().any(|check| check.verdict == Verdict::Fault)
    }

    /// Formats a line for each check, and below it what to do.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for Check { name, verdict, detail, advice } in &self.0 {
            text += &plain(&format!("{:<7}  {name:<11}  {detail}", verdict.name()));
            text.push('\n');
            if let Some(advice) = advice {
                text.extend([&" ".repeat(22), "-> ", &*plain(advice), "\n"]);
            }
        }
        let number = |verdict| self.0.iter().filter(|check| check.verdict == verdict).count() as u64;
        let (faults, warnings) = (number(Verdict::Fault), number(Verdict::Warning));
        text + &format!("faults {}, warnings {}\n", count(faults), count(warnings))
    }

    pub(super) fn json(&self) -> Value {
        let check = |Check { name, verdict, detail, advice }: &Check| json!({ "check": name, "result": verdict.name(), "detail": detail, "advice": advice });
        self.0.iter().map(check).collect()
    }
}
