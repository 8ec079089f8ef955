//! Checks that damaged values and wrong arguments are errors, and that the script does not overwrite damaged values.

use paddlegate::{Cost, Kind, Operation, QueuePosition, Request, Wait};

use super::{HOUR, NOW, enter, estimate, every_kind, expect_damage_error, key, limit, limiter_with_waiter, take};
use crate::script::Script;
use crate::support::raw::Reply;

/// One more than the largest time.
const BEYOND: &str = "4503599627370497";

pub(super) fn damaged_values(port: u16, text: &str) -> Result<(), String> {
    for mut script in every_kind(port, text) {
        script.raw.command("FLUSHALL");
        take(&mut script);
        let key = key(&mut script, ":s:");
        let Reply::Text(valid) = script.raw.execute(&[&b"GET"[..], &key]) else { return Err("no state".into()) };
        let valid = String::from_utf8(valid).expect("a state of text");
        for bad_value in damaged_states(&valid) {
            script.raw.execute(&[&b"SET"[..], &key, bad_value.as_bytes()]);
            expect_damage_error(&take(&mut script), &format!("{bad_value:?} in {valid:?}"))?;
            expect_damage_error(&estimate(&mut script), &format!("{bad_value:?} in {valid:?}, with an id"))?;
            let after = script.raw.execute(&[&b"GET"[..], &key]);
            if after != Reply::Text(bad_value.clone().into_bytes()) {
                return Err(format!("{bad_value:?} became {after:?}"));
            }
        }
    }
    Ok(())
}

/// Returns states with one damage each. The state is `last skew`, then a record ` tag numbers` for each limit, and ` .`.
pub fn damaged_states(whole: &str) -> Vec<String> {
    let valid = whole.strip_suffix(" .").expect("the end of a state");
    let mut states: Vec<String> = damaged_records(valid).into_iter().map(|state| state + " .").collect();
    states.extend([valid, &valid[..valid.len() - 1]].map(str::to_owned));
    states.extend([" ", " .", "x", " 1"].map(|more| format!("{whole}{more}")));
    // The end is that of another record.
    states.extend([" 1", " w"].map(|more| format!("{valid}{more}")));
    states
}

fn damaged_records(valid: &str) -> Vec<String> {
    let words: Vec<&str> = valid.split(' ').collect();
    let with = |i, bad_value: &str| replaced(&words, i, bad_value);
    let mut states: Vec<String> = ["", "x", "nan nan", "5", "-5 0", "1 2 3 4 5 6 7 8 9"].map(str::to_owned).into();
    states.extend([format!("{valid} 1"), format!("{valid} "), format!("{valid}@"), format!(" {valid}")]);
    for i in 0..words.len() {
        states.extend(["nan", "inf", "-1", "1.5", "1e3", "0x1", ""].map(|bad_value| with(i, bad_value)));
    }
    // The time and the skew are above the maximum.
    states.extend([with(0, BEYOND), with(1, BEYOND)]);
    let last = words.len() - 1;
    let digits = "9".repeat(400);
    let product = |words: &[&str]| words.iter().map(|word| word.parse::<u64>().expect("a number")).product::<u64>();
    match words[2..] {
        ["c", _] => states.push(with(3, "9007199254740994")),
        ["b", _, limit] => {
            states.extend([with(3, &(2 * product(&[limit]) + 1).to_string()), with(4, &digits), with(4, "0")]);
        }
        [_, _, capacity, scale] if capacity.parse::<u64>().is_ok() => {
            states.push(with(3, &(2 * product(&[capacity, scale]) + 1).to_string()));
            states.extend([with(4, "0"), with(5, "0"), with(5, &digits)]);
        }
        _ => {}
    }
    // The last number is missing, or a record comes twice.
    if words[last].parse::<u64>().is_ok() {
        states.push(words[..last].join(" "));
    }
    states.push(format!("{valid} {}", words[2..].join(" ")));
    // Records of other policies.
    for record in ["x", "z:other 1 2 3", "b:other 1", "l:other 1 2", "p:other 1", "c:other", "t:other 1 2 x"] {
        states.push(format!("{valid} {record}"));
    }
    for record in
        ["b:other 3 1", "b:other 0 0", "l:other 9 1 4", "l:other 0 0 1", "l:other 0 1 0", "c:other 9007199254740994"]
    {
        states.push(format!("{valid} {record}"));
    }
    for record in [format!("b:other 0 {BEYOND}"), "l:other 0 4503599627370496 2".to_owned()] {
        states.push(format!("{valid} {record}"));
    }
    // When a record was written, and until when it counts.
    for times in ["@", "@5", "@~5", "@5~", "@x~5", "@5~x", "@-1~5", "@5~6~7", "~5"] {
        states.push(format!("{valid} l:other 0 1 1{times}"));
    }
    for (at, until) in [(NOW + 1, (NOW + HOUR).to_string()), (NOW, BEYOND.to_owned())] {
        states.push(format!("{valid} l:other 0 1 1@{at}~{until}"));
    }
    states
}

fn replaced(numbers: &[&str], i: usize, by: &str) -> String {
    let mut numbers = numbers.to_vec();
    numbers[i] = by;
    numbers.join(" ")
}

