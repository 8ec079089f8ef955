//! Calls on the caller's thread: a socket with time-outs, no runtime, no other thread.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};

use super::call::{Call, CallOutcome};
use super::config::Address;
use super::route::{self, Next};
use super::session::ConnectionState;
use super::socket::Socket;
use super::{Connections, Redis};
use crate::base::clock::monotonic;
use crate::base::error::{Cause, Error, Result};
use crate::base::locked;
use crate::base::micros::Micros;
use crate::model::operation::Answer;
use crate::store::signal_handling::SignalHandling;

/// The default time-out of a call.
pub const DEFAULT_TIMEOUT: Micros = Micros(1_000_000);

/// The maximum time-out of a call.
const MAX_TIMEOUT: Micros = Micros(60_000_000);

mod several;
#[cfg(all(test, feature = "tls"))]
mod tests;

pub(crate) use several::run_several;

/// The maximum number of unused connections per node.
const MAX_UNUSED: usize = 64;

/// Idle time after which a connection is checked before reuse. A server takes longer than this to restart.
pub const TRUSTED: Duration = Duration::from_millis(1);

/// Maximum idle time of a connection. Firewalls and address translators drop idle connections silently, rarely this
/// early.
pub(crate) const MAX_IDLE: Duration = Duration::from_secs(30);

/// The bytes that one read takes. Plain replies have about 50, and to clear more takes time.
const BUFFER: usize = 1_024;

/// Interval of the checks whether a signal ends the call: a signal that arrived just before a wait does not interrupt
/// the wait.
const SLICE: Duration = Duration::from_millis(100);

/// The unused connections of one process.
#[derive(Default)]
pub(crate) struct Pool {
    unused: Mutex<HashMap<Address, Vec<Connection>>>,
}

struct Connection {
    session: ConnectionState,
    socket: Socket,
    used_at: Instant,
}

/// The cause of a failed exchange.
enum Failure {
    /// The server cannot have received the whole command; the call may be sent elsewhere.
    Unsent(Box<Call>, Error),
    Lost(Error),
}

pub(crate) fn check_timeout(timeout: Option<Micros>) -> Result<Micros> {
    match timeout.unwrap_or(DEFAULT_TIMEOUT) {
        timeout if timeout >= Micros(1_000) && timeout <= MAX_TIMEOUT => Ok(timeout),
        timeout => Err(Error::invalid(
            "timeout",
            format!("must be from one millisecond to one minute: timeout_us={}", timeout.0),
        )),
    }
}

/// Runs a call to completion, or fails at the deadline.
pub(crate) fn run(
    redis: &Redis,
    process: &Connections,
    mut call: Call,
    interrupt: SignalHandling<'_>,
    deadline: Instant,
) -> Result<Answer> {
    let Connections { pool, routes, .. } = process;
    let mut waiter = Waiter { deadline, interrupt };
    // The node may be down or a replica now, so its other connections are dropped too.
    let leave = |node: &Address| {
        pool.clear(node);
        routes.forget(&redis.location, node);
    };
    loop {
        let node = routes.node(&redis.location, &call);
        let (known, exchanged) = match pool.take(&node) {
            Some(connection) => (true, connection.exchange(call, &mut waiter)),
            None => match Connection::open(redis, &node, &waiter) {
                Ok(connection) => (false, connection.exchange(call, &mut waiter)),
                Err(error) => (false, Err(Failure::Unsent(Box::new(call), error))),
            },
        };
        let next = match exchanged {
            Ok((connection, outcome)) => {
                match connection {
                    Some(connection) => pool.put(&node, connection),
                    None => leave(&node),
                }
                match outcome {
                    CallOutcome::Answered(result) => return result,
                    other => routes.next(other, waiter.left()),
                }
            }
            Err(Failure::Unsent(call, error)) => {
                if known {
                    // The server closed its end after the last call.
                    pool.clear(&node);
                } else {
                    leave(&node);
                }
                route::next_unsent(&redis.location, *call, error, known, waiter.left())
            }
            Err(Failure::Lost(error)) => {
                if error.cause() != Cause::Signal {
                    leave(&node);
                }
                return Err(error);
            }
        };
        call = match next {
            Next::Done(result) => return result,
            Next::Send(call) => call,
            Next::SendAfter(call, pause) => {
                waiter.pause(pause)?;
                call
            }
        };
    }
}

impl Connection {
    fn open(redis: &Redis, node: &Address, waiter: &Waiter<'_>) -> Result<Self> {
        let socket = Socket::connect(&redis.location, node, waiter.deadline)
            .map_err(|error| Error::unavailable(format!("cannot connect to redis: node={node} error={error}")))?;
        Ok(Self { session: ConnectionState::new(&redis.location, node.clone()), socket, used_at: monotonic() })
    }

