//! `ConnectionState`: one connection without its socket. Bytes in, bytes out, replies in the order of the calls.
//!
//! Hosts with an event loop (Node, asyncio) move the bytes themselves, so this library needs no thread and no runtime
//! there.

use std::collections::VecDeque;

use super::call::{Call, CallOutcome, Step};
use super::config::{Address, RedisConfig};
use super::reply::{is_of_replica, is_of_rights, is_without_login, reply_error};
use super::wire::{Decoder, Value, command};
use crate::base::error::{Cause, Error, Result};

/// The protocol state of a connection.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{Answer, Operation, Paddlegate, Prepared, Settlement};
/// # use paddlegate::store::redis::{CallOutcome, ConnectionState};
/// let pg = Paddlegate::open("redis://localhost:6379", None)?;
/// let (workers, redis) = (pg.concurrent("workers", 3, Duration::from_secs(30))?, pg.redis().unwrap());
/// let Prepared::Call(call) = workers.prepare(Operation::Cancel { id: "a", gave_up: false })? else {
///     unreachable!()
/// };
/// let mut connection = ConnectionState::new(redis.location(), redis.route(&call));
/// connection.submit(1, call);
/// assert!(!connection.output().is_empty(), "the host writes these bytes to its socket");
/// let mut finished = Vec::new();
/// connection.receive(b"*1\r\n:8\r\n", &mut finished)?; // what the host has read
/// assert!(matches!(
///     &finished[0].outcome,
///     CallOutcome::Answered(Ok(Answer::Settlement(Settlement::Cancelled)))
/// ));
/// assert!(finished[0].ticket == 1 && connection.is_idle());
/// # Ok::<(), paddlegate::Error>(())
/// ```
pub struct ConnectionState {
    node: Address,
    decoder: Decoder,
    sent: VecDeque<Sent>,
    /// The number of entries of `sent` whose bytes the host has taken.
    taken: usize,
    output: Vec<u8>,
    /// Calls held back until the server has accepted the login and the database.
    held: Vec<u8>,
    ready: bool,
}

enum Sent {
    /// The login or the choice of the database, by name.
    Setup(&'static str),
    /// `ASKING`, with its number of bytes.
    Asking(usize),
    /// A call that another takes along. No ticket waits for it.
    Ahead(Call),
    Call(u64, Call),
}

impl Sent {
    /// Returns the number of bytes; nobody asks how many a login has.
    fn size(&self) -> usize {
        match self {
            Self::Setup(_) => 0,
            Self::Asking(size) => *size,
            Self::Ahead(call) | Self::Call(_, call) => call.bytes().len(),
        }
    }

    /// Notes that the server may have received it: counts must not be sent again.
    fn may_have_arrived(&mut self) {
        if let Self::Ahead(call) | Self::Call(_, call) = self {
            call.may_have_arrived();
        }
    }
}

/// A call that this connection has finished with.
#[derive(Debug)]
pub struct Completion {
    /// The number passed to [`submit`](ConnectionState::submit).
    pub ticket: u64,
    /// The result of the call on this connection.
    pub outcome: CallOutcome,
}

impl ConnectionState {
    /// Creates a session that logs in first.
    pub fn new(location: &RedisConfig, node: Address) -> Self {
        let mut session = Self {
            node,
            decoder: Decoder::default(),
            sent: VecDeque::new(),
            taken: 0,
            output: Vec::new(),
            held: Vec::new(),
            ready: false,
        };
        if let Some(password) = &location.password {
            let mut words: Vec<&[u8]> = vec![b"AUTH"];
            words.extend(location.user.as_ref().map(String::as_bytes));
            words.push(password.as_bytes());
            session.setup("the login", &words);
        }
        if location.db != 0 {
            session.setup("the database", &[b"SELECT", location.db.to_string().as_bytes()]);
        }
        session.ready = session.sent.is_empty();
        session
    }

    /// Returns the node of the connection.
    pub(crate) const fn node(&self) -> &Address {
        &self.node
    }

    fn setup(&mut self, what: &'static str, words: &[&[u8]]) {
        command(&mut self.output, words);
        self.sent.push_back(Sent::Setup(what));
    }

