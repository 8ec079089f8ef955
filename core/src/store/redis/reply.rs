//! Decodes the script's replies; `engine/state.lua` defines the order of the items.

use super::keys::decode_limit;
use super::wire::Value;
use crate::base::charge::Charge;
use crate::base::error::{Cause, Error, Result};
use crate::base::micros::Micros;
use crate::engine::budget::ReportOutcome;
use crate::engine::reply::{Extended, LeaseAndTicket, LimitNumbers, Reply};
use crate::model::decision::Status;
use crate::model::label::too_many_labels;
use crate::model::limit::Limit;
use crate::model::mode::Mode;
use crate::model::overrides::{RuntimeState, has_passed};
use crate::model::permit::Settlement;
use crate::model::policy::Policy;
use crate::model::turns::ReadyCalls;

/// The status of a call that only shadow granted.
const GRANTED_IN_SHADOW: u64 = 6;

pub(super) fn decision(items: &[Value], policy: &Policy) -> Result<Reply> {
    let natural = |i: usize| {
        let number = items.get(i).and_then(integer);
        number.and_then(|number| u64::try_from(number).ok()).ok_or_else(garbled)
    };
    let (items, limits) = match items {
        [items @ .., Value::Array(limits)] => (items, limit_numbers(limits)?),
        items => (items, Box::default()),
    };
    if !matches!(items.len(), 6 | 7 | 13 | 14) {
        return Err(garbled());
    }
    let code = natural(0)?;
    let status = match code {
        0 => Status::Refused,
        1 | GRANTED_IN_SHADOW => Status::Granted,
        2 => Status::Queued,
        3 => Status::NoTicket,
        _ => return Err(garbled()),
    };
    let index = usize::try_from(natural(1)?).ok().filter(|index| *index <= policy.limits().len() + 1);
    let lease_and_ticket = if items.len() < 13 {
        LeaseAndTicket::default()
    } else {
        LeaseAndTicket {
            lease: natural(6)?,
            fencing_token: natural(7)?,
            number: natural(8)?,
            position: natural(9)?,
            ready: u64::try_from(integer(&items[10]).ok_or_else(garbled)?).ok(),
            granted_at: natural(11)?,
            charged: charge(&items[12]).ok_or_else(garbled)?,
        }
    };
    Ok(Reply {
        status,
        would_refuse: code == GRANTED_IN_SHADOW,
        index: index.ok_or_else(garbled)?,
        remaining: natural(2)?,
        retry_after: natural(3)?,
        reset_after: natural(4)?,
        at: natural(5)?,
        amount: if matches!(items.len(), 7 | 14) { Some(natural(items.len() - 1)?) } else { None },
        lease_and_ticket,
        limits,
    })
}

/// Decodes the numbers of each limit.
fn limit_numbers(items: &[Value]) -> Result<Box<[LimitNumbers]>> {
    let numbers = parse_u64s(items);
    if numbers.len() != items.len() || !numbers.len().is_multiple_of(5) {
        return Err(garbled());
    }
    let of_limit = |numbers: &[u64]| match *numbers {
        [amount, interval, remaining, wait, reset] => LimitNumbers { amount, interval, remaining, wait, reset },
        _ => LimitNumbers::default(),
    };
    Ok(numbers.chunks(5).map(of_limit).collect())
}

/// Decodes the reply to an extension: a decision with the whole charge behind the time, or why the permit is not open.
pub(super) fn extension(items: &[Value], policy: &Policy) -> Result<Extended> {
    if items.len() == 1 {
        return settlement(items).map(Err);
    }
    let charged = items.get(6).and_then(charge).ok_or_else(garbled)?;
    let numbers: Vec<Value> = items.iter().enumerate().filter(|(i, _)| *i != 6).map(|(_, item)| item.clone()).collect();
    Ok(Ok((decision(&numbers, policy)?, charged)))
}

/// Decodes the charge of a lease: a number, or one for each limit.
fn charge(item: &Value) -> Option<Charge> {
    match item {
        Value::Integer(units) => u64::try_from(*units).ok().map(Charge::All),
        Value::Text(text) => Charge::parse(std::str::from_utf8(text).ok()?),
        _ => None,
    }
}

