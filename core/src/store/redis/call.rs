//! `Call`: one operation, as bytes to send and replies to decode. No I/O.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::{fmt, mem};

use super::command::Command;
use super::config::Address;
use super::keys::Keys;
use super::plain::PlainCall;
use super::plain_release::PlainRelease;
use super::reply::{garbled, reply_error};
use super::route::redirection;
use super::tally::{Report, Tallies};
use super::together::Together;
use super::wire::{Value, command};
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::engine::script::Script;
use crate::engine::transaction::Entry;
use crate::model::operation::Answer;
use crate::model::permit::{Settlement, new_id};
use crate::store::refused_keys::RefusedKeys;
use crate::verbs::decision::{Asks, NEEDS_ID, Pending};
use crate::verbs::enter::Enter;
use crate::verbs::{Decode, Decoder, settlement};

/// Removes a key from those that were refused in two hours.
const FORGET: &[u8] = b"return redis.call('ZREM', KEYS[1], ARGV[1]) + redis.call('ZREM', KEYS[2], ARGV[1])";

/// The maximum number of resends of one call after redirections or while its slot is being moved.
const MAX_STEPS: u8 = 8;

/// Pause before a call is repeated while its slot is being moved.
const PAUSE: Micros = Micros(20_000);

/// An operation encoded for Redis.
pub struct Call {
    slot: u16,
    pub(super) script: &'static Script,
    /// The command with the script's digest, which is replaced by the script on `NOSCRIPT`.
    pub(super) command: Command,
    /// The same command without keys that may not exist, for a node whose slot is being moved to another.
    pub(super) existing: Option<Box<Command>>,
    pub(super) expects: Expects,
    steps: u8,
    /// The target of an `ASK` redirection, for one attempt.
    asking: Option<Address>,
    /// The number of connections that could not be opened for this call.
    failures: usize,
    /// Counts that this call takes along: calls that are sent before it, whose answers nobody needs.
    ahead: Vec<Call>,
    /// Whether a call of the same slot that was before this one was sent again, behind it.
    pub(super) is_overtaking: bool,
}

pub(super) enum Expects {
    /// A plain call; when it was not, the whole script decides.
    Plain(PlainCall),
    /// The release of a lease; when the state was not plain, the whole script decides.
    PlainRelease(Box<PlainRelease>),
    /// A decision. Of a call for units the keys and the time of a test clock: what the process knows of the state follows from it, and
    /// it may have to be repeated with an id.
    Decision(Pending, Option<(Arc<Keys>, Option<Micros>)>),
    /// The end of a call; the keys and the time of a wait for a key whose time was up, which is a refusal.
    Cancellation(Option<(Arc<Keys>, Micros)>),
    Together(Box<Together>),
    Report(Box<Report>),
    /// What decodes the reply by itself.
    Reply(Decode),
    /// One of several calls, one after the other, that lead to an answer.
    Chain(Box<dyn Chain>),
}

/// One of several calls, one after the other, that lead to an answer.
pub(super) trait Chain: Send + Sync {
    /// Returns the next call, or the answer, by the reply of a node.
    fn next(&self, reply: &Value, node: &Address) -> Result<ControlFlow<Answer, Call>>;

    /// Returns the error if a key holds a value of another program.
    fn foreign(&self) -> Option<Error> {
        None
    }
}

/// A reset, after which a call removes the key from those that were refused.
struct Forget {
    slot: u16,
    bytes: Vec<u8>,
}

impl Chain for Forget {
    fn next(&self, reply: &Value, _: &Address) -> Result<ControlFlow<Answer, Call>> {
        let decode = Decoder::Reset.decode();
        decode(reply)?;
        Ok(ControlFlow::Continue(Call::with_slot(self.slot, Command::new(self.bytes.clone()), Expects::Reply(decode))))
    }
}

/// The result of a call on one connection. [`Redis::next`](super::Redis::next) returns what follows from it.
#[derive(Debug)]
pub enum CallOutcome {
    /// The call is complete.
    Answered(Result<Answer>),
    /// The slot of the call has moved to this node.
    Moved(Call, Address),
    /// The slot of the call is being moved: the next attempt goes to the target, later calls do not.
    Asked(Call),
    /// The slot of the call is being moved: the call can be repeated after this pause.
    RetryAfter(Call, Micros),
    /// The call is complete, and its answer needs this further one.
    Further(Call),
}

/// The next step after a reply.
pub(crate) enum Step {
    /// Send the call again to the same node.
    Again(Call),
    /// The connection has finished with the call.
    Done(CallOutcome),
}

impl Call {
    /// Returns what a reset expects, after which a key is no longer among those that were refused.
    pub(super) fn reset_of(keys: &Keys, now: Micros) -> Expects {
        let Some(key) = keys.key().filter(|_| keys.counts_refused_keys()) else {
            return Expects::Reply(Decoder::Reset.decode());
        };
        let hour = RefusedKeys::hour_at(now.0);
        let [this, last] = [hour, hour.saturating_sub(1)].map(|hour| keys.refused_keys(hour));
        let mut bytes = Vec::with_capacity(256);
        command(&mut bytes, &[b"EVAL", FORGET, b"2", this.as_bytes(), last.as_bytes(), key.as_bytes()]);
        Expects::Chain(Box::new(Forget { slot: keys.slot(), bytes }))
    }

