//! Calls on tokio: one connection per node and runtime, shared by all tasks, with automatic batching.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::{Handle, Id};
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use super::blocking::{MAX_IDLE, TRUSTED};
use super::call::{Call, CallOutcome};
use super::config::{Address, RedisConfig};
use super::route::{self, Next};
use super::sentinel::SentinelQuery;
use super::session::{Completion, ConnectionState};
use super::socket::keep_alive;
use super::{Connections, Redis, tls};
use crate::base::clock::monotonic;
use crate::base::error::{Cause, Error, Result};
use crate::base::locked;
use crate::model::operation::Answer;

/// The maximum number of pending calls sent in one write. The server decides on some calls while the client makes others: with
/// all in one write, each would wait for the other.
const BATCH: usize = 32;

/// Pause before a connection attempt is repeated on a Unix socket whose backlog is full.
const RETRY: Duration = Duration::from_millis(5);

/// The connections of one process, by node and runtime.
#[derive(Default)]
pub(crate) struct Links {
    /// There are few, so that a search is quicker than a hash.
    all: Mutex<Vec<Link>>,
}

struct Link {
    node: Address,
    runtime: Id,
    submissions: mpsc::UnboundedSender<Submission>,
}

struct Submission {
    call: Call,
    reply: oneshot::Sender<Carried>,
}

/// The result of a call on one connection. A call that was certainly not sent is returned.
enum Carried {
    Completion(Box<CallOutcome>),
    Unsent {
        call: Box<Call>,
        error: Error,
        /// Whether the connection had been opened.
        had_worked: bool,
    },
}

/// Where the outcomes of submitted calls go, by ticket. Nearly all come in the order of the tickets.
#[derive(Default)]
struct Waiting {
    /// The ticket of the first in the queue, which is not taken.
    first: u64,
    /// The ticket of the next call.
    next: u64,
    queue: VecDeque<Option<oneshot::Sender<Carried>>>,
}

impl Waiting {
    /// Adds a call and returns its ticket.
    fn push(&mut self, reply: oneshot::Sender<Carried>) -> u64 {
        self.queue.push_back(Some(reply));
        self.next += 1;
        self.next - 1
    }

    fn take(&mut self, ticket: u64) -> Option<oneshot::Sender<Carried>> {
        let at = usize::try_from(ticket.checked_sub(self.first)?).ok()?;
        let reply = self.queue.get_mut(at)?.take();
        self.drop_taken();
        reply
    }

    /// Removes the calls whose callers are gone.
    fn drop_closed(&mut self) {
        for reply in &mut self.queue {
            reply.take_if(|reply| reply.is_closed());
        }
        self.drop_taken();
    }

