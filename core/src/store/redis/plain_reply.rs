//! Decodes the replies of the scripts of plain calls, see `engine/plain/state.lua`.
//!
//! A script that takes units replies the state that it wrote, and one that refuses them the state as it is, since a table of
//! numbers takes longer to send. What remains of each limit, and when, is computed here.

use super::reply;
use super::reply::garbled;
use super::wire::Value;
use crate::base::charge::Charge;
use crate::base::error::Result;
use crate::base::micros::MAX_TIME;
use crate::engine::reply::{LeaseAndTicket, Reply};
use crate::limits::check::LimitCheck;
use crate::limits::leaky::Meter;
use crate::limits::window::Window;
use crate::model::decision::{Decision, Status};
use crate::model::limit::{Limit, Rule};
use crate::model::policy::Policy;

/// Returns the decision on a charge to these limits, the only ones of the policy.
pub(super) fn decision(limits: &[Limit], reply: &Value, policy: &Policy, charge: &Charge) -> Result<Decision> {
    let reply = match reply {
        Value::Text(text) => decided(limits, text, charge).ok_or_else(garbled)?,
        Value::Array(items) => reply::decision(items, policy)?,
        _ => return Err(garbled()),
    };
    Ok(reply.decision(policy, charge, None))
}

/// Returns what a text says: the limit with the longest wait describes it, else the one with the least left.
fn decided(limits: &[Limit], text: &[u8], charge: &Charge) -> Option<Reply> {
    let (state, more) = str::from_utf8(text).ok()?.split_once(" .")?;
    // Behind the end of a state that refuses is the time.
    let (mut words, mut more) = (state.split(' '), more.split(' '));
    let (last, refused_at) = (number(words.next()?)?, more.next()?);
    let is_refused = !refused_at.is_empty();
    let at = if is_refused { number(refused_at)? } else { last };
    words.next()?;
    let mut described: Option<(usize, LimitCheck)> = None;
    for (i, limit) in limits.iter().enumerate() {
        let units = charge.of(i);
        words.next()?;
        let check = if let Rule::Window(window) = limit.rule {
            of_window(window, more.next()?, units)?
        } else {
            let level = number(words.next()?)?;
            // The numbers of the limit.
            words.nth(usize::from(matches!(limit.rule, Rule::Leaky(_))))?;
            let cost = if limit.counts_starts() { units.min(1) } else { units };
            check(limit, level, last, at, Some(cost).filter(|cost| is_refused && *cost > 0))?
        };
        let is_first = |(_, other): (_, LimitCheck)| {
            check.wait > other.wait || other.wait == 0 && check.remaining < other.remaining
        };
        if described.is_none_or(is_first) {
            described = Some((i, check));
        }
    }
    let (index, LimitCheck { wait, remaining, reset, .. }) =
        described.filter(|(_, check)| is_refused == (check.wait > 0))?;
    Some(Reply {
        status: if is_refused { Status::Refused } else { Status::Granted },
        would_refuse: false,
        index,
        remaining,
        retry_after: wait.min(MAX_TIME.0),
        reset_after: reset,
        at,
        amount: None,
        lease_and_ticket: LeaseAndTicket::default(),
        limits: Box::default(),
    })
}

/// Returns the check of a window: its entries before the call, and where it is not charged its wait and its reset.
fn of_window(window: Window, text: &str, units: u64) -> Option<LimitCheck> {
    let mut numbers = text.split('/').map(number);
    let entries = numbers.next()??;
    let left = window.limit.checked_sub(entries);
    let (wait, remaining, reset) = match numbers.next() {
        None => (0, left?.checked_sub(units)?, window.interval),
        // A window that was larger may have too many entries.
        Some(wait) => (wait?, left.unwrap_or(0), numbers.next()??),
    };
    numbers.next().is_none().then_some(LimitCheck { level: entries, wait, remaining, reset })
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

fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number| *number <= MAX_TIME.0)
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
        let granted = decided(&window, &text("7000000 0 w . 1")).unwrap();
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
        for state in ["", " 3", " x", " 1/0", " 1/0/1/1", "7000000", "7000000 3", "7000000 3/0/5", "7000000 3/5/x"] {
            let reply = format!("7000000 0 w .{state}");
            assert!(decided(&window, &text(&reply)).is_err(), "{reply:?}");
        }
        let both = [meter[0].clone(), window[0].clone()];
        for reply in ["7000000 0 l 250000 4 250000 w .", "7000000 0 l 250000 4 250000 w . 3", "7000000 0 l . 2"] {
            assert!(decided(&both, &text(reply)).is_err(), "{reply:?}");
        }
    }
}
