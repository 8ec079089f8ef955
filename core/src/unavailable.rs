//! `OnUnavailable`: what a limiter answers while its store cannot decide.

mod known;

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::clock;
use crate::decision::{Decision, Status};
use crate::error::{Cause, Error, ErrorKind, Result};
use crate::limit::{Kind, Limit};
use crate::limiter::{Limiter, unexpected};
use crate::micros::Micros;
use crate::operation::{Answer, Begun, Operation};
use crate::permit::{LOCAL, MAX_ID, OURS, UNLIMITED, new_id};
use crate::policy::Policy;
use crate::request::Request;

pub(crate) use known::Known;

/// What a limiter answers to `acquire`, `enter` and `peek` while the store cannot decide. The names never change.
///
/// In all but the first the decision says that it is [`degraded`](Decision::degraded), nobody waits, and after five
/// failures in a row a node is asked by one call a second only, until one succeeds. In a cluster a node that fails
/// changes nothing for the limiters of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnavailable {
    /// The error [`Unavailable`](ErrorKind::Unavailable).
    #[default]
    Raise,
    /// Refused until the store is asked again.
    Closed,
    /// Granted, and never counted. A lease granted so ends nobody else's.
    Open,
    /// Decided by this process alone, with so many hundredths of every limit: while the store is away the limits hold over
    /// all processes whose shares are not above 100 in sum. It goes on from what the store last said was left of the
    /// tightest limit, and never from more; a pause that it has heard of stays. What is granted so is not counted in the
    /// store later.
    Local {
        /// 1 to 100. A limit of which less than one unit is left refuses.
        share: u8,
    },
}

impl OnUnavailable {
    /// The mode of that name; `share` is that of `local`, by default 100.
    pub fn from_name(name: &str, share: Option<u64>) -> Result<Self> {
        match (name, share) {
            ("raise", None) => Ok(Self::Raise),
            ("closed", None) => Ok(Self::Closed),
            ("open", None) => Ok(Self::Open),
            ("local", share) => match u8::try_from(share.unwrap_or(100)) {
                Ok(share @ 1..=100) => Ok(Self::Local { share }),
                _ => Err(Error::invalid("share", format!("must be from 1 to 100: share={}", share.unwrap_or(100)))),
            },
            ("raise" | "closed" | "open", Some(_)) => {
                Err(Error::invalid("share", format!("belongs to on_unavailable=local: on_unavailable={name}")))
            }
            _ => {
                let shown: String = name.chars().take(40).collect();
                let message = format!("must be raise, closed, open or local: on_unavailable={shown:?}");
                Err(Error::invalid("on_unavailable", message))
            }
        }
    }

    /// The mode in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raise => "raise",
            Self::Closed => "closed",
            Self::Open => "open",
            Self::Local { .. } => "local",
        }
    }
}

/// How many failures in a row open the circuit.
const FAILURES: u32 = 5;

/// How often the store is asked then.
const PROBE: u64 = 1_000_000;

/// Whether a node of the store answers, as this process has seen it.
#[derive(Debug, Default)]
pub(crate) struct Circuit {
    failures: AtomicU32,
    /// When the store is asked again, by the clock of the machine; zero while the circuit is closed.
    probe_at: AtomicU64,
}

impl Circuit {
    /// How long nobody asks the store; nothing when this call may. Of those who come at that time one asks.
    pub(crate) fn wait(&self, now: u64) -> Option<u64> {
        let probe_at = self.probe_at.load(Ordering::Relaxed);
        if probe_at == 0 {
            return None;
        }
        if now < probe_at && probe_at - now <= PROBE {
            return Some(probe_at - now);
        }
        let next = self.probe_at.compare_exchange(probe_at, now + PROBE, Ordering::Relaxed, Ordering::Relaxed);
        next.is_err().then_some(PROBE)
    }

    pub(crate) fn saw(&self, answers: bool, now: u64) {
        if answers {
            self.failures.store(0, Ordering::Relaxed);
            self.probe_at.store(0, Ordering::Relaxed);
        } else if self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= FAILURES {
            self.probe_at.store(now + PROBE, Ordering::Relaxed);
        }
    }
}

/// What becomes of an operation that is carried by the host and may fail: keep it until then.
#[derive(Clone, Debug)]
pub struct Fallback {
    limiter: Limiter,
    /// Of the node that the limiter was at when the operation began.
    circuit: Arc<Circuit>,
    request: Request,
    id: Option<String>,
    looks: bool,
}

impl Fallback {
    /// Takes the outcome of the operation; in place of an error of the store the decision that the limiter has for it.
    pub fn settle(&self, result: Result<Answer>) -> Result<Answer> {
        let failure = result.as_ref().err().filter(|error| error.kind() == ErrorKind::Unavailable);
        let (fails, cause) = (failure.is_some(), failure.map(Error::cause));
        if cause == Some(Cause::Signal) {
            return result;
        }
        // A node that speaks of one slot serves its others.
        let answers = !fails || cause == Some(Cause::Slot);
        let now = clock::now();
        if let Some(circuit) = self.limiter.circuit() {
            circuit.saw(answers, now);
        }
        if answers {
            // The node that it was at is alive, or another has taken its place: in both cases its limiters ask again.
            self.circuit.saw(true, now);
        }
        if let Ok(Answer::Decision(decision)) = &result {
            self.limiter.hear_of(decision);
        }
        if fails { self.decide(PROBE).map(Answer::Decision) } else { result }
    }

