//! `OverrideProcedure`: the steps that apply an override to a limiter.

use super::amend::{Expiry, Override};
use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, Micros};
use crate::client::limiter::{Limiter, unexpected};
use crate::client::multi_step::{MultiStep, decided};
use crate::model::limit::{Kind, LOCK_TIMEOUT, Limit};
use crate::model::operation::{Answer, Operation};
use crate::model::overrides::{AdminCommand, Deadline, LimitOverride, RuntimeState};
use crate::model::policy::Policy;
use crate::model::request::Request;
use crate::store::signal_handling::SignalHandling;

/// The steps that apply an [`Override`] to a limiter: read the clock if the override has an end, read the runtime
/// state, send the overrides.
#[derive(Clone, Debug)]
pub struct OverrideProcedure {
    limiter: Limiter,
    /// One per limit of the policy.
    changes: Vec<LimitOverride>,
    expiry: Expiry,
    stage: Stage,
}

#[derive(Clone, Debug)]
enum Stage {
    Clock,
    ReadState,
    Order(Option<Deadline>),
    Over(Result<RuntimeState>),
}

impl Limiter {
    /// Applies an Open Job Spec override for all processes and returns the resulting runtime state.
    ///
    /// See [`Override::parse`] for the document: strategies that it omits stay unchanged, as does an earlier end; null
    /// removes an override. `Invalid` contains the JSON path of a fault. Faults include a strategy that the limiter
    /// does not have or has twice, and an `expires_at` that is past or has no override to end.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Paddlegate};
    /// let workers = Paddlegate::memory().concurrent("workers", 5, Duration::from_secs(30))?;
    /// let state = workers.apply_ojs_override(r#"{ "concurrency": 2 }"#)?;
    /// assert_eq!(state.overrides[0].as_ref().map(Limit::amount), Some(2));
    /// let error = workers.apply_ojs_override(r#"{ "rate": { "limit": 5, "period": "PT1S" } }"#).unwrap_err();
    /// assert!(error.message().starts_with("at $.rate: "), "{error}");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn apply_ojs_override(&self, document: &str) -> Result<RuntimeState> {
        self.override_procedure(document)?.run(SignalHandling::Ignore)
    }

    /// [`apply_ojs_override`](Self::apply_ojs_override) for hosts that perform each step's I/O.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, MultiStep, Paddlegate, SignalHandling};
    /// let workers = Paddlegate::memory().concurrent("workers", 5, Duration::from_secs(30))?;
    /// let mut steps = workers.override_procedure(r#"{ "concurrency": 2 }"#)?;
    /// while let Some((limiter, operation)) = steps.step() {
    ///     let reply = limiter.run(operation, SignalHandling::Ignore); // or the I/O of the host
    ///     steps.on_reply(reply);
    /// }
    /// assert_eq!(steps.outcome()?.overrides[0].as_ref().map(Limit::amount), Some(2));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn override_procedure(&self, document: &str) -> Result<OverrideProcedure> {
        let lease = self.policy().concurrency().map_or(LOCK_TIMEOUT, Limit::interval);
        let document = Override::parse(document, lease)?;
        let mut changes = vec![LimitOverride::Keep; self.policy().limits().len()];
        let strategies = [
            ("concurrency", &[Kind::Concurrency][..], document.concurrency),
            ("rate", &[Kind::Window, Kind::Bucket], document.rate),
            ("throttle", &[Kind::Throttle], document.throttle),
        ];
        for (name, kinds, change) in strategies {
            if let Some((index, change)) = changed(self.policy(), name, kinds, change)? {
                changes[index] = change;
            }
        }
        let stage = match document.expires_at {
            Expiry::At(_) => Stage::Clock,
            Expiry::Keep | Expiry::Never => Stage::ReadState,
        };
        Ok(OverrideProcedure { limiter: self.clone(), changes, expiry: document.expires_at, stage })
    }
}

impl MultiStep for OverrideProcedure {
    type Output = RuntimeState;

    fn step(&self) -> Option<(&Limiter, Operation<'_>)> {
        let command = match &self.stage {
            Stage::Clock => return Some((&self.limiter, Operation::Peek(Request::cost(0)))),
            Stage::ReadState => AdminCommand::Get,
            &Stage::Order(expires) => AdminCommand::Override { changes: &self.changes, expires },
            Stage::Over(_) => return None,
        };
        Some((&self.limiter, Operation::Admin { command }))
    }