pub(super) fn runtime_state(items: &[Value]) -> Result<RuntimeState> {
    let [version, pause, expires, overrides, learned, in_use, Value::Text(mode), block] = items else {
        return Err(garbled());
    };
    let number = |value| integer(value).and_then(|number| u64::try_from(number).ok()).ok_or_else(garbled);
    let limits = |value: &Value| -> Result<Vec<Limit>> {
        let Value::Text(text) = value else { return Err(garbled()) };
        let text = std::str::from_utf8(text).map_err(|_| garbled())?;
        text.split(',').filter(|word| !word.is_empty()).map(|word| decode_limit(word).ok_or_else(garbled)).collect()
    };
    let span = |span: u64| (span > 0).then_some(Micros(span));
    Ok(RuntimeState {
        version: number(version)?,
        in_use: number(in_use)? == 1,
        paused_for: span(number(pause)?),
        blocked_for: span(number(block)?),
        mode: overriding_mode(mode)?,
        overrides: limits(overrides)?,
        expires_after: span(number(expires)?),
        learned: limits(learned)?,
    }
    .sorted())
}

/// Decodes the queued calls whose turn has come.
pub(super) fn ready_calls(items: &[Value]) -> Result<ReadyCalls> {
    let [Value::Integer(after), items @ ..] = items else { return Err(garbled()) };
    let id = |item: &Value| match item {
        Value::Text(id) => String::from_utf8(id.clone()).map_err(|_| garbled()),
        _ => Err(garbled()),
    };
    let after = Micros(u64::try_from(*after).map_err(|_| garbled())?);
    Ok(ReadyCalls { ids: items.iter().map(id).collect::<Result<_>>()?, after })
}

/// Decodes the override of the mode.
pub(super) fn overriding_mode(letter: &[u8]) -> Result<Option<Mode>> {
    match letter {
        b"" => Ok(None),
        [letter] => Ok([Mode::Shadow, Mode::Enforce].into_iter().find(|mode| mode.letter() == char::from(*letter))),
        _ => Err(garbled()),
    }
}

pub(super) fn settlement(items: &[Value]) -> Result<Settlement> {
    match items {
        [Value::Integer(3)] => Ok(Settlement::Settled),
        [Value::Integer(4)] => Ok(Settlement::Already),
        [Value::Integer(5)] => Ok(Settlement::Late),
        [Value::Integer(6)] => Ok(Settlement::Unknown),
        [Value::Integer(7)] => Ok(Settlement::Released),
        [Value::Integer(8)] => Ok(Settlement::Cancelled),
        _ => Err(garbled()),
    }
}

/// Decodes the script's reply to a report on `limits` limits.
pub(super) fn report_outcome(items: &[Value], limits: usize) -> Result<ReportOutcome> {
    let (Some(status), rest) = (items.get(..1), parse_u64s(items.get(1..).unwrap_or_default())) else {
        return Err(garbled());
    };
    match rest[..] {
        [flags, ref marks @ ..] if marks.len() == limits && items.len() == limits + 2 => {
            Ok(ReportOutcome { settlement: settlement(status)?, flags, marks: marks.to_vec() })
        }
        _ => Err(garbled()),
    }
}

pub(super) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(number) => Some(*number),
        _ => None,
    }
}

/// Returns the leading items that are non-negative integers.
pub(super) fn parse_u64s(items: &[Value]) -> Vec<u64> {
    items.iter().map_while(integer).map_while(|number| u64::try_from(number).ok()).collect()
}