    /// Creates a call that a script of plain calls decides.
    pub(super) fn of_plain(script: &'static Script, command: Command, plain: PlainCall) -> Self {
        let slot = plain.keys.slot();
        Self { script, ..Self::with_slot(slot, command, Expects::Plain(plain)) }
    }

    /// Creates a release that a script of plain calls decides.
    pub(super) fn of_plain_release(
        script: &'static Script,
        slot: u16,
        command: Command,
        release: PlainRelease,
    ) -> Self {
        Self { script, ..Self::with_slot(slot, command, Expects::PlainRelease(Box::new(release))) }
    }

    pub(super) fn with_slot(slot: u16, command: Command, expects: Expects) -> Self {
        let script = Script::of_one();
        let (existing, asking, ahead) = (None, None, Vec::new());
        Self { slot, script, command, existing, expects, steps: 0, asking, failures: 0, ahead, is_overtaking: false }
    }

    /// Creates a call that sends these counts; `None` without any.
    pub(crate) fn reports(reports: Vec<Report>) -> Option<Self> {
        let mut calls: Vec<Self> = reports.into_iter().map(Self::report).collect();
        let last = calls.pop()?;
        Some(Self { ahead: calls, ..last })
    }

    fn report(report: Report) -> Self {
        Self::with_slot(report.slot(), Command::new(report.command()), Expects::Report(report.into()))
    }

    /// Returns the call with counts that it takes along.
    pub(crate) fn with_reports(mut self, reports: Vec<Report>) -> Self {
        self.ahead.extend(reports.into_iter().map(Self::report));
        self
    }

    /// Adds the counts that are due by now.
    #[inline]
    pub(crate) fn take_along(&mut self, tallies: &Tallies) {
        let due = tallies.due(self.slot);
        self.ahead.extend(due.into_iter().map(Self::report));
    }

    /// Takes the calls that must be sent before this one.
    pub(super) fn take_ahead(&mut self) -> Vec<Self> {
        mem::take(&mut self.ahead)
    }

    /// Returns the calls that must be sent before this one.
    #[cfg(test)]
    pub(super) fn ahead(&self) -> &[Self] {
        &self.ahead
    }

    /// Returns whether this is a cancellation that found nothing because it has overtaken the call that it cancels.
    fn came_too_early(&self, items: &[Value]) -> bool {
        let settled = match &self.expects {
            Expects::Cancellation(_) if self.is_overtaking => settlement(items).map(Answer::Settlement),
            Expects::Together(together) if self.is_overtaking && together.is_cancellation() => together.decode(items),
            _ => return false,
        };
        matches!(settled, Ok(Answer::Settlement(Settlement::Unknown)))
    }

    /// Notes that the server may have received the counts of this call.
    pub(super) fn may_have_arrived(&mut self) {
        if let Expects::Report(report) = &mut self.expects {
            report.is_sent();
        }
    }

    /// Notes that the server has not received the counts of this call.
    #[cfg(feature = "redis-rs")]
    pub(super) fn did_not_arrive(&mut self) {
        if let Expects::Report(report) = &mut self.expects {
            report.was_refused();
        }
    }

    /// Returns the encoded command.
    pub fn bytes(&self) -> &[u8] {
        &self.command.bytes
    }

    /// Returns the cluster slot of the call's keys.
    pub const fn slot(&self) -> u16 {
        self.slot
    }

    /// Returns the node of this attempt if it must be preceded by `ASKING`.
    pub(crate) const fn asking(&self) -> Option<&Address> {
        self.asking.as_ref()
    }

    /// Counts a connection that could not be opened for this call. The next attempt goes to the owner of the slot.
    pub(crate) fn count_failure(&mut self) {
        self.failures += 1;
        self.asking = None;
    }

    /// Returns the number of connections that could not be opened for this call.
    pub(crate) const fn failures(&self) -> usize {
        self.failures
    }

