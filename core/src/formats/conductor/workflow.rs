//! `WorkflowDefinition`: a limit on concurrent runs of a workflow, per key.

use serde_json::Value;

use super::task::{count, name};
use super::template::Template;
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::micros::Micros;
use crate::formats::field::Field;
use crate::formats::{Definition, room};
use crate::model::limit::{Limit, MAX_CONCURRENCY};
use crate::model::on_limit::OnLimit;
use crate::model::policy::Policy;

const PREFIX: &str = "conductor/workflow/";

/// The maximum length of a key, in bytes.
pub(super) const MAX_KEY: usize = room(PREFIX);

/// The limit of a workflow definition. Members other than `name`, `rateLimitConfig` and `tags` are ignored.
///
/// Each run has a key, and runs with the same key share a limiter. The older form is accepted too: a tag in `tags` with
/// the `type` `RATE_LIMIT`, whose `key` is the key and whose `value` is the limit. Members may be in snake case, as
/// `to_dict` of conductor-python writes them, also under the former names `tag` and `concurrentExecutionLimit`.
///
/// # Examples
///
/// ```
/// # use paddlegate::Micros;
/// # use paddlegate::formats::conductor::WorkflowDefinition;
/// # use serde_json::json;
/// let workflow = WorkflowDefinition::parse(
///     r#"{ "name": "order", "rateLimitConfig": {
///         "rateLimitKey": "${workflow.correlationId}", "concurrentExecLimit": 3
///     } }"#,
/// )?;
/// assert_eq!(workflow.key(&json!({ "correlationId": "a" }))?.as_deref(), Some("a"));
/// assert_eq!(workflow.key(&json!({}))?, None, "not limited");
/// assert_eq!(workflow.policy(Micros(30_000_000))?.limits()[0].amount(), 3, "runs with the same key");
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowDefinition {
    /// `name`: the name of the workflow, 1 to 493 bytes.
    pub name: String,
    /// `rateLimitKey`: the key with its variables. Absent or null: no run is limited.
    pub rate_limit_key: Option<Template>,
    /// `concurrentExecLimit`: concurrent runs per key, at most 100,000. Absent, null, 0 or negative: 0, which means no
    /// limit.
    pub concurrent_exec_limit: u64,
    /// `policy`: `QUEUE` (default) queues a run over the limit in start order, `REJECT` makes its start fail.
    pub on_limit: OnLimit,
}

impl WorkflowDefinition {
    /// Parses a definition; errors start with the JSON path of the fault.
    pub fn parse(text: &str) -> Result<Self> {
        Self::read(&json::parse(text)?)
    }

    pub(crate) fn read(value: &Value) -> Result<Self> {
        let field = Field::root(value);
        field.any_object()?;
        let mut workflow =
            Self { name: name(&field)?, rate_limit_key: None, concurrent_exec_limit: 0, on_limit: OnLimit::Wait };
        let mut limited = false;
        if let Some(config) = field.either("rateLimitConfig", "rate_limit_config")? {
            workflow.read_config(&config)?;
            limited = true;
        }
        if let Some(tags) = field.get("tags") {
            for tag in tags.list()? {
                if !is_limit(&tag)? {
                    continue;
                }
                if limited {
                    return Err(tag.fault("is a second rate limit; keep one, best the rateLimitConfig"));
                }
                workflow.read_tag(&tag)?;
                limited = true;
            }
        }
        Ok(workflow)
    }

    /// Returns the limiter name of a key: `conductor/workflow/` and the key.
    pub fn limiter_name(key: &str) -> String {
        format!("{PREFIX}{key}")
    }

    /// Returns the limiter name of runs without a key.
    pub(super) fn unlimited_name(&self) -> String {
        format!("conductor/unlimited/{}", self.name)
    }

