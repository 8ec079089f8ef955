//! `NonBlockingConnection`: a session and its socket, which never waits. No Python in here.

use std::io::{self, ErrorKind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use paddlegate::Error;
use paddlegate::store::redis::{Address, Asking, Call, Completion, ConnectionState, Redis, Socket};

/// How much is read at once; more than a hundred replies.
const BUFFER: usize = 16 * 1024;

/// A connection that an event loop drives.
pub(crate) struct NonBlockingConnection {
    session: ConnectionState,
    socket: Option<Socket>,
    encrypted: bool,
    /// What the server said ended the line: it may be a replica now.
    refused: bool,
    buffer: Box<[u8]>,
    /// What the socket did not take yet.
    rest: Vec<u8>,
    /// How many calls were queued, of these how many may be with the server, of these how many are answered.
    submitted: u64,
    sent: u64,
    answered: u64,
    pub(crate) done: Done,
    pub(crate) state: State,
}

/// What an event loop has to know about a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Tell it when bytes have come.
    Open,
    /// And when the socket takes bytes again.
    Full,
    /// It ended while nothing was on its way.
    Closed,
    /// It ended too early; the server may be gone.
    Lost,
}

/// The calls that a line is done with.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) finished: Vec<Completion>,
    /// Calls that the server cannot have, by their tickets, and why unless the line was only out of date.
    pub(crate) unsent: Vec<(u64, Call, Option<Error>)>,
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

    /// Takes a connected socket, or the reason why there is none.
    pub(crate) fn connected(&mut self, socket: io::Result<Socket>, node: &Address) {
        match socket {
            _ if self.is_over() => {}
            Ok(socket) => self.socket = Some(socket),
            Err(error) => self.end(&Error::unavailable(format!("cannot connect to redis: node={node} error={error}"))),
        }
    }

    /// Queues a call until the next `flush` and gives its ticket.
    pub(crate) fn submit(&mut self, call: Call, asking: Asking) -> u64 {
        self.submitted += 1;
        self.session.submit(self.submitted, call, asking);
        self.submitted
    }

    /// Writes what is queued.
    pub(crate) fn flush(&mut self) {
        // The server may have closed the line since its last answer; then the calls can go by a new one.
        if self.sent == self.answered {
            self.read();
        }
        self.write();
    }

    /// Reads what has arrived.
    pub(crate) fn receive(&mut self) {
        self.read();
        self.write();
    }

    /// Ends the line because an answer did not come in time.
    pub(crate) fn expire(&mut self) {
        self.end(&Error::unknown_outcome("redis gave no answer in time"));
    }

    pub(crate) fn close(&mut self) {
        self.socket = None;
    }

    fn read(&mut self) {
        while let Some(socket) = self.socket.as_mut().filter(|_| matches!(self.state, State::Open | State::Full)) {
            let before = self.done.finished.len();
            let ended = match socket.read(&mut self.buffer, Duration::ZERO) {
                Ok(0) => Error::unknown_outcome("redis closed the connection before it answered"),
                Ok(size) => {
                    let received = self.session.receive(&self.buffer[..size], &mut self.done.finished);
                    self.answered += (self.done.finished.len() - before) as u64;
                    match received {
                        // Only what was decrypted already does not show in the socket.
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

    /// The calls that the server cannot have are given back, the others fail.
    fn end(&mut self, error: &Error) {
        let idle = self.sent == self.answered;
        let used = self.answered > 0;
        self.state = if idle && used && !self.refused { State::Closed } else { State::Lost };
        if idle {
            let why = (!used).then(|| Error::unavailable(error.message()));
            let unsent = self.session.recall().into_iter().map(|(ticket, call)| (ticket, call, why.clone()));
            self.done.unsent.extend(unsent);
        } else {
            self.done.finished.append(&mut self.session.fail(error));
        }
    }
}

/// What a lock holds is changed only where nothing can panic.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