/// Converts an error reply by what the caller can do. The call was not executed, except that a script which was stopped may have written.
pub(super) fn reply_error(error: &str) -> Error {
    let shown: String = error.chars().take(200).collect();
    // Redis 6.2 wraps the error in a script error.
    if error.contains("WRONGTYPE ") && !error.starts_with("PGAFTER ") {
        return Error::data("a key of this limiter holds a value of another program; use another database or name");
    }
    if is_without_login(error) {
        return Error::unavailable(
            "redis needs a password (NOAUTH); put it into the url: redis://:password@host or redis://user:password@host",
        )
        .because(Cause::Rights);
    }
    if is_of_replica(error) {
        return Error::unavailable("the server is a replica, try again: error=READONLY").because(Cause::Demoted);
    }
    match error.split(' ').next().unwrap_or_default() {
        "CROSSSLOT" => {
            Error::invalid("group", "limiters that decide together in a cluster need the same group; give one to each")
        }
        "MOVED" | "ASK" | "TRYAGAIN" | "CLUSTERDOWN" => {
            Error::unavailable(format!("the cluster does not serve the slot now, try again: error={shown:?}"))
                .because(Cause::Slot)
        }
        "WRONGTYPE" => {
            Error::data("a key of this limiter holds a value of another program; use another database or name")
        }
        "PGDATA" => Error::data(shown.strip_prefix("PGDATA ").unwrap_or("the stored value is damaged").to_owned()),
        "PGLABELS" => too_many_labels(),
        "PGPAST" => {
            let mut words = error.split(' ').skip(1);
            let argument = if words.next() == Some("until") { "until" } else { "expires_at" };
            let mut time = || words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
            has_passed(argument, time(), time())
        }
        "PGINVALID" => Error::internal(format!("the script refused an argument: error={shown:?}")),
        // The script was stopped while running and may have written. A function behind a decision comes after the writes of that.
        "ERR" if error.contains("user_script") => script_failed(&shown),
        "PGAFTER" => script_failed(shown.strip_prefix("PGAFTER ").unwrap_or(&shown)),
        _ => {
            let refused = Error::unavailable(format!("redis refused the call: error={shown:?}"));
            if is_of_rights(error) { refused.because(Cause::Rights) } else { refused }
        }
    }
}

/// Returns whether the login or the rights of the user are wrong.
pub(super) fn is_of_rights(error: &str) -> bool {
    ["NOPERM", "WRONGPASS", "NOAUTH"].iter().any(|code| error.starts_with(code))
}

fn script_failed(error: &str) -> Error {
    Error::unknown_outcome(format!("the script failed: error={error:?}"))
}

/// Returns whether the server requires a login. It refuses long commands with a protocol error before it parses them.
pub(super) fn is_without_login(error: &str) -> bool {
    error.starts_with("NOAUTH") || error.contains("Protocol error: unauthenticated ")
}

/// Returns whether the server is a replica, which refuses writes: the script ended at its first write.
pub(super) fn is_of_replica(error: &str) -> bool {
    // Redis 6.2 wraps the error in a script error.
    error.starts_with("READONLY") || error.starts_with("ERR ") && error.contains("READONLY You can't write against")
}

pub(super) fn garbled() -> Error {
    Error::data("unexpected reply to the script of this library; check that the server is redis or valkey")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::ErrorKind;

    #[test]
    fn damaged_state_is_an_error_also_without_a_text() {
        for (error, message) in
            [("PGDATA", "the stored value is damaged"), ("PGDATA ", ""), ("PGDATA a log", "a log"), ("PGDATA é", "é")]
        {
            let converted = reply_error(error);
            assert_eq!((converted.kind(), converted.message()), (ErrorKind::Data, message), "{error:?}");
        }
    }

    #[test]
    fn errors_say_whose_they_are() {
        for (error, cause) in [
            ("READONLY You can't write against a read only replica.", Cause::Demoted),
            ("ERR Error running script: @user_script:1: -READONLY You can't write against a read", Cause::Demoted),
            ("MOVED 1 a:1", Cause::Slot),
            ("ASK 1 a:1", Cause::Slot),
            ("TRYAGAIN Multiple keys request during rehashing of slot", Cause::Slot),
            ("CLUSTERDOWN Hash slot not served", Cause::Slot),
            ("LOADING Redis is loading the dataset in memory", Cause::Store),
            ("NOAUTH Authentication required.", Cause::Rights),
            ("NOPERM User app has no permissions to run the 'evalsha' command", Cause::Rights),
        ] {
            let converted = reply_error(error);
            assert_eq!((converted.kind(), converted.cause()), (ErrorKind::Unavailable, cause), "{error}");
            assert!(!converted.may_have_counted(), "{error}");
        }
    }
}
