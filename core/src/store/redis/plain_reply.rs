//! Decodes the replies of the scripts of plain calls, see `engine/plain/state.lua` and `several.lua`.
//!
//! A script that takes units replies the state that it wrote, and one that refuses them the state as it is, since a table of
//! numbers takes longer to send. What remains of each limit, and when, is computed here.

use super::reply;
use super::reply::garbled;
use super::wire::Value;
use crate::base::charge::Charge;
use crate::base::error::Result;
use crate::base::micros::MAX_TIME;
use crate::engine::plain::Plain;
use crate::engine::reply::{LeaseAndTicket, Reply};
use crate::limits::check::LimitCheck;
use crate::limits::leaky::Meter;
use crate::limits::window::Window;
use crate::model::decision::{Decision, Status};
use crate::model::limit::{Limit, Rule};
use crate::model::policy::Policy;

/// Returns the decision on a charge to these limits, the only ones of the policy.
pub(super) fn decision(limits: &[Limit], reply: &Value, policy: &Policy, charge: &Charge) -> Result<Decision> {
    let decided = match (limits, reply) {
        ([limit], Value::Text(text)) => of_one(limit, text, charge.of(0)),
        ([limit], Value::Array(items)) if matches!(limit.rule, Rule::Window(_)) => of_full_window(limit, items),
        (limits, Value::Text(text)) => granted(limits, text, charge).map(|reply| reply.decision(policy, charge, None)),
        (_, Value::Array(items)) => return Ok(reply::decision(items, policy)?.decision(policy, charge, None)),
        _ => None,
    };
    decided.ok_or_else(garbled)
}

/// Returns the decision on the units of the only limit.
fn of_one(limit: &Limit, text: &[u8], units: u64) -> Option<Decision> {
    let text = str::from_utf8(text).ok()?;
    if let Rule::Window(window) = limit.rule {
        let (entries, now) = text.split_once(' ')?;
        return Some(Plain::of_store(after_grant(window, number(entries)?, 1)?, number(now)?).decision(limit));
    }
    // Behind the end of a state that refuses is the time.
    let (state, refused_at) = match text.strip_suffix(" .") {
        Some(state) => (state, ""),
        None => text.split_once(" .")?,
    };
    let mut words = state.split(' ');
    let (last, level) = (number(words.next()?)?, number(words.nth(2)?)?);
    let (now, cost) = match refused_at {
        "" => (last, None),
        time => (number(time)?, Some(if limit.counts_starts() { 1 } else { units })),
    };
    let check = check(limit, level, last, now, cost).filter(|check| cost.is_some() == (check.wait > 0))?;
    Some(Plain::of_store(check, now).decision(limit))
}

/// Returns the check of a meter or a bucket whose level is of the time `last`.
fn check(limit: &Limit, level: u64, last: u64, now: u64, cost: Option<u64>) -> Option<LimitCheck> {
    match limit.rule {
        _ if now < last => None,
        Rule::Leaky(leaky) => {
            let meter = Meter { level, capacity: leaky.capacity, scale: leaky.scale };
            Some(leaky.decide(meter, last, now, cost, 0))
        }
        Rule::Bucket(bucket) => Some(bucket.decide(level, bucket.limit, last, now, cost, 0)),
        _ => None,
    }
}

/// Returns the check of a window by the number of its entries before the call and the units that it granted.
fn after_grant(window: Window, entries: u64, units: u64) -> Option<LimitCheck> {
    let remaining = window.limit.checked_sub(entries + units)?;
    Some(LimitCheck { level: entries, wait: 0, remaining, reset: window.interval })
}

/// Returns the decision of the only limit, a window without room.
fn of_full_window(limit: &Limit, items: &[Value]) -> Option<Decision> {
    let Rule::Window(Window { interval, .. }) = limit.rule else { return None };
    let numbers = items.iter().map(integer).collect::<Option<Vec<_>>>()?;
    let [0, level, now, expires, newest] = numbers[..] else { return None };
    let left = |entry: u64| (entry + interval).saturating_sub(now);
    let check = LimitCheck { level, wait: left(expires), remaining: 0, reset: left(newest) };
    (check.wait > 0).then(|| Plain::of_store(check, now).decision(limit))
}