pub(super) fn damaged_logs(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Window, 3)]);
    for bad_value in ["nan", "x", "", "-5", "1.5", "1e300", "inf", "1700000000000001"] {
        script.raw.command("FLUSHALL");
        let first = script.decision(Operation::Acquire(Request::estimate(1)), NOW - 1)?;
        for _ in 0..2 {
            take(&mut script);
        }
        let log = key(&mut script, ":w:");
        script.raw.execute(&[&b"LSET"[..], &log, b"2", bad_value.as_bytes()]);
        expect_damage_error(&take(&mut script), &format!("{bad_value:?} as the oldest"))?;
        expect_damage_error(&estimate(&mut script), &format!("{bad_value:?} as the oldest of a call with an id"))?;
        let permit = first.permit.ok_or("no permit")?;
        let correct = Operation::Correct { permit: &permit, actual: Cost::Units(0) };
        expect_damage_error(&script.run(correct, NOW), &format!("{bad_value:?} as the oldest of a correction"))?;
        expect_damage_error(&script.run(Operation::Peek(Request::cost(1)), NOW), &format!("{bad_value:?}, of a peek"))?;
    }
    Ok(())
}

/// Checks the words after the verb: the units, then the time.
pub(super) fn wrong_arguments(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Leaky, 5)]);
    let valid = script.words(Operation::Acquire(Request::cost(1)), NOW);
    let verb = valid.iter().position(|word| word == b"acquire").expect("a verb");
    for (position, bad) in [
        (1, "-1"),
        (1, "0.5"),
        (1, "nan"),
        (1, "inf"),
        (1, "4503599627370497"),
        (1, "one"),
        (2, "-1"),
        (2, "nan"),
        (2, "4503599627370497"),
        (2, "now"),
    ] {
        let mut words = valid.clone();
        words[verb + position] = bad.into();
        if !matches!(script.raw.execute(&words), Reply::Error(_)) {
            return Err(format!("{bad} was accepted as word {position} after the verb"));
        }
    }
    if script.raw.keys("mutant").is_empty() { Ok(()) } else { Err("a refused call wrote a key".into()) }
}

pub(super) fn damaged_leases(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Concurrency, 2)]);
    // The last one ends before that of the holder, and a call waits for its end.
    for bad_value in ["inf", "1e300", "9007199254740994", "2000000000000000.5", "1700000000000001.5"] {
        script.raw.command("FLUSHALL");
        enter(&mut script, "holder", 1, NOW);
        let leases = key(&mut script, ":h:");
        script.raw.execute(&[&b"ZADD"[..], &leases, bad_value.as_bytes(), b"theirs"]);
        let holder = format!("holder:{NOW}:1");
        if let Reply::Error(error) = script.run(Operation::Renew { permit: &holder }, NOW) {
            return Err(format!("{error} of the holder beside {bad_value}"));
        }
        expect_damage_error(&enter(&mut script, "another", 1, NOW), bad_value)?;
        expect_damage_error(&enter(&mut script, "theirs", 1, NOW), bad_value)?;
        let permit = format!("theirs:{NOW}:1");
        for operation in [
            Operation::Release { permit: &permit },
            Operation::Renew { permit: &permit },
            Operation::Cancel { id: "theirs", gave_up: false },
        ] {
            expect_damage_error(&script.run(operation, NOW), bad_value)?;
        }
        expect_damage_error(&script.run(Operation::Peek(Request::cost(1)), NOW), bad_value)?;
    }
    Ok(())
}

pub(super) fn damaged_tickets(port: u16, text: &str) -> Result<(), String> {
    let huge = "99999999999999999999";
    for field in 0..8 {
        for bad_value in ["", "x", "nan", "-1", "1.5", huge] {
            // The tags are any text without spaces.
            if field == 7 && !bad_value.is_empty() {
                continue;
            }
            // The script accepts any number as the ticket number and as the time at which the ticket was queued.
            if matches!(field, 0 | 3) && bad_value == huge {
                continue;
            }
            let mut script = limiter_with_waiter(port, text);
            let tickets = key(&mut script, ":t:");
            let Reply::Text(valid) = script.raw.execute(&[&b"HGET"[..], &tickets, b"waiter"]) else {
                return Err("no ticket".into());
            };
            let valid = String::from_utf8(valid).expect("a ticket of text");
            let mut numbers: Vec<&str> = valid.split(' ').collect();
            numbers[field] = bad_value;
            script.raw.execute(&[&b"HSET"[..], &tickets, b"waiter", numbers.join(" ").as_bytes()]);
            let claim = Wait { position: QueuePosition::Existing, ..Wait::up_to(paddlegate::MAX_SPAN) };
            let claim = Operation::AcquireWithId { request: Request::cost(1), id: "waiter", wait: Some(claim) };
            expect_damage_error(&script.run(claim, NOW), &format!("{bad_value:?} in {valid:?}, of a claim"))?;
            expect_damage_error(&enter(&mut script, "waiter", 1, NOW), &format!("{bad_value:?} in {valid:?}"))?;
            // This one removes the ticket.
            let ready = script.run(Operation::Ready { count: 100, host: None }, NOW);
            expect_damage_error(&ready, &format!("{bad_value:?} in {valid:?}, of a list"))?;
        }
    }
    for bad_value in ["x", ":", ":1:1:1", ":1:1:1:x", ":1:1:1:1:1", ":-1:1:1:1"] {
        let mut script = limiter_with_waiter(port, text);
        let key = key(&mut script, ":s:");
        script.raw.execute(&[&b"SET"[..], &key, format!("{NOW} 0{bad_value} c {NOW} .").as_bytes()]);
        expect_damage_error(&enter(&mut script, "another", 1, NOW), &format!("{bad_value:?} as the summary"))?;
    }
    for bad_value in ["", "x", "1", "1 -1", "1.5 1", &format!("{huge} 1"), &format!("1 {huge}")] {
        let mut script = limiter_with_waiter(port, text);
        let tickets = key(&mut script, ":t:");
        script.raw.execute(&[&b"HSET"[..], &tickets, b"", bad_value.as_bytes()]);
        expect_damage_error(&enter(&mut script, "another", 1, NOW), &format!("{bad_value:?} as the count of tickets"))?;
    }
    Ok(())
}