    /// Queues a call for sending. Its [`Completion`] carries the same `ticket`.
    pub fn submit(&mut self, ticket: u64, mut call: Call) {
        let output = if self.ready { &mut self.output } else { &mut self.held };
        for ahead in call.take_ahead() {
            output.extend_from_slice(ahead.bytes());
            self.sent.push_back(Sent::Ahead(ahead));
        }
        if call.asking().is_some() {
            let before = output.len();
            command(output, &[b"ASKING"]);
            self.sent.push_back(Sent::Asking(output.len() - before));
        }
        output.extend_from_slice(call.bytes());
        self.sent.push_back(Sent::Call(ticket, call));
    }

    /// Takes the bytes to write to the socket; call it after each `submit` and `receive`.
    pub fn output(&mut self) -> Vec<u8> {
        self.taken = if self.ready {
            self.sent.len()
        } else {
            self.sent.iter().take_while(|sent| matches!(sent, Sent::Setup(_))).count()
        };
        std::mem::take(&mut self.output)
    }

    /// Returns whether no reply is pending.
    pub fn is_idle(&self) -> bool {
        self.sent.is_empty()
    }

    /// Returns whether no reply is pending and no received bytes are left.
    pub(crate) fn is_reusable(&self) -> bool {
        self.is_idle() && self.decoder.is_empty()
    }

    /// Decodes received bytes. After an error the host must close the connection, call [`fail`](Self::fail) and
    /// [forget](super::Redis::forget) the node: later calls may be routed to another node.
    pub fn receive(&mut self, bytes: &[u8], finished: &mut Vec<Completion>) -> Result<()> {
        self.decoder.feed(bytes);
        let mut is_demoted = false;
        while let Some(reply) = self.decoder.next()? {
            let Some(sent) = self.sent.pop_front() else {
                return Err(Error::unavailable("unexpected message from the server"));
            };
            self.taken = self.taken.saturating_sub(1);
            match (sent, reply) {
                (Sent::Setup(_), Value::Error(error)) if is_without_login(&error) => return Err(reply_error(&error)),
                (Sent::Setup(what), Value::Error(error)) => {
                    let code = error.split(' ').next().unwrap_or_default().to_owned();
                    let refused = Error::unavailable(format!("redis refused {what}; check the url: code={code}"));
                    return Err(if is_of_rights(&error) { refused.because(Cause::Rights) } else { refused });
                }
                (Sent::Setup(_), _) => {
                    self.ready = !self.sent.iter().any(|sent| matches!(sent, Sent::Setup(_)));
                    if self.ready {
                        self.output.append(&mut self.held);
                    }
                }
                (Sent::Asking(_), _) => {}
                (Sent::Ahead(call), reply) => drop(call.answer(reply, &self.node)),
                (Sent::Call(ticket, call), reply) => {
                    is_demoted |= matches!(&reply, Value::Error(error) if is_of_replica(error));
                    match call.answer(reply, &self.node) {
                        Step::Again(mut call) => {
                            call.is_overtaking = false;
                            for sent in &mut self.sent {
                                if let Sent::Call(_, behind) = sent
                                    && behind.slot() == call.slot()
                                {
                                    behind.is_overtaking = true;
                                }
                            }
                            self.submit(ticket, call);
                        }
                        Step::Done(outcome) => finished.push(Completion { ticket, outcome }),
                    }
                }
            }
        }
        if is_demoted {
            // A replica that was the primary before: only a new connection can reach the new primary.
            let error = Error::unknown_outcome("the server is a replica now, try again");
            return Err(error.because(Cause::Demoted));
        }
        Ok(())
    }

    /// Ends the session after `error`: every call without a reply fails with that error.
    ///
    /// Calls whose bytes the host has not taken fail as certainly not charged.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Error, Operation, Paddlegate, Prepared, Request};
    /// # use paddlegate::store::redis::{CallOutcome, ConnectionState};
    /// let pg = Paddlegate::open("redis://localhost:6379", None)?;
    /// let workers = pg.concurrent("workers", 3, Duration::from_secs(30))?;
    /// let Prepared::Call(call) = workers.prepare(Operation::Acquire(Request::cost(1)))? else { unreachable!() };
    /// let location = pg.redis().unwrap().location();
    /// let mut connection = ConnectionState::new(location, location.nodes[0].clone());
    /// connection.submit(1, call);
    /// let failed = connection.fail(&Error::unknown_outcome("the connection is lost"));
    /// let CallOutcome::Answered(Err(error)) = &failed[0].outcome else { unreachable!() };
    /// assert!(!error.may_have_counted(), "the host has not taken its bytes");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn fail(&mut self, error: &Error) -> Vec<Completion> {
        self.note_arrived();
        let error = &error.clone().at_node(&self.node);
        let failed = self.sent.drain(..).enumerate().filter_map(|(i, sent)| match sent {
            Sent::Call(ticket, _) => {
                let error = if i < self.taken { error.clone() } else { error.clone().not_counted() };
                Some(Completion { ticket, outcome: CallOutcome::Answered(Err(error)) })
            }
            Sent::Setup(_) | Sent::Asking(_) | Sent::Ahead(_) => None,
        });
        failed.collect()
    }

