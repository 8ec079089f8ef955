//! `OverrideProcedure`: the steps that apply an override to a limiter.

use super::amend::{Change, Expiry, Override};
use crate::base::error::{Error, Result};
use crate::base::micros::MAX_SPAN;
use crate::client::limiter::Limiter;
use crate::client::multi_step::MultiStep;
use crate::model::kind::Kind;
use crate::model::label::Label;
use crate::model::limit::{LOCK_TIMEOUT, Limit};
use crate::model::operation::{Answer, Content, Operation};
use crate::model::overrides::{AdminCommand, Deadline, LimitOverride, RuntimeState};
use crate::model::policy::Policy;
use crate::store::signal_handling::SignalHandling;

/// The steps that apply an [`Override`] to a limiter: read the runtime state, send the overrides.
#[derive(Clone, Debug)]
pub struct OverrideProcedure {
    limiter: Limiter,
    changes: Vec<LimitOverride>,
    expiry: Expiry,
    stage: Stage,
}

#[derive(Clone, Debug)]
enum Stage {
    ReadState,
    Order(Option<Deadline>),
    Over(Result<RuntimeState>),
}

impl Limiter {
    /// Applies an Open Job Spec override for all processes and returns the resulting runtime state.
    ///
    /// See [`Override::parse`] for the document: strategies that it omits stay unchanged, as does an earlier end; null
    /// removes an override. A strategy that the limiter does not have is overridden too, for the other policies of its
    /// name. `Invalid` contains the JSON path of a fault. Faults include a strategy that the limiter has twice, and an
    /// `expires_at` that is past or has no override to end.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Paddlegate};
    /// let workers = Paddlegate::memory().concurrent("workers", 5, Duration::from_secs(30))?;
    /// let state = workers.apply_ojs_override(r#"{ "concurrency": 2 }"#)?;
    /// assert_eq!(state.override_of("concurrency").map(Limit::amount), Some(2));
    /// let error = workers.apply_ojs_override(r#"{ "rate": { "limit": 0, "period": "PT1S" } }"#).unwrap_err();
    /// assert!(error.message().starts_with("at $.rate.limit: "), "{error}");
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
    /// assert_eq!(steps.outcome()?.override_of("concurrency").map(Limit::amount), Some(2));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn override_procedure(&self, document: &str) -> Result<OverrideProcedure> {
        let lease = self.policy().concurrency().map_or(LOCK_TIMEOUT, Limit::interval);
        let document = Override::parse(document, lease)?;
        let mut changes = Vec::new();
        let strategies = [
            ("concurrency", &[Kind::Concurrency][..], document.concurrency),
            ("rate", &[Kind::Window, Kind::Bucket], document.rate),
            ("throttle", &[Kind::Throttle], document.throttle),
        ];
        for (name, kinds, change) in strategies {
            changes.extend(changed(self.policy(), name, kinds, change)?);
        }
        Ok(OverrideProcedure { limiter: self.clone(), changes, expiry: document.expires_at, stage: Stage::ReadState })
    }
}

impl MultiStep for OverrideProcedure {
    type Output = RuntimeState;

    fn step(&self) -> Option<(&Limiter, Operation<'_>)> {
        let command = match &self.stage {
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
                if self.changes.is_empty() {
                    return Ok(Stage::Over(Ok(in_force)));
                }
                Ok(Stage::Order(expires))
            }
            (Stage::Order(_), _) => match runtime_state(outcome) {
                Err(error) if error.argument() == Some("expires_at") => Err(fault("expires_at", error.message())),
                outcome => Ok(Stage::Over(outcome)),
            },
            (Stage::Over(_), _) => Err(Error::internal("unexpected reply: no step is left")),
        }
    }

    fn sets(&self) -> bool {
        self.changes.iter().any(LimitOverride::sets)
    }

    /// A new end applies to all overrides, so existing overrides are sent again with that end.
    fn set_again(&mut self, in_force: &RuntimeState) -> Result<()> {
        for overridden in &in_force.overrides {
            let is_named = |change: &LimitOverride| match change {
                LimitOverride::Set(limit) => limit.label() == overridden.label(),
                LimitOverride::Remove(label) => label == overridden.label(),
                LimitOverride::RemoveAll => true,
                LimitOverride::Mode(_) | LimitOverride::RemoveMode => false,
            };
            if !self.changes.iter().any(is_named) {
                self.changes.push(LimitOverride::Set(overridden.clone()));
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

/// Returns the change of a strategy; `None` when the document omits it.
///
/// Where the policy has no such limit, the change is that of the limits which policies of this format have.
fn changed(policy: &Policy, name: &str, kinds: &[Kind], change: Change) -> Result<Option<LimitOverride>> {
    let mut found = policy.limits().iter().filter(|limit| kinds.contains(&limit.kind()));
    let (known, others) = (found.next(), found.next());
    if others.is_some() && change != Change::Keep {
        return Err(fault(name, "the limiter has several of these; override one by its label"));
    }
    Ok(match (change, known) {
        (Change::Keep, _) => None,
        (Change::Remove, Some(known)) => Some(LimitOverride::Remove(known.label().clone())),
        (Change::Remove, None) => Some(LimitOverride::Remove(Label::new(name)?)),
        (Change::Set(limit), None) => Some(LimitOverride::Set(limit.labelled(name)?)),
        // Window and bucket both limit a rate; the override keeps the limiter's kind.
        (Change::Set(limit), Some(known)) => {
            let limit = known.with_numbers(limit.amount(), limit.interval(), known.offset());
            Some(LimitOverride::Set(limit.map_err(|error| fault(name, error.message()))?))
        }
    })
}

fn runtime_state(outcome: Result<Answer>) -> Result<RuntimeState> {
    RuntimeState::of(outcome?)
}

fn fault(name: &str, message: &str) -> Error {
    Error::invalid("document", format!("at $.{name}: {message}"))
}
