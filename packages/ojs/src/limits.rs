//! The limits by key: their definitions, what a look at one shows, and how it is changed while the server runs.

use paddlegate::formats::ojs::RateLimit;
use paddlegate::{
    AdminCommand, Answer, Decision, InspectedLimit, Inspection, Kind, LOCK_TIMEOUT, Limit, LimitOverride, LimitSource,
    Limiter, Micros, MultiStep, Operation, Paddlegate, Page, Reason, Request, RuntimeState,
};
use serde_json::{Map, Value, json};

use crate::definition::Definition;
use crate::fault::Fault;
use crate::time::{iso8601, rfc3339};

/// What a key limits: a definition in force.
pub(crate) struct Key {
    /// The key as callers name it: `stripe`, or `queue/mail` for that of a queue.
    pub(crate) name: String,
    pub(crate) limiter: Limiter,
    /// The labels of the limits of its policy.
    strategies: Vec<String>,
}

/// Returns the name of the limiter of a key.
pub(crate) fn limiter_name(key: &str) -> Result<String, Fault> {
    match key.strip_prefix("queue/") {
        Some(queue) => {
            crate::enqueue::check_queue(queue)?;
            Ok(format!("ojs/queue/{queue}"))
        }
        None => Ok(RateLimit::parse(&json!({"key": key}).to_string())?.limiter_name(None)?),
    }
}

/// Returns the key that callers name for a limiter.
pub(crate) fn key_of(limiter: &str) -> &str {
    limiter.strip_prefix("ojs/key/").or_else(|| limiter.strip_prefix("ojs/")).unwrap_or(limiter)
}

/// Returns which strategy refused: a pause, by a worker's signal or an operator, is called `dynamic`.
pub(crate) fn strategy(decision: &Decision) -> String {
    if decision.reason == Some(Reason::Paused) {
        return "dynamic".to_owned();
    }
    decision.label.as_ref().map_or_else(|| "dynamic".to_owned(), ToString::to_string)
}

impl Key {
    /// Returns the limits of a definition. A lease lasts for `lease`.
    pub(crate) fn of(
        paddlegate: &Paddlegate,
        limiter: &str,
        definition: &Definition,
        lease: Option<Micros>,
    ) -> Result<Self, Fault> {
        let policy = definition.policy(lease.unwrap_or(LOCK_TIMEOUT))?;
        let (name, strategies) = (key_of(limiter).to_owned(), definition.strategies()?);
        Ok(Self { name, limiter: paddlegate.limiter(limiter, policy)?, strategies })
    }

    /// Returns the headers of an answer about this key; none when nothing limits it.
    pub(crate) async fn headers(&self) -> Result<Vec<(&'static str, String)>, Fault> {
        let decision = match self.limiter.run_async(Operation::Peek(Request::cost(1))).await? {
            Answer::Decision(decision) => decision,
            other => return Err(unexpected(&other)),
        };
        let (Some(limit), Some(remaining)) = (decision.limit, decision.remaining) else { return Ok(Vec::new()) };
        let mut headers =
            vec![("x-ratelimit-limit", limit.to_string()), ("x-ratelimit-remaining", remaining.to_string())];
        if let Some(after) = decision.retry_after {
            // The first full second at which a job would pass.
            headers.push(("x-ratelimit-reset", (decision.at.0 + after.0).div_ceil(1_000_000).to_string()));
        }
        Ok(headers)
    }

    /// Returns the state as the specification has it; a strategy that is not there is left out.
    pub(crate) async fn show(&self, waiting: u64) -> Result<Value, Fault> {
        let (state, inspection) = (self.state().await?, self.inspection().await?);
        let mut shown = json!({"key": self.name});
        for limit in &inspection.limits {
            let strategy = limit.label.to_string();
            // A limit that only overrides name shows when one rules it.
            if limit.source == LimitSource::Override || self.strategies.contains(&strategy) {
                shown[&*strategy] = show_limit(limit, &inspection);
            }
        }
        shown["waiting_count"] = waiting.into();
        if !state.overrides.is_empty() {
            let overrides = state.overrides.iter().map(|limit| (limit.label().to_string(), numbers(limit)));
            let mut overrides: Map<String, Value> = overrides.collect();
            if let Some(after) = state.expires_after {
                overrides.insert("expires_at".to_owned(), rfc3339(inspection.at.0 + after.0).into());
            }
            shown["override"] = overrides.into();
        }
        if let Some(paused_for) = inspection.paused_for {
            shown["paused_until"] = rfc3339(inspection.at.0 + paused_for.0).into();
        }
        Ok(shown)
    }

