//! `Link`: one connection to one server, without a thread. The event loop reports when its socket is ready.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use std::{io, mem};

use paddlegate::process_id;
use paddlegate::store::redis::{Address, CallOutcome, Redis, Socket};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::call::{Call, OnComplete, Reason, Unfinished};
use crate::error::Result;
use crate::line::{NonBlockingConnection, State, locked};

/// One connection to one server.
///
/// `flush`, `receive` and `expire` return the calls that the link has finished with by number, each
/// with its answer, its exception, the call that follows it, or `Unfinished`; whether the
/// connection has ended; and whether `flush` must be called again when the socket is writable. They
/// return None if no call has finished, nothing has ended and the socket takes all.
#[pyclass(frozen, module = "paddlegate._native")]
pub(crate) struct Link {
    redis: Arc<Redis>,
    node: Address,
    /// The process that created it: one that was forked must not use its socket.
    process: u32,
    /// The result of `connect` or `give_up`, until `flush` takes it.
    connected: Mutex<Option<io::Result<Socket>>>,
    /// Never locked while Python code can run.
    line: Mutex<NonBlockingConnection>,
    /// The processing of results of pending calls, by ticket.
    endings: Mutex<HashMap<u64, OnComplete>>,
}

/// Tickets, each with its answer, its exception, the call that follows it, or `Unfinished`; whether the connection has ended;
/// whether the socket is full. `None` if there is none of them.
type Settled<'py> = Option<(Vec<(u64, Bound<'py, PyAny>)>, bool, bool)>;

#[pymethods]
impl Link {
    /// Connect, on a thread that may block. The next `flush` applies the result.
    fn connect(&self, py: Python<'_>) {
        py.detach(|| {
            // A socket deadline; limiter decisions do not depend on this clock.
            #[allow(clippy::disallowed_methods)]
            let deadline = Instant::now() + self.redis.timeout().duration();
            let socket = Socket::connect(self.redis.location(), &self.node, deadline)
                .and_then(|mut socket| socket.set_nonblocking().map(|()| socket));
            *locked(&self.connected) = Some(socket);
        });
    }

    /// Give up connecting, for this reason. The next `flush` applies it.
    fn give_up(&self, reason: &str) {
        *locked(&self.connected) = Some(Err(io::Error::other(reason.to_owned())));
    }

    /// Return the socket's descriptor; -1 without a socket.
    fn fileno(&self) -> i32 {
        locked(&self.line).socket().map_or(-1, |socket| socket.as_fd().as_raw_fd())
    }

    /// Whether a call can be sent on this link: to its node, by its process, before its end.
    fn takes(&self, call: &Call) -> bool {
        self.process == process_id() && call.is_for(&self.node) && !locked(&self.line).is_over()
    }

    /// Queue a call until the next `flush`; return its number on this link, and its deadline.
    ///
    /// `now` is the time of the clock of the event loop, from which the first attempt has its
    /// time-out.
    fn submit(&self, call: &Call, now: f64) -> Result<(u64, f64)> {
        let bytes = call.take()?;
        let ticket = locked(&self.line).submit(bytes);
        if !call.then.is_nothing() {
            locked(&self.endings).insert(ticket, call.then.clone());
        }
        Ok((ticket, call.started(now)))
    }

    /// Write the queued calls.
    fn flush<'py>(&self, py: Python<'py>) -> PyResult<Settled<'py>> {
        let connected = locked(&self.connected).take();
        self.settled(py, |line| {
            if let Some(socket) = connected {
                line.connected(socket, &self.node);
            }
            line.flush();
        })
    }

    /// Read received replies.
    fn receive<'py>(&self, py: Python<'py>) -> PyResult<Settled<'py>> {
        self.settled(py, NonBlockingConnection::receive)
    }

    /// End the connection, because a reply did not arrive in time.
    fn expire<'py>(&self, py: Python<'py>) -> PyResult<Settled<'py>> {
        self.settled(py, NonBlockingConnection::expire)
    }

    /// Close the socket.
    fn close(&self) {
        locked(&self.line).close();
    }
}

impl Link {
    pub(crate) fn new(redis: &Arc<Redis>, node: &Address) -> Self {
        Self {
            redis: redis.clone(),
            node: node.clone(),
            connected: Mutex::default(),
            process: process_id(),
            line: Mutex::new(NonBlockingConnection::new(redis, node)),
            endings: Mutex::default(),
        }
    }

    fn settled<'py>(&self, py: Python<'py>, work: impl FnOnce(&mut NonBlockingConnection)) -> PyResult<Settled<'py>> {
        let (done, before, state) = {
            let mut line = locked(&self.line);
            let before = line.state;
            work(&mut line);
            (mem::take(&mut line.done), before, line.state)
        };
        if state == State::Lost && before != State::Lost {
            self.redis.forget(&self.node);
        }
        if state == State::Open && before == State::Open && done.is_empty() {
            return Ok(None);
        }
        let finished =
            done.finished.into_iter().map(|done| Ok((done.ticket, self.shown(py, done.ticket, done.outcome)?)));
        let unsent = done.unsent.into_iter().map(|(ticket, bytes, error, had_worked)| {
            Ok((ticket, self.unfinished(py, Reason::Unsent(bytes, error, had_worked), self.ending(ticket))?))
        });
        let is_over = matches!(state, State::Closed | State::Lost);
        Ok(Some((finished.chain(unsent).collect::<PyResult<_>>()?, is_over, state == State::Full)))
    }

    fn ending(&self, ticket: u64) -> OnComplete {
        locked(&self.endings).remove(&ticket).unwrap_or_default()
    }

    fn shown<'py>(&self, py: Python<'py>, ticket: u64, outcome: CallOutcome) -> PyResult<Bound<'py, PyAny>> {
        let then = self.ending(ticket);
        match outcome {
            CallOutcome::Answered(result) => then.ended(py, result),
            outcome => self.unfinished(py, Reason::Outcome(outcome), then),
        }
    }

    fn unfinished<'py>(&self, py: Python<'py>, reason: Reason, then: OnComplete) -> PyResult<Bound<'py, PyAny>> {
        Unfinished::new(&self.redis, reason, then).into_bound_py_any(py)
    }
}