    fn on_reply(&mut self, outcome: Result<Answer>) {
        self.stage = self.next(outcome).unwrap_or_else(|error| Stage::Over(Err(error)));
    }

    fn outcome(self) -> Result<RuntimeState> {
        match self.stage {
            Stage::Over(answer) => answer,
            _ => Err(Error::internal("the override has steps left; run them before its outcome")),
        }
    }
}

impl OverrideProcedure {
    fn next(&mut self, outcome: Result<Answer>) -> Result<Stage> {
        match (&self.stage, self.expiry) {
            (Stage::Clock, Expiry::At(end)) => {
                check(end, decided(outcome)?.at)?;
                Ok(Stage::ReadState)
            }
            (Stage::ReadState, expiry) => {
                let in_force = runtime_state(outcome)?;
                let expires = match expiry {
                    // An override can end at most ten years from now.
                    Expiry::Keep if self.sets() => {
                        in_force.expires_after.map(|after| Deadline::After(after.min(MAX_SPAN)))
                    }
                    Expiry::Keep | Expiry::Never => None,
                    Expiry::At(end) => Some(Deadline::At(end)),
                };
                if expiry != Expiry::Keep {
                    self.set_again(&in_force)?;
                }
                Ok(Stage::Order(expires))
            }
            (Stage::Order(_), _) => runtime_state(outcome).map(|runtime_state| Stage::Over(Ok(runtime_state))),
            (Stage::Clock | Stage::Over(_), _) => Err(Error::internal("unexpected reply: no step is left")),
        }
    }

    fn sets(&self) -> bool {
        self.changes.iter().any(|change| matches!(change, LimitOverride::Set(_)))
    }

    /// A new end applies to all overrides, so existing overrides are sent again with that end.
    fn set_again(&mut self, in_force: &RuntimeState) -> Result<()> {
        for (change, overridden) in self.changes.iter_mut().zip(&in_force.overrides) {
            if let (LimitOverride::Keep, Some(overridden)) = (&*change, overridden) {
                *change = LimitOverride::Set(overridden.clone());
            }
        }
        if self.sets() {
            return Ok(());
        }
        match self.expiry {
            Expiry::At(_) => Err(fault("expires_at", "there is no override to end; give one beside it")),
            Expiry::Keep | Expiry::Never => Ok(()),
        }
    }
}

fn check(end: Micros, now: Micros) -> Result<()> {
    if end > now { Ok(()) } else { Err(fault("expires_at", "is past; give a later time")) }
}

/// Returns the changed limit and its index; `None` when the document omits the strategy or removes one that the limiter
/// does not have.
fn changed(
    policy: &Policy,
    name: &str,
    kinds: &[Kind],
    change: LimitOverride,
) -> Result<Option<(usize, LimitOverride)>> {
    let mut found = policy.limits().iter().enumerate().filter(|(_, limit)| kinds.contains(&limit.kind()));
    let (index, known, change) = match (change, found.next()) {
        (LimitOverride::Keep, _) | (LimitOverride::Remove, None) => return Ok(None),
        (LimitOverride::Set(_), None) => {
            return Err(fault(name, "the limiter has no such limit; give its policy one to override"));
        }
        (change, Some((index, known))) => (index, known, change),
    };
    if found.next().is_some() {
        return Err(fault(name, "the limiter has several of these; override one by its index"));
    }
    let LimitOverride::Set(limit) = change else { return Ok(Some((index, change))) };
    // Window and bucket both limit a rate; the override keeps the limiter's kind.
    let limit = Limit::of_kind(known.kind(), limit.amount(), limit.interval(), known.offset());
    Ok(Some((index, LimitOverride::Set(limit.map_err(|error| fault(name, error.message()))?))))
}

fn runtime_state(outcome: Result<Answer>) -> Result<RuntimeState> {
    match outcome? {
        Answer::RuntimeState(runtime_state) => Ok(*runtime_state),
        other => Err(unexpected(&other)),
    }
}

fn fault(name: &str, message: &str) -> Error {
    Error::invalid("document", format!("at $.{name}: {message}"))
}
