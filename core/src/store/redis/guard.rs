//! `Guard`: functions of the caller that run in the same script as a decision.

use std::sync::Arc;

use once_cell::race::OnceBox;

use super::call::{Call, Expects};
use super::command::Command;
use super::reply::garbled;
use super::together::Together;
use super::wire::{Value, header, word};
use crate::base::error::Result;
use crate::engine::script::Script;
use crate::model::decision::Decision;
use crate::model::operation::Answer;

/// Two Lua functions that run in the same script as a decision: one before it, which may keep it from being made, and one
/// after every limiter has passed the call.
///
/// So a program that keeps its own data in the limiters' Redis assigns a job and charges its limits in one atomic step.
/// Create a guard once: its script stays in memory for as long as the process runs.
///
/// # Examples
///
/// ```
/// use paddlegate::store::redis::Guard;
///
/// // The job must still wait; then it is active.
/// let guard = Guard::new(
///     "if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 0 then return 'gone' end",
///     "redis.call('SMOVE', KEYS[1], KEYS[2], ARGV[1])",
/// );
/// # let _ = guard;
/// ```
#[derive(Clone, Copy)]
pub struct Guard {
    script: &'static Script,
}

/// The keys and the arguments of a guard in one call, which its functions see as `KEYS` and `ARGV`.
#[derive(Clone, Copy, Debug, Default)]
pub struct GuardInput<'a> {
    /// The keys. In a cluster they must be in the slot of the limiters.
    pub keys: &'a [&'a [u8]],
    /// The arguments.
    pub arguments: &'a [&'a [u8]],
}

/// The result of a guarded operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guarded {
    /// The first function returned this text or the digits of this number, so that nothing was decided.
    Stopped(Vec<u8>),
    /// The answer of the limiters; the second function has run unless it is a refusal.
    Answered(Box<Answer>),
}

/// What stopped a guarded call, if it was stopped.
pub(crate) type Stopped = Arc<OnceBox<Vec<u8>>>;

impl Guard {
    /// Creates a guard from the bodies of its functions.
    ///
    /// `before` returns nil, so that the limiters decide, or a text or a number, so that they do not; what it writes stays
    /// in either case. `after` runs when all limiters pass the call, and after a cancellation. Both see `KEYS` and `ARGV` of [`GuardInput`].
    pub fn new(before: &str, after: &str) -> Self {
        Self { script: Box::leak(Box::new(Script::guarded(before, after))) }
    }
}

impl Call {
    /// Returns this call to several limiters with a guard around it. `stopped` gets what stops it.
    pub(crate) fn guarded(self, guard: Guard, input: GuardInput<'_>, stopped: &Stopped) -> Result<Self> {
        let slot = self.slot();
        let Expects::Together(together) = self.expects else { return Err(garbled()) };
        let command = self.command.guarded(guard.script, input.keys, input.arguments)?;
        let mut call = Self::with_slot(slot, command, guarded(Some(together), stopped));
        call.script = guard.script;
        Ok(call)
    }

    /// Creates the call of a guard alone, for limiters that decide without a store.
    pub(crate) fn of_guard(guard: Guard, input: GuardInput<'_>, stopped: &Stopped) -> Self {
        let mut bytes = Vec::new();
        header(&mut bytes, 5 + input.keys.len() + input.arguments.len());
        let [keys, arguments] = [input.keys, input.arguments].map(|words| words.len().to_string());
        let head: [&[u8]; 3] = [b"EVALSHA", guard.script.digest.as_bytes(), keys.as_bytes()];
        let counts: [&[u8]; 2] = [keys.as_bytes(), arguments.as_bytes()];
        let words = head.iter().chain(input.keys).chain(&counts).chain(input.arguments);
        words.for_each(|text| word(&mut bytes, text));
        let mut call = Self::with_slot(0, Command::new(bytes), guarded(None, stopped));
        call.script = guard.script;
        call
    }
}

/// Returns what a guarded call expects. The answer is the limiters' answer, or of no interest when the call was stopped.
fn guarded(together: Option<Box<Together>>, stopped: &Stopped) -> Expects {
    let stopped = stopped.clone();
    let stop = move |text: Vec<u8>| {
        let _ = stopped.set(text.into());
        Ok(Answer::Reset)
    };
    Expects::Reply(Box::new(move |reply| match (reply.items()?, &together) {
        ([Value::Integer(0), Value::Text(text)], _) => stop(text.clone()),
        ([Value::Integer(0), Value::Integer(number)], _) => stop(number.to_string().into_bytes()),
        ([Value::Integer(1), Value::Array(items)], Some(together)) => together.decode(items),
        ([Value::Integer(1), Value::Array(_)], None) => Ok(Answer::Decision(Decision::unlimited(None))),
        _ => Err(garbled()),
    }))
}