    /// Decodes the reply of `node`. Only calls that were certainly not executed are sent again.
    pub(crate) fn answer(mut self, reply: Value, node: &Address) -> Step {
        if let Expects::Report(report) = &mut self.expects {
            report.answered(&reply);
        }
        if let Value::Array(items) = &reply {
            if self.lower_estimate(items) {
                return Step::Again(self);
            }
            if self.came_too_early(items) {
                // What gave up has been counted.
                self.command.end_with_nothing();
                return Step::Again(self);
            }
        }
        let error = match reply {
            Value::Error(error) => error,
            reply => match (&self.expects, &reply) {
                (Expects::Plain(plain), Value::Integer(0)) => {
                    plain.keys.was_not_plain();
                    return Step::Again(Self { asking: self.asking, ..plain.whole() });
                }
                (Expects::Plain(plain), Value::Array(_) | Value::Text(_)) => {
                    return match plain.answer(&reply).transpose() {
                        Some(answer) => Step::Done(CallOutcome::Answered(answer.map(Answer::Decision))),
                        None => Step::Again(Self { asking: self.asking, ..plain.whole() }),
                    };
                }
                (Expects::PlainRelease(release), reply) => {
                    return match release.answer(reply) {
                        Some(answer) => Step::Done(CallOutcome::Answered(answer.map(Answer::Settlement))),
                        None => Step::Again(Self { asking: self.asking, ..release.whole() }),
                    };
                }
                (Expects::Decision(pending, Some((keys, at))), Value::Array(items))
                    if pending.asks == Asks::WithoutId && items.first() == Some(&Value::Integer(NEEDS_ID)) =>
                {
                    return match new_id() {
                        Ok(id) => {
                            let entry = Entry::without_queue(&id, *pending.charge, None).describing(pending.describes);
                            let call = Self::of(&Enter(entry), &pending.policy, keys, *at, None);
                            Step::Again(Self { asking: self.asking, ..call })
                        }
                        Err(error) => Step::Done(CallOutcome::Answered(Err(error))),
                    };
                }
                (Expects::Together(together), Value::Array(items)) => {
                    return match together.repeated(items) {
                        Some(repeated) => match repeated {
                            Ok(call) => Step::Again(Self { asking: self.asking, ..call }),
                            Err(error) => Step::Done(CallOutcome::Answered(Err(error))),
                        },
                        None => Step::Done(CallOutcome::Answered(together.decode(items))),
                    };
                }
                (Expects::Chain(chain), reply) => {
                    return Step::Done(match chain.next(reply, node) {
                        Ok(ControlFlow::Continue(call)) => CallOutcome::Further(call),
                        Ok(ControlFlow::Break(answer)) => CallOutcome::Answered(Ok(answer)),
                        Err(error) => CallOutcome::Answered(Err(error)),
                    });
                }
                _ => return Step::Done(CallOutcome::Answered(self.decode(&reply))),
            },
        };
        self.steps += 1;
        let failed = |error: &str| CallOutcome::Answered(Err(reply_error(error)));
        if self.steps > MAX_STEPS {
            return Step::Done(failed(&error));
        }
        match error.split(' ').next().unwrap_or_default() {
            "NOSCRIPT" => {
                self.command.send_script(self.script);
                Step::Again(self)
            }
            // The periods of a quota that the call knows do not have the store's time, which the reply says.
            "PGTIME" if self.command.correct_time(&error) => Step::Again(self),
            "MOVED" => Step::Done(match redirection(&error, node) {
                Some(address) => CallOutcome::Moved(Self { asking: None, ..self }, address),
                None => failed(&error),
            }),
            "ASK" => Step::Done(match redirection(&error, node) {
                Some(address) => CallOutcome::Asked(Self { asking: Some(address), ..self }),
                None => failed(&error),
            }),
            "TRYAGAIN" => {
                if let Expects::PlainRelease(release) = &self.expects {
                    return Step::Again(Self { asking: self.asking, ..release.whole() });
                }
                match self.existing.take() {
                    Some(command) => Step::Again(Self { command: *command, ..self }),
                    None => Step::Done(CallOutcome::RetryAfter(Self { asking: None, ..self }, PAUSE)),
                }
            }
            "WRONGTYPE" if let Expects::Chain(chain) = &self.expects => {
                Step::Done(CallOutcome::Answered(Err(chain.foreign().unwrap_or_else(|| reply_error(&error)))))
            }
            _ => Step::Done(failed(&error)),
        }
    }

    fn decode(&self, reply: &Value) -> Result<Answer> {
        match (&self.expects, reply) {
            (Expects::Reply(decode), reply) => decode(reply),
            (Expects::Report(_), Value::Integer(_)) => Ok(Answer::Reset),
            (Expects::Cancellation(refused), reply) => {
                let settlement = settlement(reply.items()?)?;
                if let Some((keys, at)) = refused {
                    keys.count_refused_key(*at);
                }
                Ok(Answer::Settlement(settlement))
            }
            (Expects::Decision(pending, asked), reply) => {
                let (reply, answer) = pending.decode(reply.items()?)?;
                if let Some((keys, _)) = asked {
                    if keys.grants_leases() {
                        keys.note_decision(reply.status, reply.remaining);
                    }
                    if pending.is_refused(&reply) {
                        keys.count_refused_key(Micros(reply.at));
                    }
                }
                Ok(answer)
            }
            _ => Err(garbled()),
        }
    }

    /// Lowers an estimate that exceeds the capacity of a limit to it, by the reply that says so. Returns whether the call is to be
    /// sent again.
    fn lower_estimate(&mut self, items: &[Value]) -> bool {
        match &mut self.expects {
            Expects::Together(together) => together.lower_estimate(&mut self.command, items),
            Expects::Decision(pending, _) => pending.lower(items).is_some_and(|units| {
                self.command.units.0 = self.command.set_units(self.command.units, &units);
                true
            }),
            _ => false,
        }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("slot", &self.slot).finish_non_exhaustive()
    }
}
