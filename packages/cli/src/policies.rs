//! `choose` and `limits`: the policies of a document.

use paddlegate::{Definition, Document, Kind, Limit, Policy, period};
use serde_json::{Value, json};

use crate::failure::Failure;

/// The maximum number of names in a message.
const SHOWN: usize = 10;

/// The location of a document: its file, and its path in the file.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) file: String,
    /// For example `$.policies[0].document`, or `$`.
    pub(crate) path: String,
    /// The option or member that selects limiters of the document.
    pub(crate) chooser: &'static str,
    /// The maximum number of selected limiters.
    pub(crate) most: usize,
}

impl Site {
    fn fault(&self, message: &str) -> Failure {
        Failure::Input(format!("{}: at {}: {message}", self.file, self.path))
    }
}

/// Returns the limiters of a document with one of the names, in that order; all when no name is given.
pub(crate) fn choose(text: &str, names: &[&str], site: &Site) -> Result<Vec<Definition>, Failure> {
    let found = find(text, names, site)?;
    if found.len() > site.most {
        let which = if site.most == 1 { "one".to_owned() } else { format!("up to {}", site.most) };
        let (chooser, count) = (site.chooser, found.len());
        return Err(site.fault(&format!("has {count} limiters, choose {which} by {chooser}: {}", listed(&found))));
    }
    Ok(found)
}

fn find(text: &str, names: &[&str], site: &Site) -> Result<Vec<Definition>, Failure> {
    let document = Document::parse(text).and_then(|document| Ok((document.format(), document.definitions()?)));
    let (format, definitions) = document.map_err(|error| {
        // Errors of documents start with a path of their own.
        let message = match error.message().strip_prefix("at $") {
            Some(rest) => format!("{}: at {}{rest}", site.file, site.path),
            None => format!("{}: {}", site.file, error.message()),
        };
        Failure::of_core(error.kind(), message)
    })?;
    if definitions.is_empty() {
        return Err(site.fault(&format!(
            "this {format} defines no limiter by itself, give a document that does, such as \
             {{\"limiters\": {{\"a\": {{\"window\": {{\"limit\": 5, \"per\": \"1s\"}}}}}}}}"
        )));
    }
    if names.is_empty() {
        return Ok(definitions);
    }
    let look_up = |name: &&str| {
        let found = definitions.iter().find(|definition| definition.name == *name).cloned();
        found.ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            site.fault(&format!("has no limiter {shown:?}; it has {}", listed(&definitions)))
        })
    };
    names.iter().map(look_up).collect()
}

fn listed(definitions: &[Definition]) -> String {
    let names = definitions.iter().take(SHOWN);
    let names: Vec<String> = names.map(|definition| format!("{:?}", short(&definition.name))).collect();
    let more = definitions.len().saturating_sub(SHOWN);
    if more == 0 { names.join(", ") } else { format!("{} and {more} more", names.join(", ")) }
}

fn short(name: &str) -> String {
    name.chars().take(40).collect()
}

/// Returns the `limits` of a scenario's policy.
pub(crate) fn limits(policy: &Policy) -> Value {
    match policy.limits() {
        [] => json!([{ "kind": Kind::Unlimited.name() }]),
        limits => limits.iter().map(limit).collect(),
    }
}

fn limit(limit: &Limit) -> Value {
    let kind = limit.kind();
    let mut shown = json!({ "kind": kind.name(), "label": &**limit.label() });
    if let Some(calendar) = limit.calendar() {
        shown["per"] = json!(calendar.per().name());
        shown["timezone"] = json!(calendar.timezone());
        shown["starts"] = json!(calendar.starts());
        shown["limit"] = json!(limit.amount());
    } else if !matches!(kind, Kind::Unlimited | Kind::Paused) {
        shown["interval"] = json!(period::show(limit.interval()));
        // A throttle of one start is shown with its interval alone.
        if kind != Kind::Throttle || limit.amount() > 1 {
            shown["limit"] = json!(limit.amount());
        }
    }
    if limit.offset().0 > 0 {
        shown["offset"] = json!(period::show(limit.offset()));
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use paddlegate::Calendar;
    use paddlegate::simulate::Scenario;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// Every kind is written so that the core reads it again.
    #[test]
    fn limits_of_every_kind_are_read_again() {
        let made = [
            Limit::bucket_with_offset(5, MINUTE, Duration::from_millis(1_500)),
            Limit::window(5, MINUTE),
            Limit::leaky(5, Duration::from_micros(1)),
            Limit::points(5, MINUTE),
            Limit::throttle(MINUTE),
            Limit::window(5, MINUTE).unwrap().labelled("per-minute"),
            Limit::concurrency(0, MINUTE),
            Limit::quota(5, Calendar::month().in_timezone("Europe/Berlin").unwrap().starting("15").unwrap()),
            Ok(Limit::unlimited()),
            Ok(Limit::paused()),
        ];
        for made in made {
            let policy = Policy::new([made.unwrap()]).unwrap();
            let scenario = json!({
                "policies": [{ "limits": limits(&policy) }],
                "arrivals": { "kind": "jobs", "count": 1 },
            });
            assert!(Scenario::from_json(&scenario).is_ok(), "{scenario}");
        }
    }
}
