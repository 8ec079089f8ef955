//! Routes: the node of a call, and the next step of a call that one connection could not complete. No I/O, no clock.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::call::{Call, CallOutcome};
use super::config::{Address, RedisConfig};
use crate::base::error::{Error, Result};
use crate::base::locked;
use crate::base::micros::Micros;
use crate::model::operation::Answer;

const SLOTS: u16 = 16_384;

/// The next step of a call after a connection has finished with it.
#[derive(Debug)]
pub enum Next {
    /// The call is complete.
    Done(Result<Answer>),
    /// Submit the call to the connection to its [node](super::Redis::route).
    Send(Call),
    /// Submit the call to the connection to its node after this pause.
    SendAfter(Call, Micros),
}

/// The owners of slots, as learned from redirections.
#[derive(Default)]
pub(crate) struct Routes {
    learned: Mutex<HashMap<u16, Address>>,
    /// The last learned owner of each slot, kept even when it does not reply.
    owners: Mutex<HashMap<u16, Address>>,
    /// Index of the URL's node that receives calls for unknown slots.
    first: AtomicUsize,
}

impl Routes {
    /// Returns the node for a call: the target of its redirection, the learned node of its slot, or the current default
    /// node of the URL.
    pub(crate) fn node(&self, location: &RedisConfig, call: &Call) -> Address {
        call.asking().cloned().unwrap_or_else(|| self.node_of_slot(location, call.slot()))
    }

    pub(crate) fn node_of_slot(&self, location: &RedisConfig, slot: u16) -> Address {
        let first = &location.nodes[self.first.load(Ordering::Relaxed) % location.nodes.len()];
        locked(&self.learned).get(&slot).unwrap_or(first).clone()
    }

    /// Returns the last node known to own a slot, even if it does not reply.
    pub(crate) fn owner(&self, slot: u16) -> Option<Address> {
        locked(&self.owners).get(&slot).cloned()
    }

    /// Forgets a node that does not reply, so that its slots are routed to another node.
    pub(crate) fn forget(&self, location: &RedisConfig, address: &Address) {
        locked(&self.learned).retain(|_, node| node != address);
        let first = self.first.load(Ordering::Relaxed);
        if location.nodes[first % location.nodes.len()] == *address {
            self.first.store(first + 1, Ordering::Relaxed);
        }
    }

    /// See [`Redis::next`](super::Redis::next).
    pub(crate) fn next(&self, outcome: CallOutcome, left: Duration) -> Next {
        match outcome {
            CallOutcome::Answered(result) => Next::Done(result),
            CallOutcome::Moved(call, address) => {
                self.learn(call.slot(), &address);
                Next::Send(call)
            }
            CallOutcome::Asked(call) | CallOutcome::Further(call) => Next::Send(call),
            CallOutcome::RetryAfter(_, pause) if pause.duration() >= left => Next::Done(Err(Error::slot_is_moving())),
            CallOutcome::RetryAfter(call, pause) => Next::SendAfter(call, pause),
        }
    }

    fn learn(&self, slot: u16, address: &Address) {
        locked(&self.learned).insert(slot, address.clone());
        locked(&self.owners).insert(slot, address.clone());
    }
}

/// See [`Redis::next_unsent`](super::Redis::next_unsent).
pub(crate) fn next_unsent(
    location: &RedisConfig,
    mut call: Call,
    error: Error,
    had_worked: bool,
    left: Duration,
) -> Next {
    if !had_worked {
        call.count_failure();
    }
    if call.failures() >= location.nodes.len() || left.is_zero() {
        return Next::Done(Err(error));
    }
    Next::Send(call)
}

/// Parses the address in `MOVED 3999 host:port` or `ASK ...`. An empty host means the node that replied.
pub(crate) fn redirection(error: &str, answered: &Address) -> Option<Address> {
    let mut words = error.split(' ').skip(1);
    let slot: u16 = words.next()?.parse().ok()?;
    let target = words.next()?;
    let (host, port) = target.rsplit_once(':')?;
    let host = match (host, answered) {
        ("", Address::Tcp(host, _)) => host,
        ("" | "?", _) => return None,
        (host, _) => host.trim_matches(['[', ']']),
    };
    (slot < SLOTS).then_some(Address::Tcp(host.to_owned(), port.parse().ok()?))
}

