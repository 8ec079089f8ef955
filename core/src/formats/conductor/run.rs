//! The limiter of one run of a workflow.

use super::workflow::{MAX_KEY, WorkflowDefinition};
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::micros::Micros;
use crate::client::paddlegate::Paddlegate;
use crate::formats::load::LoadedLimiter;
use crate::model::limit::{LOCK_TIMEOUT, Limit};
use crate::model::policy::Policy;

impl Paddlegate {
    /// The limiter of a run of a Conductor workflow: that of its [key](WorkflowDefinition::key), whose name is
    /// [`WorkflowDefinition::limiter_name`].
    ///
    /// `run` is a JSON object with `input`, `correlationId` and `version`, as far as the key needs them. A run without a
    /// key has an unlimited limiter, which keeps no state. A lease that is not renewed ends after `lock_timeout`,
    /// default 30 seconds. `Invalid` names `definition`, `run` or `lock_timeout`. Asks no server.
    pub fn workflow(&self, definition: &str, run: &str, lock_timeout: Option<Micros>) -> Result<LoadedLimiter> {
        let named = |name: &'static str| move |error: Error| Error::invalid(name, error.message());
        let definition = WorkflowDefinition::parse(definition).map_err(named("definition"))?;
        let key = json::parse(run).and_then(|run| definition.key(&run)).map_err(named("run"))?;
        // A time-out that is wrong is wrong for every run.
        let policy = definition.policy(lock_timeout.unwrap_or(LOCK_TIMEOUT))?;
        let limiter = match key {
            Some(key) if key.len() > MAX_KEY => {
                let message = format!("its key must have at most {MAX_KEY} bytes: bytes={}", key.len());
                return Err(Error::invalid("run", message));
            }
            Some(key) => self.limiter(&WorkflowDefinition::limiter_name(&key), policy)?,
            None => self.limiter(&definition.unlimited_name(), Policy::new([Limit::unlimited()])?)?,
        };
        Ok(LoadedLimiter { limiter, wait_timeout: None, on_limit: definition.on_limit })
    }
}
