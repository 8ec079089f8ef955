//! Several calls on the caller's thread, those of a node in one write.

use std::time::Instant;

use super::super::call::Call;
use super::super::config::Address;
use super::super::route::Next;
use super::super::session::Completion;
use super::super::{Connections, Redis};
use super::{Connection, Waiter, run};
use crate::base::clock::monotonic;
use crate::base::error::{Error, Result};
use crate::model::operation::Answer;
use crate::store::signal_handling::SignalHandling;

/// The calls of one node, with their places among all.
type OfNode = (Address, Vec<(usize, Call)>);

/// Runs calls to completion, or until the deadline. Each has a result of its own, in their order.
pub(crate) fn run_several(
    redis: &Redis,
    process: &Connections,
    calls: Vec<Call>,
    interrupt: SignalHandling<'_>,
    deadline: Instant,
) -> Vec<Result<Answer>> {
    let mut results: Vec<Option<Result<Answer>>> = calls.iter().map(|_| None).collect();
    let mut alone = Vec::new();
    for (node, calls) in by_node(redis, process, calls) {
        let mut waiter = Waiter { deadline, interrupt };
        let connection = match process.pool.take(&node) {
            _ if calls.len() == 1 => None,
            Some(connection) => Some(connection),
            None => Connection::open(redis, &node, &waiter).ok(),
        };
        let Some(connection) = connection else {
            alone.extend(calls);
            continue;
        };
        let (connection, finished) = connection.exchange_several(calls, &mut waiter);
        if let Some(connection) = connection {
            process.pool.put(&node, connection);
        } else {
            process.pool.clear(&node);
            process.routes.forget(&redis.location, &node);
        }
        for Completion { ticket, outcome } in finished {
            let Ok(at) = usize::try_from(ticket) else { continue };
            match process.routes.next(outcome, waiter.left()) {
                Next::Done(result) => results[at] = Some(result),
                Next::Send(call) => alone.push((at, call)),
                Next::SendAfter(call, pause) => match waiter.pause(pause) {
                    Ok(()) => alone.push((at, call)),
                    Err(error) => results[at] = Some(Err(error)),
                },
            }
        }
    }
    if redis.is_closed() {
        process.pool.clear_all();
    }
    for (at, call) in alone {
        results[at] = Some(run(redis, process, call, interrupt, deadline));
    }
    let lost = || Err(Error::internal("a call was lost"));
    results.into_iter().map(|result| result.unwrap_or_else(lost)).collect()
}

fn by_node(redis: &Redis, process: &Connections, calls: Vec<Call>) -> Vec<OfNode> {
    let mut nodes: Vec<OfNode> = Vec::new();
    for (at, call) in calls.into_iter().enumerate() {
        let node = process.routes.node(&redis.location, &call);
        match nodes.iter_mut().find(|(known, _)| *known == node) {
            Some((_, calls)) => calls.push((at, call)),
            None => nodes.push((node, vec![(at, call)])),
        }
    }
    nodes
}

impl Connection {
    /// Sends the calls, whose tickets are their places, and reads their replies. Returns the connection too, unless it failed.
    fn exchange_several(
        mut self,
        calls: Vec<(usize, Call)>,
        waiter: &mut Waiter<'_>,
    ) -> (Option<Self>, Vec<Completion>) {
        let count = calls.len();
        for (at, call) in calls {
            self.session.submit(at as u64, call);
        }
        let (mut finished, mut buffer) = (Vec::with_capacity(count), [0; 4_096]);
        while finished.len() < count {
            let output = self.session.output();
            // Of calls that were written in part the server may have received some.
            let unknown = |error: Error| Error::unknown_outcome(error.message()).because(error.cause());
            let received = waiter.write(&mut self.socket, &output).map_err(unknown).and_then(|()| {
                let size = waiter.read(&mut self.socket, &mut buffer)?;
                self.session.receive(&buffer[..size], &mut finished)
            });
            if let Err(error) = received {
                finished.extend(self.session.fail(&error));
                return (None, finished);
            }
        }
        self.used_at = monotonic();
        (self.session.is_reusable().then_some(self), finished)
    }
}