/// Returns the slot of a hash tag: CRC16 (XMODEM) modulo 16384, as in the cluster specification.
pub(crate) fn slot(tag: &[u8]) -> u16 {
    let mut crc: u16 = 0;
    for byte in tag {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
        }
    }
    crc % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::Cause;
    use crate::client::paddlegate::Paddlegate;
    use crate::client::prepared::Prepared;
    use crate::model::operation::Operation;
    use crate::model::request::Request;
    use crate::store::redis::call::Step;
    use crate::store::redis::wire::Value;

    const LEFT: Duration = Duration::from_secs(1);

    fn location() -> RedisConfig {
        RedisConfig::parse("redis://a:1,b:2,c:3").unwrap()
    }

    fn call() -> Call {
        let limiter = Paddlegate::open("redis://a:1,b:2,c:3", None).unwrap();
        let limiter = limiter.leaky("route", 5, Duration::from_secs(60)).unwrap();
        match limiter.prepare(Operation::Acquire(Request::cost(1))) {
            Ok(Prepared::Call(call)) => call,
            other => panic!("no call: {other:?}"),
        }
    }

    /// Replies to a call with an error of the server.
    fn reply(routes: &Routes, call: Call, error: &str, left: Duration) -> Next {
        let node = routes.node(&location(), &call);
        match call.answer(Value::Error(error.to_owned()), &node) {
            Step::Done(outcome) => routes.next(outcome, left),
            Step::Again(_) => panic!("sent again to the same node: error={error}"),
        }
    }

    fn node(routes: &Routes, call: &Call) -> String {
        routes.node(&location(), call).to_string()
    }

    fn sent(next: Next) -> Call {
        match next {
            Next::Send(call) => call,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_moved_slot_keeps_its_new_node_and_a_slot_that_is_being_moved_only_for_one_attempt() {
        let routes = Routes::default();
        let asked = sent(reply(&routes, call(), "ASK 1 x:7", LEFT));
        assert_eq!(node(&routes, &asked), "x:7");
        assert_eq!(node(&routes, &call()), "a:1", "other calls");
        let Next::SendAfter(again, _) = reply(&routes, asked, "TRYAGAIN later", LEFT) else { panic!("no pause") };
        assert_eq!(node(&routes, &again), "a:1", "the next attempt");
        let moved = sent(reply(&routes, again, "MOVED 1 y:8", LEFT));
        assert_eq!((node(&routes, &moved), node(&routes, &call())), ("y:8".to_owned(), "y:8".to_owned()));
        routes.forget(&location(), &Address::Tcp("y".to_owned(), 8));
        assert_eq!(node(&routes, &moved), "a:1");
    }

    #[test]
    fn a_call_is_not_repeated_after_a_pause_that_ends_at_its_deadline() {
        let routes = Routes::default();
        let Next::SendAfter(call, pause) = reply(&routes, call(), "TRYAGAIN later", LEFT) else { panic!("no pause") };
        let Next::Done(Err(error)) = reply(&routes, call, "TRYAGAIN later", pause.duration()) else {
            panic!("repeated")
        };
        assert_eq!((error.cause(), error.may_have_counted()), (Cause::Slot, false));
    }

    #[test]
    fn an_unsent_call_fails_after_one_attempt_for_each_node_or_at_its_deadline() {
        let (routes, location) = (Routes::default(), location());
        let fail = |call, left| {
            let node = routes.node(&location, &call);
            routes.forget(&location, &node);
            next_unsent(&location, call, Error::unavailable("refused"), false, left)
        };
        let mut call = sent(fail(self::call(), LEFT));
        assert_eq!(node(&routes, &call), "b:2");
        for _ in 0..9 {
            call = sent(next_unsent(&location, call, Error::unavailable("closed"), true, LEFT));
        }
        call = sent(fail(call, LEFT));
        assert_eq!(node(&routes, &call), "c:3");
        assert!(matches!(fail(call, LEFT), Next::Done(Err(_))), "three nodes have failed");
        assert!(matches!(fail(self::call(), Duration::ZERO), Next::Done(Err(_))), "the deadline has passed");
        let closed = next_unsent(&location, self::call(), Error::unavailable("closed"), true, Duration::ZERO);
        assert!(matches!(closed, Next::Done(Err(_))), "also of a connection that had worked");
    }

    #[test]
    fn a_call_leaves_the_target_of_its_redirection_when_that_cannot_be_reached() {
        let routes = Routes::default();
        let asked = sent(reply(&routes, call(), "ASK 1 x:7", LEFT));
        let again = sent(next_unsent(&location(), asked, Error::unavailable("refused"), false, LEFT));
        assert_eq!(node(&routes, &again), "a:1");
    }

    #[test]
    fn slots_are_those_of_the_cluster_specification() {
        // The check value of CRC16/XMODEM, and slots that redis-server 7.0 answered to CLUSTER KEYSLOT.
        assert_eq!(slot(b"123456789"), 0x31c3);
        assert_eq!(slot(b"foo"), 12_182);
        assert_eq!(slot(b""), 0);
    }

    #[test]
    fn redirections_are_read() {
        let here = Address::Tcp("h".into(), 1);
        assert_eq!(redirection("MOVED 3999 10.0.0.1:7001", &here), Some(Address::Tcp("10.0.0.1".into(), 7001)));
        assert_eq!(redirection("ASK 1 :7001", &here), Some(Address::Tcp("h".into(), 7001)));
        assert_eq!(redirection("MOVED 1 ?:7001", &here), None);
        assert_eq!(redirection("MOVED", &here), None);
    }
}
