//! Changes on the condition that nobody has changed the limiter since.

use super::{Limiter, StateLocation};
use crate::base::error::{Error, Result};
use crate::client::prepared::Prepared;
use crate::engine::state::State;
use crate::engine::transaction::Transaction;
use crate::model::operation::{Answer, Operation};
use crate::model::overrides::AdminCommand;
use crate::store::redis::Stopped;

/// A change that [`Limiter::prepare_if_version`] returned.
pub struct ChangeIfVersion {
    prepared: Option<Prepared>,
    stopped: Stopped,
}

impl Limiter {
    /// Starts a change, `Admin` or `Reset`, on the condition that [`RuntimeState::version`](crate::RuntimeState::version) is one
    /// of these. The store compares and changes in one step.
    ///
    /// `Invalid` for another operation.
    pub fn prepare_if_version(&self, operation: Operation<'_>, versions: &[u64]) -> Result<ChangeIfVersion> {
        if !matches!(operation, Operation::Admin { .. } | Operation::Reset) {
            return Err(Error::invalid("operation", "must be an admin command or a reset"));
        }
        if matches!((&self.inner.location, &operation), (StateLocation::Stateless, Operation::Admin { .. })) {
            return self.named().prepare_if_version(operation, versions);
        }
        let stopped = Stopped::default();
        let prepared = if matches!(self.inner.location, StateLocation::Memory { .. }) {
            self.change_memory_if(operation, versions)?
        } else {
            Some(match self.prepare(operation)? {
                Prepared::Call(call) => Prepared::Call(call.if_version(versions, &stopped)?),
                answered @ Prepared::Answered(_) => answered,
            })
        };
        Ok(ChangeIfVersion { prepared, stopped })
    }

    /// Makes such a change. `None` when the version was another one: nothing was changed.
    pub async fn run_if_version(&self, change: ChangeIfVersion) -> Result<Option<Answer>> {
        let ChangeIfVersion { prepared, stopped } = change;
        match prepared {
            None => Ok(None),
            Some(Prepared::Answered(answer)) => Ok(Some(answer)),
            Some(Prepared::Call(call)) => {
                let answer = self.send_async(call).await?;
                Ok(stopped.get().is_none().then_some(answer))
            }
        }
    }

    fn change_memory_if(&self, operation: Operation<'_>, versions: &[u64]) -> Result<Option<Prepared>> {
        // It fails as the change would.
        self.prepare(Operation::Admin { command: AdminCommand::Get })?;
        let now = self.now();
        let is_known = |state: &State| {
            let version = state.overrides.as_deref().map_or(0, |overrides| overrides.runtime_state(now).version);
            versions.contains(&version)
        };
        let Operation::Admin { command } = operation else {
            let mut state = self.cell()?.lock(State::default);
            return Ok(is_known(&state).then(|| {
                *state = State::default();
                Prepared::Answered(Answer::Reset)
            }));
        };
        command.check(&self.inner.policy)?;
        let policy = command.policy(&self.inner.policy)?;
        let change =
            |transaction: Transaction<'_>| is_known(transaction.state).then(|| transaction.admin(&command)).transpose();
        let state = self.transact(&policy, change)??;
        Ok(state.map(|state| Prepared::Answered(Answer::RuntimeState(Box::new(state)))))
    }
}
