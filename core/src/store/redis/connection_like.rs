//! Calls on a connection of the `redis` crate that the caller brings.

use redis::{Cmd, RedisError, RedisResult};

use super::call::{Call, CallOutcome, Step};
use super::config::Address;
use super::wire::{Decoder, Value};
use crate::base::error::{Cause, Error, Result};
use crate::model::operation::Answer;

/// Runs a call on the connection. `node` completes the address of a redirection.
pub(crate) fn run<C: redis::ConnectionLike>(connection: &mut C, mut call: Call, node: &Address) -> Result<Answer> {
    loop {
        for mut report in call.take_ahead() {
            report.may_have_arrived();
            let reply = connection.req_packed_command(report.bytes());
            end_report(report, reply, node)?;
        }
        let reply = connection.req_packed_command(call.bytes());
        match next(call, reply, node) {
            Next::Again(same) => call = same,
            Next::Done(result) => return result,
        }
    }
}

/// As [`run`], without blocking the thread.
pub(crate) async fn run_async<C: redis::aio::ConnectionLike>(
    connection: &mut C,
    mut call: Call,
    node: &Address,
) -> Result<Answer> {
    loop {
        for mut report in call.take_ahead() {
            let command = command(&report)?;
            // Before the wait for the reply, at which the caller may drop this future.
            report.may_have_arrived();
            let reply = connection.req_packed_command(&command).await;
            end_report(report, reply, node)?;
        }
        let command = command(&call)?;
        let reply = connection.req_packed_command(&command).await;
        match next(call, reply, node) {
            Next::Again(same) => call = same,
            Next::Done(result) => return result,
        }
    }
}

/// Ends a report that a call takes along. If the connection gave no reply to it, the call fails before it is sent: it would wait as
/// long again, and so would each other report.
fn end_report(mut report: Call, reply: RedisResult<redis::Value>, node: &Address) -> Result<()> {
    if matches!(&reply, Err(error) if error.is_connection_refusal()) {
        report.did_not_arrive();
    }
    let reply = reply.map_or_else(|error| error_reply(&error), value).map_err(Error::not_counted)?;
    drop(report.answer(reply, node));
    Ok(())
}

enum Next {
    Again(Call),
    Done(Result<Answer>),
}

fn next(call: Call, reply: RedisResult<redis::Value>, node: &Address) -> Next {
    let value = match reply.map_or_else(|error| error_reply(&error), value) {
        Ok(value) => value,
        Err(error) => return Next::Done(Err(error)),
    };
    match call.answer(value, node) {
        Step::Again(call) | Step::Done(CallOutcome::Further(call)) => Next::Again(call),
        Step::Done(CallOutcome::Answered(result)) => Next::Done(result),
        Step::Done(CallOutcome::Moved(..) | CallOutcome::Asked(_)) => {
            let message =
                "the connection is to a node that does not own the slot of the limiter; pass a cluster connection";
            Next::Done(Err(Error::unavailable(message).because(Cause::Slot)))
        }
        // A pause would need a runtime.
        Step::Done(CallOutcome::RetryAfter(..)) => Next::Done(Err(Error::slot_is_moving())),
    }
}

/// Returns the words of a call as a command of the `redis` crate.
fn command(call: &Call) -> Result<Cmd> {
    let mut decoder = Decoder::default();
    decoder.feed(call.bytes());
    let Some(Value::Array(words)) = decoder.next()? else {
        return Err(Error::internal("a call is not a list of words"));
    };
    let mut command = Cmd::with_capacity(words.len(), call.bytes().len());
    for word in words {
        if let Value::Text(word) = word {
            command.arg(word);
        }
    }
    Ok(command)
}

fn value(reply: redis::Value) -> Result<Value> {
    Ok(match reply {
        redis::Value::Nil => Value::Nil,
        redis::Value::Int(number) => Value::Integer(number),
        redis::Value::BulkString(bytes) => Value::Text(bytes),
        redis::Value::SimpleString(text) => Value::Text(text.into_bytes()),
        redis::Value::Okay => Value::Text(b"OK".to_vec()),
        redis::Value::Array(items) => Value::Array(items.into_iter().map(value).collect::<Result<_>>()?),
        redis::Value::ServerError(error) => Value::Error(error_text(error.code(), error.details())),
        _ => return Err(Error::data("a reply has a type that the script does not send; check the connection")),
    })
}

/// Returns the error reply of the server, or the error of a connection that gave no reply.
fn error_reply(error: &RedisError) -> Result<Value> {
    if let Some(code) = error.code() {
        return Ok(Value::Error(error_text(code, error.detail())));
    }
    let message = format!("the connection gave no reply: error={error}");
    Err(if error.is_connection_refusal() { Error::unavailable(message) } else { Error::unknown_outcome(message) })
}

fn error_text(code: &str, detail: Option<&str>) -> String {
    format!("{code} {}", detail.unwrap_or_default())
}
