//! `Document`: a JSON text whose format is detected by its members.

use serde_json::{Map, Value};

use crate::base::error::{Error, Result};
use crate::base::json;
use crate::formats::conductor::task::TaskDefinition;
use crate::formats::conductor::workflow::WorkflowDefinition;
use crate::formats::guild::Reservoir;
use crate::formats::invantive::control::RateLimitControl;
use crate::formats::{Definition, LoadOptions, native, ojs};
use crate::model::limit::LOCK_TIMEOUT;

/// A parsed document in any of the formats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    /// The native format: limiters by name.
    Native(native::Limits),
    /// The rate limit of a job or a queue of Open Job Spec.
    Ojs(ojs::RateLimit),
    /// A task definition of Conductor.
    Task(TaskDefinition),
    /// A workflow definition of Conductor.
    Workflow(WorkflowDefinition),
    /// A `RateLimitControl` of Invantive.
    Control(RateLimitControl),
    /// A reservoir of guild-queues.
    Guild(Reservoir),
}

impl Document {
    /// Parses JSON of at most 1 MiB. Its top-level members determine the format; a text that fits no format or several
    /// is an error.
    ///
    /// Every error has the argument `document` and starts with the JSON path of the fault, such as `at $.rate.period`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Document;
    /// let document = Document::parse(r#"{ "name": "mail", "reservoir": 10, "timeWindow": 1000 }"#)?;
    /// assert_eq!(document.format(), "guild-queues reservoir");
    /// assert_eq!(document.definitions()?[0].name, "guild/mail:default");
    /// let error = Document::parse(r#"{ "limiters": { "api": { "throttle": { "every": "0s" } } } }"#).unwrap_err();
    /// assert!(error.message().starts_with("at $.limiters.api.throttle"), "{error}");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let value = json::parse(text)?;
        Ok(match Format::of(&value)? {
            Format::Native => Self::Native(native::Limits::read(&value)?),
            Format::Ojs => Self::Ojs(ojs::RateLimit::read(&value)?),
            Format::Task => Self::Task(TaskDefinition::read(&value)?),
            Format::Workflow => Self::Workflow(WorkflowDefinition::read(&value)?),
            Format::Control => Self::Control(RateLimitControl::read(&value)?),
            Format::Guild => Self::Guild(Reservoir::read(&value)?),
        })
    }

    /// Returns the limiters of the document. A workflow whose key depends on the run is an error; see
    /// [`Paddlegate::conductor_limiter`](crate::Paddlegate::conductor_limiter).
    pub fn definitions(&self) -> Result<Vec<Definition>> {
        self.definitions_with(&LoadOptions::default())
    }

    /// Returns the [`definitions`](Self::definitions) with the caller's options. `Invalid` names an option that the
    /// format does not support.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{Document, LoadOptions};
    /// let document = Document::parse(r#"{ "key": "stripe", "concurrency": 3 }"#)?;
    /// let options = LoadOptions { tenant: Some("acme"), ..LoadOptions::default() };
    /// assert_eq!(document.definitions_with(&options)?[0].name, "ojs/tenant/acme/key/stripe");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn definitions_with(&self, options: &LoadOptions<'_>) -> Result<Vec<Definition>> {
        let only = |known: &[&str]| options.only(known, self.format());
        match self {
            Self::Native(limits) => only(&[]).and_then(|()| limits.definitions()),
            Self::Ojs(policy) => {
                only(&["lock_timeout", "tenant"])?;
                Ok(vec![policy.definition(options.tenant, options.lock_timeout)?])
            }
            Self::Task(task) => {
                only(&["lock_timeout"])?;
                match options.lock_timeout {
                    None => task.definitions(),
                    Some(timeout) => TaskDefinition { response_timeout: timeout, ..task.clone() }.definitions(),
                }
            }
            Self::Workflow(workflow) => {
                only(&["lock_timeout"])?;
                workflow.definitions(options.lock_timeout.unwrap_or(LOCK_TIMEOUT))
            }
            Self::Control(control) => only(&[]).and_then(|()| control.definitions()),
            Self::Guild(reservoir) => {
                only(&["group"])?;
                options.group.map_or_else(|| reservoir.definitions(), |group| reservoir.in_group(group).definitions())
            }
        }
    }

    /// Returns the name of the format.
    pub const fn format(&self) -> &'static str {
        match self {
            Self::Native(_) => Format::Native.name(),
            Self::Ojs(_) => Format::Ojs.name(),
            Self::Task(_) => Format::Task.name(),
            Self::Workflow(_) => Format::Workflow.name(),
            Self::Control(_) => Format::Control.name(),
            Self::Guild(_) => Format::Guild.name(),
        }
    }
}

/// The format of a document, detected by its top-level members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Native,
    Ojs,
    Task,
    Workflow,
    Control,
    Guild,
}

impl Format {
    const ALL: [Self; 6] = [Self::Native, Self::Ojs, Self::Task, Self::Workflow, Self::Control, Self::Guild];

