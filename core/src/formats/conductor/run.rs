//! The limiter of one workflow run.

use super::workflow::{MAX_KEY, WorkflowDefinition};
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::micros::Micros;
use crate::client::paddlegate::Paddlegate;
use crate::formats::load::LoadedLimiter;
use crate::model::limit::{LOCK_TIMEOUT, Limit};
use crate::model::policy::Policy;

impl Paddlegate {
    /// Returns the limiter of a run of a Conductor workflow. Its name is the [`WorkflowDefinition::limiter_name`] of
    /// the run's [key](WorkflowDefinition::key).
    ///
    /// `run` is a JSON object with `input`, `correlationId` and `version`, as far as the key needs them. A run without
    /// a key has an unlimited limiter, which counts nothing. A lease that is not renewed ends after `lock_timeout`,
    /// default 30 seconds. `Invalid` names `definition`, `run` or `lock_timeout`. Does no I/O.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Paddlegate;
    /// let definition = r#"{ "name": "order", "rateLimitConfig": {
    ///     "rateLimitKey": "${workflow.input.customer}", "concurrentExecLimit": 3
    /// } }"#;
    /// let pg = Paddlegate::memory();
    /// let limited = pg.conductor_limiter(definition, r#"{ "input": { "customer": "acme" } }"#, None)?;
    /// assert_eq!(limited.limiter.name(), "conductor/workflow/acme");
    /// let unlimited = pg.conductor_limiter(definition, r#"{ "input": {} }"#, None)?;
    /// assert!(unlimited.limiter.policy().limits().is_empty());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn conductor_limiter(
        &self,
        definition: &str,
        run: &str,
        lock_timeout: Option<Micros>,
    ) -> Result<LoadedLimiter> {
        let named = |name: &'static str| move |error: Error| Error::invalid(name, error.message());
        let definition = WorkflowDefinition::parse(definition).map_err(named("definition"))?;
        let key = json::parse(run).and_then(|run| definition.key(&run)).map_err(named("run"))?;
        // An invalid time-out is an error for every run, also for one without a key.
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
