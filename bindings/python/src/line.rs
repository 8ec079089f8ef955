//! `NonBlockingConnection`: a session and its non-blocking socket. Contains no Python code.

use std::io::{self, ErrorKind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use paddlegate::Error;
use paddlegate::store::redis::{Address, Call, Completion, ConnectionState, Redis, Socket, TRUSTED};

/// The size of one read; more than a hundred replies.
const BUFFER: usize = 16 * 1024;

/// A connection driven by an event loop.
pub(crate) struct NonBlockingConnection {
    session: ConnectionState,
    socket: Option<Socket>,
    encrypted: bool,
    /// Whether an error reply ended the connection: the server may be a replica now.
    refused: bool,
    buffer: Box<[u8]>,
    /// Bytes that the socket has not accepted yet.
    rest: Vec<u8>,
    /// When the server last replied.
    replied_at: Option<Instant>,
    /// The number of queued calls; of these, possibly sent ones; of these, completed ones.
    submitted: u64,
    sent: u64,
    answered: u64,
    pub(crate) done: Done,
    pub(crate) state: State,
}

/// The events that an event loop must watch on a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Watch for readability.
    Open,
    /// Watch for writability too.
    Full,
    /// The connection ended with no call pending.
    Closed,
    /// The connection ended with calls pending, before its first reply or after an error; the server may be down.
    Lost,
}

/// The calls that a connection has finished with.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) finished: Vec<Completion>,
    /// Calls that the server cannot have received, by ticket, with the error and whether the connection had worked.
    pub(crate) unsent: Vec<(u64, Call, Error, bool)>,
}

impl Done {
    pub(crate) const fn is_empty(&self) -> bool {
        self.finished.is_empty() && self.unsent.is_empty()
    }
}

impl NonBlockingConnection {
    pub(crate) fn new(redis: &Redis, node: &Address) -> Self {
        Self {
            session: ConnectionState::new(redis.location(), node.clone()),
            socket: None,
            encrypted: redis.location().tls,
            refused: false,
            buffer: vec![0; BUFFER].into(),
            rest: Vec::new(),
            replied_at: None,
            submitted: 0,
            sent: 0,
            answered: 0,
            done: Done::default(),
            state: State::Open,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Closed | State::Lost)
    }

    pub(crate) fn socket(&self) -> Option<&Socket> {
        self.socket.as_ref()
    }

    /// Stores the connected socket, or ends the connection with the connection error.
    pub(crate) fn connected(&mut self, socket: io::Result<Socket>, node: &Address) {
        match socket {
            _ if self.is_over() => {}
            Ok(socket) => self.socket = Some(socket),
            Err(error) => self.end(&Error::unavailable(format!("cannot connect to redis: node={node} error={error}"))),
        }
    }

    /// Queues a call until the next `flush`. Returns its ticket.
    pub(crate) fn submit(&mut self, call: Call) -> u64 {
        self.submitted += 1;
        self.session.submit(self.submitted, call);
        self.submitted
    }

    /// Writes queued calls.
    pub(crate) fn flush(&mut self) {
        // The server may have closed the connection since its last reply; then the calls can use a new connection.
        if self.sent == self.answered && !self.is_trusted() {
            self.read();
        }
        self.write();
    }

    /// Reads received bytes.
    pub(crate) fn receive(&mut self) {
        self.read();
        self.write();
    }

    /// Ends the connection after a reply timed out.
    pub(crate) fn expire(&mut self) {
        self.end(&Error::unknown_outcome("redis gave no answer in time"));
    }

    pub(crate) fn close(&mut self) {
        self.socket = None;
    }

    /// Returns whether the server has replied just now, and nothing else can have come with the reply.
    fn is_trusted(&self) -> bool {
        !self.encrypted && self.replied_at.is_some_and(|at| at.elapsed() < TRUSTED)
    }

    fn read(&mut self) {
        while let Some(socket) = self.socket.as_mut().filter(|_| matches!(self.state, State::Open | State::Full)) {
            let before = self.done.finished.len();
            let ended = match socket.read(&mut self.buffer, Duration::ZERO) {
                Ok(0) => Error::unknown_outcome("redis closed the connection before it answered"),
                Ok(size) => {
                    let received = self.session.receive(&self.buffer[..size], &mut self.done.finished);
                    self.answered += (self.done.finished.len() - before) as u64;
                    // A socket deadline; limiter decisions do not depend on this clock.
                    #[allow(clippy::disallowed_methods)]
                    let now = Instant::now();
                    self.replied_at = Some(now);
                    match received {
                        // With encryption, decrypted bytes may be left that the socket does not report.
                        Ok(()) if size < self.buffer.len() && !self.encrypted => return,
                        Ok(()) => continue,
                        Err(error) => {
                            self.refused = true;
                            error
                        }
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Error::unknown_outcome(format!("redis broke the connection: error={error}")),
            };
            self.end(&ended);
        }
    }

    fn write(&mut self) {
        if self.is_over() {
            return;
        }
        let Some(socket) = &mut self.socket else { return };
        self.rest.append(&mut self.session.output());
        self.state = State::Open;
        while !self.rest.is_empty() || socket.wants_write() {
            match socket.write(&self.rest) {
                Ok(size) => {
                    self.sent = self.submitted;
                    self.rest.drain(..size);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.state = State::Full;
                    return;
                }
                Err(error) => {
                    return self.end(&Error::unknown_outcome(format!("redis closed the connection: error={error}")));
                }
            }
        }
    }

    /// Ends the connection. Returns calls that the server cannot have received; the others fail.
    fn end(&mut self, error: &Error) {
        let idle = self.sent == self.answered;
        let used = self.answered > 0;
        self.state = if idle && used && !self.refused { State::Closed } else { State::Lost };
        if idle {
            let error = Error::unavailable(error.message());
            let unsent = self.session.recall(0).into_iter().map(|(ticket, call)| (ticket, call, error.clone(), used));
            self.done.unsent.extend(unsent);
        } else {
            self.done.finished.append(&mut self.session.fail(error));
        }
    }
}

/// Locked values change only where nothing can panic, so a poisoned lock holds a valid value.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