    /// Takes back the calls without a reply. Send them again only if the server cannot have received them in full.
    ///
    /// `written`: how many of their bytes the connection took, 0 if it took none. The server may have added the counts that lie in
    /// these, so that they are not sent again.
    pub fn recall(&mut self, written: usize) -> Vec<(u64, Call)> {
        let mut end = 0;
        for sent in self.sent.iter_mut().take(self.taken) {
            end += sent.size();
            if end > written {
                break;
            }
            sent.may_have_arrived();
        }
        let calls = self.sent.drain(..).filter_map(|sent| match sent {
            Sent::Call(ticket, call) => Some((ticket, call)),
            Sent::Setup(_) | Sent::Asking(_) | Sent::Ahead(_) => None,
        });
        calls.collect()
    }

    /// Notes that the server may have received what the host has taken.
    fn note_arrived(&mut self) {
        self.sent.iter_mut().take(self.taken).for_each(Sent::may_have_arrived);
    }
}

impl Drop for ConnectionState {
    /// A host may drop the connection without a word, as a runtime does that ends.
    fn drop(&mut self) {
        self.note_arrived();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::micros::Micros;
    use crate::client::paddlegate::Paddlegate;
    use crate::client::prepared::Prepared;
    use crate::model::operation::Answer;
    use crate::model::operation::Operation;
    use crate::model::permit::Settlement;
    use crate::model::request::Request;
    use crate::store::redis::tally::{Tallies, Tally};

    fn submitted(session: &mut ConnectionState, tickets: std::ops::Range<u64>) {
        let limiter = Paddlegate::open("redis://localhost", None).unwrap();
        let limiter = limiter.leaky("session", 5, std::time::Duration::from_secs(60)).unwrap();
        for ticket in tickets {
            let Ok(Prepared::Call(call)) = limiter.prepare(Operation::Acquire(Request::cost(1))) else {
                panic!("no call")
            };
            session.submit(ticket, call);
        }
    }

    /// Submits a call that takes along the counts of some limiters, and returns these, with the bytes of each report.
    fn submitted_with_counts(session: &mut ConnectionState, limiters: u16) -> (Arc<Tallies>, Vec<usize>) {
        let all: Arc<Tallies> = Arc::default();
        let tallies: Vec<_> = (0..limiters).map(|slot| Arc::new(Tally::new(slot, "key".to_owned(), &all))).collect();
        for tally in &tallies {
            tally.count(Micros(1), None, 1, false, None);
        }
        let call = Call::reports(all.all(None)).expect("counts");
        let sizes = call.ahead().iter().map(|report| report.bytes().len()).collect();
        session.submit(0, call);
        (all, sizes)
    }

    fn left(all: &Tallies) -> usize {
        all.all(None).len()
    }

    #[test]
    fn counts_that_the_host_has_taken_are_not_sent_again_when_it_drops_the_connection() {
        for (url, is_taken, expected) in [
            ("redis://localhost", true, 0),
            ("redis://localhost", false, 3),
            ("redis://:secret@localhost", true, 3), // They wait for the login.
        ] {
            let location = RedisConfig::parse(url).unwrap();
            let mut session = ConnectionState::new(&location, location.nodes[0].clone());
            let (all, _) = submitted_with_counts(&mut session, 3);
            if is_taken {
                session.output();
            }
            drop(session);
            assert_eq!(left(&all), expected, "{url} {is_taken}");
        }
    }

    #[test]
    fn counts_that_were_written_in_full_are_not_sent_again_with_a_call_that_was_not() {
        let location = RedisConfig::parse("redis://localhost").unwrap();
        // How many reports are written, and how many bytes are missing of the last.
        for (whole, missing, expected) in [(0, 0, 2), (1, 1, 2), (1, 0, 1), (2, 1, 1), (2, 0, 0)] {
            let mut session = ConnectionState::new(&location, location.nodes[0].clone());
            let (all, sizes) = submitted_with_counts(&mut session, 3);
            session.output();
            // The third is the call itself.
            let again = session.recall(sizes.iter().take(whole).sum::<usize>() - missing);
            assert_eq!((again.len(), left(&all)), (1, expected));
        }
    }

    #[test]
    fn counts_of_a_call_without_a_reply_are_not_sent_again() {
        let location = RedisConfig::parse("redis://localhost").unwrap();
        let mut session = ConnectionState::new(&location, location.nodes[0].clone());
        let (all, _) = submitted_with_counts(&mut session, 3);
        session.output();
        session.receive(b"-OOM\r\n", &mut Vec::new()).unwrap();
        session.fail(&Error::unknown_outcome("lost"));
        assert_eq!(left(&all), 1, "only the first was refused");
    }

    fn counted(finished: Vec<Completion>) -> Vec<(u64, bool)> {
        let counted = finished.into_iter().map(|done| match done.outcome {
            CallOutcome::Answered(Err(error)) => (done.ticket, error.may_have_counted()),
            other => panic!("{other:?}"),
        });
        counted.collect()
    }

    #[test]
    fn calls_that_a_replica_refused_or_that_were_not_sent_did_not_count() {
        let location = RedisConfig::parse("redis://localhost").unwrap();
        let mut session = ConnectionState::new(&location, location.nodes[0].clone());
        submitted(&mut session, 0..4);
        session.output();
        submitted(&mut session, 4..6);
        let mut finished = Vec::new();
        let replies = b"-READONLY You can't write against a read only replica.\r\n".repeat(3);
        let error = session.receive(&replies, &mut finished).unwrap_err();
        assert_eq!(counted(finished), [(0, false), (1, false), (2, false)]);
        assert_eq!(counted(session.fail(&error)), [(3, true), (4, false), (5, false)]);
    }

    #[test]
    fn calls_that_wait_for_the_login_did_not_count() {
        let location = RedisConfig::parse("redis://:secret@localhost/3").unwrap();
        let mut session = ConnectionState::new(&location, location.nodes[0].clone());
        submitted(&mut session, 0..1);
        session.output();
        let error = Error::unknown_outcome("lost");
        assert_eq!(counted(session.fail(&error)), [(0, false)]);
    }

    #[test]
    fn a_cancellation_follows_a_call_that_is_sent_again() {
        let pg = Paddlegate::open("redis://localhost", None).unwrap();
        let workers = pg.concurrent("workers", 1, std::time::Duration::from_secs(60)).unwrap();
        let location = pg.redis().unwrap().location();
        for gave_up in [false, true] {
            let mut session = ConnectionState::new(location, location.nodes[0].clone());
            let operations = [
                Operation::AcquireWithId { id: "a", request: Request::cost(1), wait: None },
                Operation::Cancel { id: "a", gave_up },
                Operation::Cancel { id: "b", gave_up },
            ];
            for (ticket, operation) in (0..).zip(operations) {
                let Ok(Prepared::Call(call)) = workers.prepare(operation) else { panic!("no call") };
                session.submit(ticket, call);
            }
            session.output();
            let mut finished = Vec::new();
            // Another process has loaded the script before the cancellation arrives, which finds nothing.
            session.receive(b"-NOSCRIPT\r\n*1\r\n:6\r\n*1\r\n:8\r\n", &mut finished).unwrap();
            assert!(matches!(finished[..], [Completion { ticket: 2, .. }]), "{finished:?}");
            let sent = String::from_utf8(session.output()).unwrap();
            let at = |text: &str| sent.find(text).expect(text);
            assert!(at("EVAL\r\n") < at("cancel\r\n$1\r\n0\r\n"), "{sent:?}");
            assert!(sent.ends_with("a\r\n$0\r\n\r\n"), "a refusal counts once: {sent:?}");
            session.receive(b"-ERR\r\n*1\r\n:8\r\n", &mut finished).unwrap();
            let CallOutcome::Answered(Ok(Answer::Settlement(settlement))) = &finished[2].outcome else { panic!() };
            assert_eq!((finished[2].ticket, *settlement), (1, Settlement::Cancelled));
            assert!(session.is_idle());
        }
    }
}