    /// Overrides what a document names, removes what it nulls, and keeps the rest.
    pub(crate) async fn change(&self, document: &Map<String, Value>) -> Result<(), Fault> {
        let text = Value::Object(document.clone()).to_string();
        run(self.limiter.override_procedure(&text)?).await.map(drop)
    }

    /// Ends every override.
    pub(crate) async fn restore(&self) -> Result<(), Fault> {
        let command = AdminCommand::Override { changes: &[LimitOverride::RemoveAll], expires: None };
        self.limiter.run_async(Operation::Admin { command }).await?;
        Ok(())
    }

    /// Pauses as an error of a worker says; a pause that ends later stays. Returns when it ends; none when the error is
    /// no signal.
    pub(crate) async fn signal(&self, error: &Value) -> Result<Option<u64>, Fault> {
        let procedure = self.limiter.pause_procedure(&error.to_string())?;
        if !run(procedure).await? {
            return Ok(None);
        }
        let inspection = self.inspection().await?;
        Ok(Some(inspection.at.0 + inspection.paused_for.unwrap_or_default().0))
    }

    /// Returns how many jobs have a slot.
    pub(crate) async fn active(&self) -> Result<u64, Fault> {
        Ok(self.inspection().await?.lease_count)
    }

    /// Forgets what was counted. Leases go too, so there must be none.
    pub(crate) async fn clear(&self) -> Result<(), Fault> {
        if self.inspection().await?.lease_count > 0 {
            return Err(Fault::conflict("jobs of this key are active, whose slots would be forgotten"));
        }
        self.limiter.run_async(Operation::Reset).await?;
        Ok(())
    }

    async fn state(&self) -> Result<RuntimeState, Fault> {
        match self.limiter.run_async(Operation::Admin { command: AdminCommand::Get }).await? {
            Answer::RuntimeState(state) => Ok(*state),
            other => Err(unexpected(&other)),
        }
    }

    async fn inspection(&self) -> Result<Inspection, Fault> {
        match self.limiter.run_async(Operation::Inspect { page: Page { offset: 0, count: 0 } }).await? {
            Answer::Inspection(inspection) => Ok(*inspection),
            other => Err(unexpected(&other)),
        }
    }
}

fn show_limit(limit: &InspectedLimit, inspection: &Inspection) -> Value {
    let at = |after: Micros| rfc3339(inspection.at.0 + after.0);
    let numbers =
        |name: &str, value: Value| json!({"limit": limit.limit, "period": iso8601(limit.interval), name: value});
    match limit.kind {
        Kind::Concurrency => {
            // A lower limit evicts nobody.
            let available = limit.limit.saturating_sub(limit.taken);
            json!({"limit": limit.limit, "active": limit.taken, "available": available})
        }
        Kind::Throttle => numbers("next_allowed_at", limit.next_after.map(at).into()),
        _ => {
            let mut shown = numbers("current_count", limit.taken.into());
            shown["window_resets_at"] = at(limit.reset_after).into();
            shown
        }
    }
}

fn numbers(limit: &Limit) -> Value {
    match limit.kind() {
        Kind::Concurrency => limit.amount().into(),
        _ => json!({"limit": limit.amount(), "period": iso8601(limit.interval())}),
    }
}

/// Runs the steps of a procedure on the runtime of the caller.
async fn run<P: MultiStep>(mut procedure: P) -> Result<P::Output, Fault> {
    loop {
        let outcome = match procedure.step() {
            Some((limiter, operation)) => limiter.run_async(operation).await,
            None => return Ok(procedure.outcome()?),
        };
        procedure.on_reply(outcome);
    }
}

fn unexpected(answer: &Answer) -> Fault {
    Fault::internal(format!("unexpected answer: {answer:?}"))
}