    /// Returns the only format whose members are present.
    fn of(value: &Value) -> Result<Self> {
        let Some(members) = value.as_object() else {
            return Err(Error::invalid("document", "at $: must be a JSON object"));
        };
        let fitting: Vec<Self> = Self::ALL.into_iter().filter(|format| format.fits(members)).collect();
        match fitting[..] {
            [format] => Ok(format),
            [] => {
                let known: Vec<String> = Self::ALL.iter().map(|f| format!("{} ({})", f.name(), f.needs())).collect();
                Err(Error::invalid("document", format!("at $: is in no known format; known are {}", known.join(", "))))
            }
            _ => {
                let names: Vec<&str> = fitting.iter().map(|format| format.name()).collect();
                Err(Error::invalid(
                    "document",
                    format!("at $: has members of several formats, give one: {}", names.join(", ")),
                ))
            }
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Native => "Paddlegate limits",
            Self::Ojs => "OJS rate limit",
            Self::Task => "Conductor task definition",
            Self::Workflow => "Conductor workflow definition",
            Self::Control => "Invantive rate limit control",
            Self::Guild => "guild-queues reservoir",
        }
    }

    const fn needs(self) -> &'static str {
        match self {
            Self::Native => "limiters",
            Self::Ojs => {
                "rate_limit or options.rate_limit of a job; or key, concurrency, rate, throttle, max_per_second, or limit \
                 with period"
            }
            Self::Task => {
                "rateLimitPerFrequency, rateLimitFrequencyInSeconds or concurrentExecLimit, also in snake case"
            }
            Self::Workflow => "rateLimitConfig, or a tag of the type RATE_LIMIT",
            Self::Control => "RateLimitControlList or RateLimitControlSlotList",
            Self::Guild => "reservoir with timeWindow or intervalMs, or with interval in milliseconds",
        }
    }

    fn fits(self, members: &Map<String, Value>) -> bool {
        let has = |name: &str| members.contains_key(name);
        let any = |names: &[&str]| names.iter().any(|name| has(name));
        match self {
            Self::Native => has("limiters"),
            Self::Ojs => {
                any(&["rate_limit", "key", "concurrency", "rate", "throttle", "max_per_second"])
                    || (has("limit") && has("period"))
                    || members.get("options").is_some_and(|options| options.get("rate_limit").is_some())
            }
            Self::Task => any(&[
                "rateLimitPerFrequency",
                "rateLimitFrequencyInSeconds",
                "concurrentExecLimit",
                "rate_limit_per_frequency",
                "rate_limit_frequency_in_seconds",
                "concurrent_exec_limit",
            ]),
            Self::Workflow => {
                let tags = members.get("tags").and_then(Value::as_array);
                let is_limit = |tag: &Value| tag.get("type").is_some_and(|kind| kind == "RATE_LIMIT");
                any(&["rateLimitConfig", "rate_limit_config"]) || tags.is_some_and(|tags| tags.iter().any(is_limit))
            }
            Self::Control => any(&["RateLimitControlList", "RateLimitControlSlotList"]),
            Self::Guild => {
                has("reservoir")
                    && (any(&["timeWindow", "intervalMs"]) || members.get("interval").is_some_and(Value::is_number))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_format_is_told_by_its_members() {
        for (value, format) in [
            (json!({"limiters": {}}), Format::Native),
            (json!({"rate_limit": {}}), Format::Ojs),
            (json!({"type": "api.call", "options": {"rate_limit": {}}}), Format::Ojs),
            (json!({"key": "a"}), Format::Ojs),
            (json!({"max_per_second": 1}), Format::Ojs),
            (json!({"limit": 1, "period": "1s"}), Format::Ojs),
            (json!({"name": "t", "rateLimitPerFrequency": 1}), Format::Task),
            (json!({"rateLimitFrequencyInSeconds": 1}), Format::Task),
            (json!({"concurrentExecLimit": 0}), Format::Task),
            (json!({"name": "t", "rate_limit_per_frequency": 1, "retry_count": 3}), Format::Task),
            (json!({"name": "w", "rate_limit_config": null}), Format::Workflow),
            (json!({"rateLimitConfig": {"rateLimitKey": "k", "concurrentExecLimit": 1}}), Format::Workflow),
            (json!({"name": "w", "tags": ["a", {"type": "RATE_LIMIT"}]}), Format::Workflow),
            (json!({"RateLimitControlList": null}), Format::Control),
            (json!({"RateLimitControlSlotList": []}), Format::Control),
            (json!({"reservoir": 5, "interval": 5000}), Format::Guild),
            (json!({"reservoir": 5, "timeWindow": 5000}), Format::Guild),
            (json!({"reservoir": 5, "intervalMs": 5000}), Format::Guild),
        ] {
            assert_eq!(Format::of(&value).unwrap(), format, "{value}");
        }
    }

    #[test]
    fn none_and_two_formats_are_refused_by_name() {
        for value in [
            json!({}),
            json!({"limit": 1}),
            json!({"reservoir": 5}),
            json!({"options": {"queue": "a"}}),
            json!({"tags": ["RATE_LIMIT"]}),
        ] {
            let error = Format::of(&value).unwrap_err();
            for format in Format::ALL {
                assert!(error.message().contains(format.name()) && error.message().contains(format.needs()), "{error}");
            }
        }
        let error = Format::of(&json!({"limiters": {}, "key": "a"})).unwrap_err();
        assert!(error.message().ends_with("Paddlegate limits, OJS rate limit"), "{error}");
        for value in [json!([]), json!(null), json!("limiters"), json!(1)] {
            assert!(Format::of(&value).is_err());
        }
    }
}