    fn decide(&self, wait: u64) -> Result<Decision> {
        match self.limiter.on_unavailable() {
            OnUnavailable::Raise => Err(Error::unavailable("the store cannot decide")),
            OnUnavailable::Closed => Ok(refused(self.limiter.policy(), wait)),
            OnUnavailable::Open => {
                let keeps = self.request.estimate.is_some() || self.limiter.policy().concurrency().is_some();
                let permit = (keeps && !self.looks).then(|| UNLIMITED.to_owned());
                Ok(Decision { degraded: true, ..Decision::unlimited(permit) })
            }
            OnUnavailable::Local { .. } => match self.limiter.local() {
                None => Ok(refused(self.limiter.policy(), wait)),
                Some(local) => self.ask(local, wait).map(|decision| Decision { degraded: true, ..decision }),
            },
        }
    }

    fn ask(&self, local: &Limiter, wait: u64) -> Result<Decision> {
        self.limiter.go_on(local)?;
        let begun = if self.looks {
            local.begin(Operation::Peek(self.request))
        } else {
            // Its mark tells a later release where the lease is.
            let id = match &self.id {
                Some(id) if id.len() < MAX_ID => format!("{LOCAL}{id}"),
                Some(id) => format!("{OURS}{:016x}", BuildHasherDefault::<DefaultHasher>::default().hash_one(id)),
                None => format!("{LOCAL}{}", new_id()?),
            };
            local.enter_marked(self.request, &id)
        };
        match begun {
            Ok(Begun::Answered(Answer::Decision(decision))) => Ok(decision),
            Ok(Begun::Answered(other)) => Err(unexpected(&other)),
            #[cfg(feature = "redis")]
            Ok(Begun::Call(_)) => Err(Error::internal("a call without a server")),
            // More than this process alone ever lets pass.
            Err(error) if error.kind() == ErrorKind::Invalid => Ok(refused(local.policy(), wait)),
            Err(error) => Err(error),
        }
    }
}

fn refused(policy: &Policy, wait: u64) -> Decision {
    Decision {
        status: Status::Refused,
        limit: policy.limits().first().map(Limit::amount),
        remaining: Some(0),
        retry_after: Some(Micros(wait)),
        reset_after: None,
        permit: None,
        degraded: true,
        ..Decision::unlimited(None)
    }
}

impl Limiter {
    /// What becomes of an operation, should the store fail; nothing when its error stands.
    pub fn fallback(&self, operation: &Operation<'_>) -> Option<Fallback> {
        let circuit = self.circuit()?;
        let (request, id, looks) = match *operation {
            Operation::Acquire(request) => (request, None, false),
            Operation::Enter { request, id, .. } => (request, Some(id.to_owned()), false),
            Operation::Peek(request) => (request, None, true),
            _ => return None,
        };
        Some(Fallback { limiter: self.clone(), circuit, request, id, looks })
    }

    /// The answer to an operation while the store is not asked.
    pub(crate) fn unasked(&self, operation: &Operation<'_>) -> Option<Result<Decision>> {
        let fallback = self.fallback(operation)?;
        let wait = fallback.circuit.wait(clock::now())?;
        Some(fallback.decide(wait))
    }
}

/// The same limits with so many hundredths of each; nothing when of one less than a unit is left.
pub(crate) fn shared(policy: &Policy, share: u8) -> Option<Policy> {
    let part = |limit: &Limit| {
        let share = u64::from(share);
        let (amount, interval) = match limit.kind() {
            Kind::Throttle => (1, Micros(limit.interval().0 * 100 / share)),
            _ => (limit.amount() * share / 100, limit.interval()),
        };
        Limit::of_kind(limit.kind(), amount, interval, limit.offset())
    };
    let limits: Result<Vec<Limit>> = policy.limits().iter().map(part).collect();
    limits.and_then(Policy::new).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_failures_in_a_row_open_the_circuit_and_one_call_a_second_asks() {
        let circuit = Circuit::default();
        for _ in 0..4 {
            circuit.saw(false, 10);
        }
        circuit.saw(true, 10);
        for _ in 0..4 {
            circuit.saw(false, 10);
        }
        assert_eq!(circuit.wait(11), None);
        circuit.saw(false, 100);
        assert_eq!(circuit.wait(100), Some(PROBE));
        assert_eq!(circuit.wait(100 + PROBE - 1), Some(1));
        assert_eq!(circuit.wait(100 + PROBE), None, "this one asks");
        assert_eq!(circuit.wait(100 + PROBE), Some(PROBE), "and the others do not");
        circuit.saw(false, 200 + PROBE);
        assert_eq!(circuit.wait(300 + PROBE), Some(PROBE - 100));
        circuit.saw(true, 400 + PROBE);
        assert_eq!(circuit.wait(400 + PROBE), None);
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_keep_the_circuit_open() {
        let circuit = Circuit::default();
        (0..FAILURES).for_each(|_| circuit.saw(false, 1_000 * PROBE));
        assert_eq!(circuit.wait(PROBE), None);
    }

    #[test]
    fn modes_are_found_by_name_and_share() {
        for mode in [OnUnavailable::Raise, OnUnavailable::Closed, OnUnavailable::Open] {
            assert_eq!(OnUnavailable::from_name(mode.name(), None), Ok(mode));
            assert_eq!(OnUnavailable::from_name(mode.name(), Some(50)).unwrap_err().argument(), Some("share"));
        }
        assert_eq!(OnUnavailable::from_name("local", None), Ok(OnUnavailable::Local { share: 100 }));
        assert_eq!(OnUnavailable::from_name("local", Some(1)), Ok(OnUnavailable::Local { share: 1 }));
        for share in [0, 101, u64::MAX] {
            assert_eq!(OnUnavailable::from_name("local", Some(share)).unwrap_err().argument(), Some("share"));
        }
        assert_eq!(OnUnavailable::from_name("Open", None).unwrap_err().argument(), Some("on_unavailable"));
    }
}
