//! Several calls on the caller's thread, the calls of a node in one write.

use std::time::{Duration, Instant};

use super::super::call::Call;
use super::super::config::Address;
use super::super::route::Next;
use super::super::session::Completion;
use super::super::{Connections, Redis};
use super::{Connection, Waiter, run};
use crate::base::clock::monotonic;
use crate::base::error::{Cause, Error, Result};
use crate::model::operation::Answer;
use crate::store::signal_handling::SignalHandling;

/// How long the replies of a node are read after the deadline: while another node was silent, they have arrived.
const ARRIVED: Duration = Duration::from_millis(10);

/// The calls of one node, with their places among all.
type OfNode = (Address, Vec<(usize, Call)>);

/// Calls that were written to a node.
struct Exchange {
    node: Address,
    connection: Connection,
    count: usize,
    written: Result<()>,
}

/// Runs calls to completion, or until the deadline. Each has a result of its own, in their order.
///
/// All are written before the replies of the first node are read, so that a node that is silent does not hold up others.
pub(crate) fn run_several(
    redis: &Redis,
    process: &Connections,
    calls: Vec<Call>,
    interrupt: SignalHandling<'_>,
    deadline: Instant,
) -> Vec<Result<Answer>> {
    let mut results: Vec<Option<Result<Answer>>> = calls.iter().map(|_| None).collect();
    let mut waiter = Waiter { deadline, interrupt };
    let (mut begun, mut unconnected, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for (node, calls) in by_node(redis, process, calls) {
        match process.pool.take(&node) {
            Some(connection) => match Exchange::begin(node.clone(), connection, calls, &mut waiter) {
                Ok(exchange) => begun.push(exchange),
                Err(calls) => {
                    // The server closed its end after the last call.
                    process.pool.clear(&node);
                    again.extend(calls);
                }
            },
            None => unconnected.push((node, calls)),
        }
    }
    let mut end = |exchange: Exchange, waiter: &mut Waiter<'_>| {
        for Completion { ticket, outcome } in exchange.end(redis, process, waiter) {
            let Ok(at) = usize::try_from(ticket) else { continue };
            match process.routes.next(outcome, waiter.left()) {
                Next::Done(result) => results[at] = Some(result),
                Next::Send(call) => again.push((at, call)),
                Next::SendAfter(call, pause) => match waiter.pause(pause) {
                    Ok(()) => again.push((at, call)),
                    Err(error) => results[at] = Some(Err(error)),
                },
            }
        }
    };
    for exchange in begun {
        end(exchange, &mut waiter);
    }
    let mut alone = Vec::new();
    for (node, calls) in unconnected {
        match Connection::open(redis, &node, &waiter) {
            Ok(connection) => match Exchange::begin(node, connection, calls, &mut waiter) {
                Ok(exchange) => end(exchange, &mut waiter),
                Err(calls) => alone.extend(calls),
            },
            Err(_) => alone.extend(calls),
        }
    }
    for (at, call) in again.into_iter().chain(alone) {
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

impl Exchange {
    /// Writes the calls, whose tickets are their places. Returns them if the connection took nothing of them.
    fn begin(
        node: Address,
        mut connection: Connection,
        calls: Vec<(usize, Call)>,
        waiter: &mut Waiter<'_>,
    ) -> std::result::Result<Self, Vec<(usize, Call)>> {
        let count = calls.len();
        for (at, call) in calls {
            connection.session.submit(at as u64, call);
        }
        let (written, took_some) = connection.write(waiter);
        match written {
            Err(error) if !took_some && error.cause() != Cause::Signal => {
                let calls = connection.session.recall(0).into_iter();
                Err(calls.filter_map(|(ticket, call)| Some((usize::try_from(ticket).ok()?, call))).collect())
            }
            written => Ok(Self { node, connection, count, written }),
        }
    }

    /// Reads the replies. Gives the connection back to the pool, unless it failed.
    fn end(self, redis: &Redis, process: &Connections, waiter: &mut Waiter<'_>) -> Vec<Completion> {
        let Self { node, mut connection, count, mut written } = self;
        let (mut finished, mut buffer, mut is_sound) = (Vec::with_capacity(count), [0; 4_096], true);
        let deadline = waiter.deadline;
        waiter.deadline = deadline.max(monotonic() + ARRIVED);
        while finished.len() < count {
            let received = written.and_then(|()| {
                let size = waiter.read(&mut connection.socket, &mut buffer)?;
                connection.session.receive(&buffer[..size], &mut finished)
            });
            if let Err(error) = received {
                finished.extend(connection.session.fail(&error));
                is_sound = false;
                break;
            }
            written = if finished.len() < count { connection.write(waiter).0 } else { Ok(()) };
        }
        waiter.deadline = deadline.min(waiter.deadline);
        connection.used_at = monotonic();
        if is_sound && connection.session.is_reusable() {
            process.pool.put(&node, connection);
        } else {
            process.pool.clear(&node);
            process.routes.forget(&redis.location, &node);
        }
        finished
    }
}

impl Connection {
    /// Writes what is to be written. Returns also whether the connection took some of it.
    fn write(&mut self, waiter: &mut Waiter<'_>) -> (Result<()>, bool) {
        let output = self.session.output();
        let mut left = &output[..];
        let written = waiter.write(&mut self.socket, &mut left);
        // Of calls that were written in part the server may have received some.
        let unknown = |error: Error| Error::unknown_outcome(error.message()).because(error.cause());
        (written.map_err(unknown), left.len() < output.len())
    }
}