/// Returns the grant of several limits: the limit with the least left describes it.
fn granted(limits: &[Limit], text: &[u8], charge: &Charge) -> Option<Reply> {
    let (state, entries) = str::from_utf8(text).ok()?.split_once(" .")?;
    let (mut words, mut entries) = (state.split(' '), entries.split(' ').skip(1));
    let at = number(words.next()?)?;
    words.next()?;
    let mut least: Option<(usize, LimitCheck)> = None;
    for (i, limit) in limits.iter().enumerate() {
        let units = charge.of(i);
        words.next()?;
        let check = if let Rule::Window(window) = limit.rule {
            let live = number(entries.next()?)?;
            if units > 0 {
                after_grant(window, live, units)?
            } else {
                let remaining = window.limit.saturating_sub(live);
                LimitCheck { level: live, wait: 0, remaining, reset: number(entries.next()?)? }
            }
        } else {
            let level = number(words.next()?)?;
            // The numbers of the limit.
            words.nth(usize::from(matches!(limit.rule, Rule::Leaky(_))))?;
            check(limit, level, at, at, None)?
        };
        if least.is_none_or(|(_, least)| check.remaining < least.remaining) {
            least = Some((i, check));
        }
    }
    let (index, LimitCheck { remaining, reset, .. }) = least?;
    Some(Reply {
        status: Status::Granted,
        would_refuse: false,
        index,
        remaining,
        retry_after: 0,
        reset_after: reset,
        at,
        amount: None,
        lease_and_ticket: LeaseAndTicket::default(),
        limits: Box::default(),
    })
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number| *number <= MAX_TIME.0)
}

fn integer(value: &Value) -> Option<u64> {
    let Value::Integer(number) = value else { return None };
    u64::try_from(*number).ok().filter(|number| *number <= MAX_TIME.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::micros::Micros;

    const SECOND: Duration = Duration::from_secs(1);

    fn decided(limits: &[Limit], reply: &Value) -> Result<Decision> {
        decision(limits, reply, &Policy::new(limits.to_vec()).unwrap(), &Charge::All(1))
    }

    fn text(text: &str) -> Value {
        Value::Text(text.as_bytes().to_vec())
    }

    #[test]
    fn what_remains_follows_from_the_state() {
        let meter = [Limit::leaky(4, SECOND).unwrap()];
        let granted = decided(&meter, &text("7000000 0 l 1000000 4 250000 .")).unwrap();
        assert_eq!((granted.allowed(), granted.remaining, granted.at), (true, Some(0), Micros(7_000_000)));
        let refused = decided(&meter, &text("7000000 0 l 1000000 4 250000 .7000010")).unwrap();
        assert_eq!(
            (refused.allowed(), refused.retry_after, refused.at),
            (false, Some(Micros(249_990)), Micros(7_000_010))
        );
        let window = [Limit::window(3, SECOND).unwrap()];
        let granted = decided(&window, &text("1 7000000")).unwrap();
        assert_eq!((granted.remaining, granted.reset_after), (Some(1), Some(Micros(1_000_000))));
        let both = [meter[0].clone(), window[0].clone()];
        let granted = decided(&both, &text("7000000 0 l 250000 4 250000 w . 2")).unwrap();
        assert_eq!((granted.remaining, granted.limit), (Some(0), Some(3)), "the window has the least left");
    }

    #[test]
    fn a_reply_that_no_script_sends_is_an_error() {
        let (meter, window) = ([Limit::leaky(4, SECOND).unwrap()], [Limit::window(3, SECOND).unwrap()]);
        for reply in [
            "",
            "7000000 0 l 1000000 4 250000",
            "7000000 0 l x 4 250000 .",
            "7000000 0 l 1000000 4 250000 .6999999",
            "7000000 0 l 0 4 250000 .7000010",
            "99999999999999999 0 l 0 4 250000 .",
        ] {
            assert!(decided(&meter, &text(reply)).is_err(), "{reply:?}");
        }
        for reply in ["3 7000000", "1", "x 7000000", "1 7000000 1"] {
            assert!(decided(&window, &text(reply)).is_err(), "{reply:?}");
        }
        for reply in [
            vec![0, 3, 7_000_000],
            vec![0, 3, 7_000_000, 5_000_000, 5_000_000],
            vec![1, 3, 7_000_000, 6_500_000, 6_500_000],
        ] {
            let reply = Value::Array(reply.into_iter().map(Value::Integer).collect());
            assert!(decided(&window, &reply).is_err(), "{reply:?}");
        }
        let both = [meter[0].clone(), window[0].clone()];
        for reply in ["7000000 0 l 250000 4 250000 w .", "7000000 0 l 250000 4 250000 w . 3", "7000000 0 l . 2"] {
            assert!(decided(&both, &text(reply)).is_err(), "{reply:?}");
        }
    }
}