    /// Returns the limiter of all runs, for a key without variables.
    ///
    /// A key with variables is an error, since its runs have different limiters.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Micros;
    /// # use paddlegate::formats::conductor::WorkflowDefinition;
    /// let workflow = WorkflowDefinition::parse(
    ///     r#"{ "name": "order", "rateLimitConfig": { "rateLimitKey": "orders", "concurrentExecLimit": 3 } }"#,
    /// )?;
    /// assert_eq!(workflow.definitions(Micros(30_000_000))?[0].name, "conductor/workflow/orders");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn definitions(&self, lock_timeout: Micros) -> Result<Vec<Definition>> {
        let key = match &self.rate_limit_key {
            None => None,
            Some(key) => key.text().map_err(|error| Error::invalid("document", error.message()))?,
        };
        let (name, policy) = match key {
            Some(key) if key.len() > MAX_KEY => {
                let message = format!(
                    "at $.name: the key of this workflow must have at most {MAX_KEY} bytes: bytes={}",
                    key.len()
                );
                return Err(Error::invalid("document", message));
            }
            Some(key) => (Self::limiter_name(&key), self.policy(lock_timeout)?),
            None => (self.unlimited_name(), Policy::new([Limit::unlimited()])?),
        };
        Ok(vec![Definition {
            name,
            policy,
            wait_timeout: None,
            ttl: None,
            group: None,
            keyed: false,
            statistics: true,
            on_limit: self.on_limit,
        }])
    }

    /// Returns the key of a run; `None` when the run is not limited, because a variable of the key is unknown or null
    /// or the key is empty.
    ///
    /// `workflow` is an object with the run's `input`, `correlationId` and `version`.
    pub fn key(&self, workflow: &Value) -> Result<Option<String>> {
        if !workflow.is_object() {
            return Err(Error::invalid("workflow", "must be an object with input, correlationId and version"));
        }
        self.rate_limit_key.as_ref().map_or(Ok(None), |key| key.resolve(workflow))
    }

    /// Returns the policy of one key: leases that last `lock_timeout` unless renewed, or unlimited without a limit.
    pub fn policy(&self, lock_timeout: Micros) -> Result<Policy> {
        match self.concurrent_exec_limit {
            0 => Policy::new([Limit::unlimited()]),
            limit => Policy::new([Limit::concurrency(limit, lock_timeout.duration())?]),
        }
    }

    fn read_config(&mut self, config: &Field<'_>) -> Result<()> {
        // An ignored misspelt member would remove the limit.
        config.object(&[
            "rateLimitKey",
            "rate_limit_key",
            "concurrentExecLimit",
            "concurrent_exec_limit",
            "policy",
            // The former names, which `to_dict` of conductor-python still writes, in snake case.
            "tag",
            "concurrentExecutionLimit",
            "concurrent_execution_limit",
        ])?;
        let key = config.either("rateLimitKey", "rate_limit_key")?;
        self.rate_limit_key = template(one_of(key, config.get("tag"))?)?;
        let limit = config.either("concurrentExecLimit", "concurrent_exec_limit")?;
        let former = config.either("concurrentExecutionLimit", "concurrent_execution_limit")?;
        self.concurrent_exec_limit = count(one_of(limit, former)?, MAX_CONCURRENCY)?;
        if let Some(policy) = config.get("policy") {
            self.on_limit = match policy.text()? {
                "QUEUE" => OnLimit::Wait,
                "REJECT" => OnLimit::Raise,
                _ => return Err(policy.fault("must be QUEUE or REJECT")),
            };
        }
        Ok(())
    }

    fn read_tag(&mut self, tag: &Field<'_>) -> Result<()> {
        tag.object(&["type", "key", "value"])?;
        self.rate_limit_key = template(tag.get("key"))?;
        self.concurrent_exec_limit = count(tag.get("value"), MAX_CONCURRENCY)?;
        Ok(())
    }
}

fn is_limit(tag: &Field<'_>) -> Result<bool> {
    tag.any_object()?;
    tag.get("type").map_or(Ok(false), |kind| Ok(kind.text()? == "RATE_LIMIT"))
}

fn one_of<'a>(field: Option<Field<'a>>, former: Option<Field<'a>>) -> Result<Option<Field<'a>>> {
    match (&field, former) {
        (Some(_), Some(former)) => Err(former.fault("is a former name of another member; give one of them")),
        (_, former) => Ok(field.or(former)),
    }
}

fn template(field: Option<Field<'_>>) -> Result<Option<Template>> {
    let Some(field) = field else { return Ok(None) };
    let template = field.text()?.parse();
    template.map(Some).map_err(|error: Error| field.fault(error.message()))
}