    fn drop_taken(&mut self) {
        while let Some(None) = self.queue.front() {
            self.queue.pop_front();
            self.first += 1;
        }
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

/// Runs a call to completion, or fails at the deadline. Dropping the future does not cancel a call that was sent.
pub(crate) async fn run(redis: &Redis, process: &Connections, mut call: Call) -> Result<Answer> {
    let Connections { links, routes, .. } = process;
    let deadline = monotonic() + redis.timeout().duration();
    loop {
        let node = routes.node(redis.location(), &call);
        let link = links.get(redis, &node, deadline);
        let (reply, answer) = oneshot::channel();
        if let Err(closed) = link.send(Submission { call, reply }) {
            links.forget(&link);
            call = closed.0.call;
            continue;
        }
        let carried = match timeout_at(deadline.into(), answer).await {
            Ok(Ok(carried)) => carried,
            Ok(Err(_)) => {
                return Err(Error::unknown_outcome("the runtime of the connection has ended"));
            }
            Err(_) => {
                links.forget(&link);
                routes.forget(redis.location(), &node);
                return Err(Error::unknown_outcome("redis gave no answer in time").at_node(&node));
            }
        };
        let left = deadline.saturating_duration_since(monotonic());
        let next = match carried {
            Carried::Completion(outcome) => {
                if matches!(&*outcome, CallOutcome::Answered(Err(error)) if error.cause() == Cause::Demoted) {
                    links.forget(&link);
                    routes.forget(redis.location(), &node);
                }
                routes.next(*outcome, left)
            }
            Carried::Unsent { call, error, had_worked } => {
                links.forget(&link);
                if !had_worked {
                    routes.forget(redis.location(), &node);
                }
                route::next_unsent(redis.location(), *call, error, had_worked, left)
            }
        };
        call = match next {
            Next::Done(result) => return result,
            Next::Send(call) => call,
            Next::SendAfter(call, pause) => {
                sleep(pause.duration()).await;
                call
            }
        };
    }
}

impl Links {
    /// Returns the connection to a node; opens it if there is none.
    fn get(&self, redis: &Redis, node: &Address, deadline: Instant) -> mpsc::UnboundedSender<Submission> {
        let runtime = Handle::current().id();
        let mut all = locked(&self.all);
        let is_open = |link: &Link| link.runtime == runtime && link.node == *node && !link.submissions.is_closed();
        if let Some(link) = all.iter().find(|link| is_open(link)) {
            return link.submissions.clone();
        }
        all.retain(|link| !link.submissions.is_closed());
        let (link, submissions) = mpsc::unbounded_channel();
        all.push(Link { node: node.clone(), runtime, submissions: link.clone() });
        tokio::spawn(drive(redis.location().clone(), node.clone(), redis.timeout().duration(), deadline, submissions));
        link
    }

    /// Drops all connections. Each ends after the calls already submitted to it.
    pub(crate) fn clear(&self) {
        locked(&self.all).clear();
    }

    /// Removes a connection, so that it takes no new calls. Its pending calls continue.
    fn forget(&self, link: &mpsc::UnboundedSender<Submission>) {
        locked(&self.all)
            .retain(|Link { submissions, .. }| !submissions.same_channel(link) && !submissions.is_closed());
    }
}

/// Connects, then moves bytes until all senders are dropped or the connection fails.
async fn drive(
    location: RedisConfig,
    node: Address,
    patience: Duration,
    deadline: Instant,
    mut submissions: mpsc::UnboundedReceiver<Submission>,
) {
    let mut session = ConnectionState::new(&location, node.clone());
    let mut waiting = Waiting::default();
    let connected = match timeout_at(deadline.into(), connect(&location, &node)).await {
        Ok(connected) => connected,
        Err(_) => Err(ErrorKind::TimedOut.into()),
    };
    let had_worked = connected.is_ok();
    let error = match connected {
        Ok(stream) => carry(&mut session, stream, patience, &mut submissions, &mut waiting).await,
        Err(error) => Some(Error::unavailable(format!("cannot connect to redis: node={node} error={error}"))),
    };
    let Some(error) = error else { return };
    submissions.close();
    deliver(session.fail(&error), &mut waiting);
    give_back(std::iter::from_fn(|| submissions.try_recv().ok()), &error, had_worked);
}

/// TCP, a Unix domain socket or TLS.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

async fn connect(location: &RedisConfig, node: &Address) -> io::Result<Box<dyn Stream>> {
    let Some(mut query) = SentinelQuery::new(location) else { return dial(location, node).await };
    let (mut sentinel, mut buffer) = (dial(location, node).await?, [0; 512]);
    sentinel.write_all(&query.output()).await?;
    sentinel.flush().await?;
    loop {
        let size = sentinel.read(&mut buffer).await?;
        if size == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if let Some(master) = query.receive(&buffer[..size]).map_err(io::Error::other)? {
            return dial(location, &master).await;
        }
    }
}

async fn dial(location: &RedisConfig, node: &Address) -> io::Result<Box<dyn Stream>> {
    match node {
        Address::Unix(path) => loop {
            match UnixStream::connect(path).await {
                Ok(stream) => return Ok(Box::new(stream)),
                // There is no notification when the backlog has room; the caller's deadline ends the loop.
                Err(error) if error.kind() == ErrorKind::WouldBlock => sleep(RETRY).await,
                Err(error) => return Err(error),
            }
        },
        Address::Tcp(host, port) => {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            stream.set_nodelay(true)?;
            keep_alive(&stream);
            if !location.tls {
                return Ok(Box::new(stream));
            }
            Ok(Box::new(
                TlsConnector::from(tls::config(&location.certificates)?).connect(tls::name(host)?, stream).await?,
            ))
        }
    }
}

/// Moves bytes until the connection fails. Returns no error if the store was dropped. `patience` is the maximum wait of
/// any call.
async fn carry(
    session: &mut ConnectionState,
    mut stream: Box<dyn Stream>,
    patience: Duration,
    submissions: &mut mpsc::UnboundedReceiver<Submission>,
    waiting: &mut Waiting,
) -> Option<Error> {
    let (mut batch, mut used_at) = (Vec::with_capacity(BATCH), monotonic());
    let (mut buffer, mut finished, mut is_left) = (vec![0; 16_384], Vec::new(), false);
    loop {
        let output = session.output();
        if !output.is_empty() {
            // A server that does not read does not reply either, so waiting here delays no reply.
            let sent = timeout(patience, async {
                stream.write_all(&output).await?;
                stream.flush().await
            });
            match sent.await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Some(broken(&error)),
                Err(_) => return Some(Error::unknown_outcome("redis did not take the calls in time")),
            }
        }
        if !finished.is_empty() {
            deliver(finished.drain(..finished.len().min(BATCH)), waiting);
            if !finished.is_empty() {
                // The callers of these make their next calls, which the server decides while the other callers make theirs.
                yield_now().await;
                while batch.len() < BATCH
                    && let Ok(submission) = submissions.try_recv()
                {
                    batch.push(submission);
                }
                submit(session, waiting, &mut batch);
                continue;
            }
        }
        if is_left {
            waiting.drop_closed();
            if waiting.is_empty() {
                return None;
            }
        }
        tokio::select! {
            read = stream.read(&mut buffer) => {
                if let Some(error) = received(session, read, &buffer, &mut finished) {
                    deliver(finished, waiting);
                    return Some(error);
                }
                used_at = monotonic();
            }
            // All callers have timed out by then.
            () = sleep(patience), if is_left => return None,
            count = submissions.recv_many(&mut batch, BATCH), if !is_left => {
                if count == 0 {
                    is_left = true;
                    continue;
                }
                if session.is_idle() && used_at.elapsed() > MAX_IDLE {
                    let error = Error::unavailable("the connection was not used for long");
                    give_back(batch, &error, true);
                    return Some(error);
                }
                if session.is_idle() && used_at.elapsed() > TRUSTED {
                    // The server may have closed its end; the runtime detects that only on a read.
                    tokio::select! {
                        biased;
                        read = stream.read(&mut buffer) => {
                            if let Some(error) = received(session, read, &buffer, &mut finished) {
                                give_back(batch, &error, true);
                                return Some(error);
                            }
                        }
                        () = yield_now() => {}
                    }
                }
                submit(session, waiting, &mut batch);
            }
        }
    }
}

fn submit(session: &mut ConnectionState, waiting: &mut Waiting, batch: &mut Vec<Submission>) {
    for submission in batch.drain(..) {
        session.submit(waiting.push(submission.reply), submission.call);
    }
}

/// Passes received bytes to the session. An error ends the connection.
fn received(
    session: &mut ConnectionState,
    read: io::Result<usize>,
    buffer: &[u8],
    finished: &mut Vec<Completion>,
) -> Option<Error> {
    match read {
        Ok(0) => Some(Error::unknown_outcome("redis closed the connection before it answered")),
        Ok(size) => session.receive(&buffer[..size], finished).err(),
        Err(error) => Some(broken(&error)),
    }
}

fn broken(error: &io::Error) -> Error {
    Error::unknown_outcome(format!("redis broke the connection: error={error}"))
}

/// Returns unsent calls to their callers.
fn give_back(submissions: impl IntoIterator<Item = Submission>, error: &Error, had_worked: bool) {
    for submission in submissions {
        let (call, error) = (Box::new(submission.call), Error::unavailable(error.message()));
        let _ = submission.reply.send(Carried::Unsent { call, error, had_worked });
    }
}

fn deliver(finished: impl IntoIterator<Item = Completion>, waiting: &mut Waiting) {
    for Completion { ticket, outcome } in finished {
        if let Some(reply) = waiting.take(ticket) {
            // The receiver is gone if the caller dropped its future.
            let _ = reply.send(Carried::Completion(Box::new(outcome)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_find_their_callers_in_any_order() {
        let mut waiting = Waiting::default();
        let push = |waiting: &mut Waiting| {
            let (reply, answer) = oneshot::channel();
            (waiting.push(reply), answer)
        };
        let [(first, _one), (second, _two), (third, three), (fourth, _four)] = [(); 4].map(|()| push(&mut waiting));
        assert_eq!([first, second, third, fourth], [0, 1, 2, 3]);
        for ticket in [second, first, fourth] {
            assert!(waiting.take(ticket).is_some());
            assert!(waiting.take(ticket).is_none(), "once");
        }
        assert_eq!((waiting.first, waiting.queue.len()), (third, 2));
        let (fifth, answer) = push(&mut waiting);
        assert_eq!(fifth, 4);
        assert!(waiting.take(5).is_none() && !waiting.is_empty());
        drop(three);
        waiting.drop_closed();
        assert_eq!((waiting.first, waiting.queue.len()), (fifth, 1), "the caller of the third is gone");
        let outcome = CallOutcome::Answered(Err(Error::unavailable("it failed")));
        deliver([Completion { ticket: fifth, outcome }], &mut waiting);
        assert!(matches!(answer.blocking_recv(), Ok(Carried::Completion(_))) && waiting.is_empty());
        assert_eq!(push(&mut waiting).0, 5);
    }
}
