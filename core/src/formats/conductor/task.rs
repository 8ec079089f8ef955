//! `TaskDefinition`: limits on the rate and the number of concurrent tasks.

use serde_json::Value;

use crate::base::error::Result;
use crate::base::json;
use crate::base::micros::{MAX_SPAN, Micros};
use crate::formats::field::Field;
use crate::formats::{Definition, room};
use crate::model::limit::{Limit, MAX_CONCURRENCY, MAX_WINDOW};
use crate::model::on_limit::OnLimit;
use crate::model::policy::Policy;

/// The default time a worker keeps a task without an update: an hour, as in the server and in its schema of a task definition.
pub const RESPONSE_TIMEOUT: Micros = Micros(3_600_000_000);

/// The limits of a task definition. Other members are ignored. Members may be in snake case, as `to_dict` of
/// conductor-python writes them.
///
/// # Examples
///
/// ```
/// # use paddlegate::formats::conductor::TaskDefinition;
/// let task = r#"{ "name": "encode", "rateLimitPerFrequency": 12, "rateLimitFrequencyInSeconds": 5 }"#;
/// let definitions = TaskDefinition::parse(task)?.definitions()?;
/// assert_eq!(definitions[0].name, "conductor/task/encode");
/// assert_eq!(definitions[0].policy.limits()[0].amount(), 12);
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskDefinition {
    /// `name`: the name of the task, 1 to 493 bytes.
    pub name: String,
    /// `rateLimitPerFrequency`: tasks in any interval, at most 100,000. Absent, null, 0 or negative: 0, which means no
    /// limit.
    pub rate_limit_per_frequency: u64,
    /// `rateLimitFrequencyInSeconds`: the interval. Absent or null: one second. 0 or negative: zero, which means no
    /// limit.
    pub rate_limit_frequency: Micros,
    /// `concurrentExecLimit`: concurrent tasks, at most 100,000. Absent, null, 0 or negative: 0, which means no limit.
    pub concurrent_exec_limit: u64,
    /// `responseTimeoutSeconds`: the lifetime of a lease. Absent, null, 0 or negative: [`RESPONSE_TIMEOUT`].
    pub response_timeout: Micros,
}

impl TaskDefinition {
    /// Parses a definition; errors start with the JSON path of the fault.
    pub fn parse(text: &str) -> Result<Self> {
        Self::read(&json::parse(text)?)
    }

    pub(crate) fn read(value: &Value) -> Result<Self> {
        let field = Field::root(value);
        field.any_object()?;
        let frequency = match field.either("rateLimitFrequencyInSeconds", "rate_limit_frequency_in_seconds")? {
            None => Micros(1_000_000),
            Some(frequency) => seconds(&frequency)?,
        };
        let timeout = match field.either("responseTimeoutSeconds", "response_timeout_seconds")? {
            None => Micros(0),
            Some(timeout) => seconds(&timeout)?,
        };
        Ok(Self {
            name: name(&field)?,
            rate_limit_per_frequency: count(
                field.either("rateLimitPerFrequency", "rate_limit_per_frequency")?,
                MAX_WINDOW,
            )?,
            rate_limit_frequency: frequency,
            concurrent_exec_limit: count(
                field.either("concurrentExecLimit", "concurrent_exec_limit")?,
                MAX_CONCURRENCY,
            )?,
            response_timeout: if timeout == Micros(0) { RESPONSE_TIMEOUT } else { timeout },
        })
    }

    /// Returns one limiter, `conductor/task/` and the name of the task: leases for the concurrency limit and a sliding
    /// window for the rate, checked together. Unlimited when the definition limits nothing. A task over the limit
    /// waits. Definitions of one name share its running and started tasks, whatever each of them limits.
    pub fn definitions(&self) -> Result<Vec<Definition>> {
        let mut limits = Vec::new();
        if self.concurrent_exec_limit > 0 {
            limits.push(Limit::concurrency(self.concurrent_exec_limit, self.response_timeout.duration())?);
        }
        if self.rate_limit_per_frequency > 0 && self.rate_limit_frequency > Micros(0) {
            limits.push(Limit::window(self.rate_limit_per_frequency, self.rate_limit_frequency.duration())?);
        }
        if limits.is_empty() {
            limits.push(Limit::unlimited());
        }
        Ok(vec![Definition {
            name: format!("conductor/task/{}", self.name),
            policy: Policy::new(limits)?,
            wait_timeout: None,
            ttl: None,
            group: None,
            keyed: false,
            statistics: true,
            on_limit: OnLimit::Wait,
        }])
    }
}

/// The maximum length of the name of a task or workflow, in bytes.
const MAX_DEFINITION_NAME: usize = room("conductor/workflow/");

/// Reads the name of a definition.
pub(super) fn name(field: &Field<'_>) -> Result<String> {
    let name = field.need("name")?;
    let text = name.text()?;
    if text.is_empty() || text.len() > MAX_DEFINITION_NAME {
        return Err(name.fault(format!("must have 1 to {MAX_DEFINITION_NAME} bytes: bytes={}", text.len())));
    }
    Ok(text.to_owned())
}

/// Reads a number whose zero and negative values mean no limit.
pub(super) fn count(field: Option<Field<'_>>, most: u64) -> Result<u64> {
    let Some(field) = field else { return Ok(0) };
    let count = field.clamped()?;
    if count > most {
        return Err(field.fault(format!("must be at most {most}, or 0 for no limit: limit={count}")));
    }
    Ok(count)
}

/// Reads seconds; negative values are zero.
fn seconds(field: &Field<'_>) -> Result<Micros> {
    let seconds = field.clamped()?;
    match seconds.checked_mul(1_000_000) {
        Some(micros) if micros <= MAX_SPAN.0 => Ok(Micros(micros)),
        _ => Err(field.fault(format!("must be at most ten years: seconds={seconds}"))),
    }
}
