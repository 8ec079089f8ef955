//! `LastKnown`: the last decision of the store, from which a process continues alone.

use crate::base::error::Result;
use crate::base::micros::{MAX_TIME, Micros};
use crate::client::limiter::Limiter;
use crate::model::decision::Decision;
use crate::model::label::Label;
use crate::model::overrides::{AdminCommand, Deadline};
use crate::model::reason::Reason;
use crate::store::fork_safe::ForkSafe;

/// The last decision of the store, until a process begins to decide alone.
#[derive(Debug)]
pub(crate) struct LastKnown(ForkSafe<Option<Snapshot>>);

#[derive(Clone, Debug)]
struct Snapshot {
    /// `None` for a pause.
    label: Option<Label>,
    remaining: u64,
    /// By the clock of this process.
    paused_until: Option<Micros>,
}

impl Default for LastKnown {
    fn default() -> Self {
        Self(ForkSafe::new(None))
    }
}

impl LastKnown {
    pub(crate) fn update(&self, decision: &Decision, now: u64) {
        let Some(remaining) = decision.remaining else { return };
        let is_closed = matches!(decision.reason, Some(Reason::Paused | Reason::Blocked));
        let pause = decision.retry_after.filter(|_| is_closed);
        let paused_until = pause.map(|pause| Micros(now + pause.0));
        let snapshot = Snapshot { label: decision.label.clone(), remaining, paused_until };
        *self.0.lock(|| None) = Some(snapshot);
    }

    /// Takes over the last decision of the store into the limits of this process, once; concurrent callers wait until
    /// it is done.
    pub(crate) fn seed(&self, local: &Limiter) -> Result<()> {
        let mut last = self.0.lock(|| None);
        let Some(snapshot) = &*last else { return Ok(()) };
        let position = snapshot.label.as_ref().and_then(|label| local.policy().position(label));
        if let Some(position) = position {
            local.transact(local.policy(), |transaction| transaction.seed_local(position, snapshot.remaining))?;
        } else if let Some(at) = snapshot.paused_until.filter(|until| until.0 > local.now()) {
            // It may end before this call.
            local.admin(AdminCommand::Pause(Deadline::Within { at, most: MAX_TIME }))?;
        }
        *last = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::client::paddlegate::Paddlegate;
    use crate::model::kind::Kind;
    use crate::model::request::Request;

    #[test]
    fn threads_wait_while_another_seeds_the_local_limiter() {
        // Enough leases that adding them takes a while.
        let local = Paddlegate::memory().concurrent("alone", 5_000, Duration::from_secs(3_600)).unwrap();
        let known = LastKnown(ForkSafe::new(Some(Snapshot {
            label: Some(Label::of(Kind::Concurrency)),
            remaining: 0,
            paused_until: None,
        })));
        let barrier = Barrier::new(8);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    barrier.wait();
                    known.seed(&local).unwrap();
                    assert_eq!(local.peek(Request::cost(0)).unwrap().remaining, Some(0));
                });
            }
        });
    }
}