    /// Sends the call and reads its reply. Returns the connection too, unless it failed after the reply.
    fn exchange(
        mut self,
        call: Call,
        waiter: &mut Waiter<'_>,
    ) -> std::result::Result<(Option<Self>, CallOutcome), Failure> {
        self.session.submit(0, call);
        let mut finished = Vec::with_capacity(1);
        let mut buffer = [0; BUFFER];
        loop {
            let output = self.session.output();
            let mut left = &output[..];
            if let Err(error) = waiter.write(&mut self.socket, &mut left) {
                let error = error.at_node(self.session.node());
                return Err(match self.session.recall(output.len() - left.len()).pop() {
                    Some((_, call)) if error.cause() != Cause::Signal => Failure::Unsent(Box::new(call), error),
                    _ => Failure::Lost(error),
                });
            }
            let received = waiter
                .read(&mut self.socket, &mut buffer)
                .and_then(|size| self.session.receive(&buffer[..size], &mut finished));
            if let Some(done) = finished.pop() {
                self.used_at = monotonic();
                let is_sound = received.is_ok() && self.session.is_reusable();
                return Ok((is_sound.then_some(self), done.outcome));
            }
            if let Err(error) = received {
                let lost = self.session.fail(&error).pop().map(|done| done.outcome);
                return Err(Failure::Lost(match lost {
                    Some(CallOutcome::Answered(Err(error))) => error,
                    _ => error,
                }));
            }
        }
    }
}

impl Pool {
    fn take(&self, node: &Address) -> Option<Connection> {
        let mut connection = locked(&self.unused).get_mut(node)?.pop()?;
        let idle = connection.used_at.elapsed();
        let stale = if idle < TRUSTED { connection.socket.has_unread() } else { connection.socket.is_stale() };
        if stale || idle >= MAX_IDLE {
            // The other connections have been idle for longer.
            self.clear(node);
            return None;
        }
        Some(connection)
    }

    fn put(&self, node: &Address, connection: Connection) {
        let mut unused = locked(&self.unused);
        if let Some(kept) = unused.get_mut(node) {
            if kept.first().is_some_and(|oldest| oldest.used_at.elapsed() >= MAX_IDLE) {
                kept.remove(0);
            }
            if kept.len() < MAX_UNUSED {
                kept.push(connection);
            }
            return;
        }
        unused.insert(node.clone(), vec![connection]);
    }

    pub(crate) fn clear_all(&self) {
        locked(&self.unused).clear();
    }

    fn clear(&self, node: &Address) {
        locked(&self.unused).remove(node);
    }
}

/// Waits for a socket until the deadline and applies the signal handling.
struct Waiter<'a> {
    deadline: Instant,
    interrupt: SignalHandling<'a>,
}

impl Waiter<'_> {
    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(monotonic())
    }

    /// Returns the maximum time of one system call.
    fn slice(&self, left: Duration) -> Duration {
        if matches!(self.interrupt, SignalHandling::Ask(_)) { left.min(SLICE) } else { left }
    }

    /// Returns whether the wait ended early, so that the signal handling applies.
    fn is_passing(&self, kind: ErrorKind) -> bool {
        let is_over = matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut);
        kind == ErrorKind::Interrupted || is_over && matches!(self.interrupt, SignalHandling::Ask(_))
    }

    /// Writes all bytes. After an error the server cannot have received all of them: those that the connection did not take are left.
    fn write(&mut self, socket: &mut Socket, bytes: &mut &[u8]) -> Result<()> {
        while !bytes.is_empty() || socket.wants_write() {
            let left = self.left();
            if left.is_zero() {
                return Err(Error::unavailable("redis did not take the call in time"));
            }
            match socket.set_wait(self.slice(left)).and_then(|()| socket.write(bytes)) {
                Ok(size) => *bytes = &bytes[size..],
                Err(error) if self.is_passing(error.kind()) => self.interrupted().map_err(Error::not_counted)?,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => {
                    return Err(Error::unavailable(format!("redis closed the connection: error={error}")));
                }
            }
        }
        Ok(())
    }

    fn read(&mut self, socket: &mut Socket, buffer: &mut [u8]) -> Result<usize> {
        loop {
            let left = self.left();
            if left.is_zero() {
                return Err(Error::unknown_outcome("redis gave no answer in time"));
            }
            match socket.read(buffer, self.slice(left)) {
                Ok(0) => {
                    return Err(Error::unknown_outcome("redis closed the connection before it answered"));
                }
                Ok(size) => return Ok(size),
                Err(error) if self.is_passing(error.kind()) => self.interrupted()?,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => {
                    return Err(Error::unknown_outcome(format!("redis broke the connection: error={error}")));
                }
            }
        }
    }

    fn pause(&mut self, pause: Micros) -> Result<()> {
        match poll(&mut [], Timespec::try_from(pause.duration()).ok().as_ref()) {
            Err(rustix::io::Errno::INTR) => self.interrupted().map_err(Error::not_counted),
            _ => Ok(()),
        }
    }

    fn interrupted(&mut self) -> Result<()> {
        match self.interrupt {
            SignalHandling::FinishWithin(limit) => self.deadline = self.deadline.min(monotonic() + limit.duration()),
            SignalHandling::Ask(stop) if stop() => {
                return Err(Error::interrupted("a signal ended the call"));
            }
            SignalHandling::Ignore | SignalHandling::Ask(_) => {}
        }
        Ok(())
    }
}
