//! What this library did not write is an error, and stays as it is.

use paddlegate::{Kind, Micros, Operation, QueuePosition, Request, Wait};

use super::{NOW, enter, estimate, every_kind, is_damage, key, limit, take, waited_for};
use crate::side::Script;
use crate::support::raw::Reply;

pub(super) fn damaged_values(port: u16, text: &str) -> Result<(), String> {
    for mut script in every_kind(port, text) {
        script.raw.command("FLUSHALL");
        take(&mut script);
        let key = key(&mut script, ":s:");
        let Reply::Text(sound) = script.raw.ask(&[&b"GET"[..], &key]) else { return Err("no state".into()) };
        let sound = String::from_utf8(sound).expect("a state of text");
        let numbers: Vec<&str> = sound.split(' ').collect();
        let mut poisons: Vec<String> = ["", "x", "nan nan", "5", "-5 0", "1 2 3 4 5 6 7 8 9"].map(str::to_owned).into();
        poisons.extend([format!("{sound} 1"), format!("{sound} "), format!("{sound}x"), format!(" {sound}")]);
        poisons.push(numbers[..numbers.len() - 1].join(" "));
        for i in 0..numbers.len() {
            for poison in ["nan", "inf", "-1", "1.5", "1e3", "0x1", ""] {
                poisons.push(replaced(&numbers, i, poison));
            }
        }
        // The time, the distance to the server's clock, and levels that no limit allows.
        poisons.push(replaced(&numbers, 0, "4503599627370497"));
        poisons.push(replaced(&numbers, 1, "4503599627370497"));
        let digits = "9".repeat(400);
        if numbers.len() == 3 {
            // A fencing token beyond all times.
            poisons.push(replaced(&numbers, 2, "9007199254740994"));
        }
        if let [_, _, .., level, _] = &numbers[..] {
            let last = numbers.len() - 1;
            let held: u64 = numbers[last].parse().expect("a number");
            if level.len() < 4 && numbers.len() == 4 {
                poisons.push(replaced(&numbers, 2, &(2 * held + 1).to_string()));
                poisons.push(replaced(&numbers, 3, &digits));
            }
        }
        if numbers.len() == 5 {
            let full: u64 =
                2 * numbers[3].parse::<u64>().expect("a number") * numbers[4].parse::<u64>().expect("a number");
            poisons.push(replaced(&numbers, 2, &(full + 1).to_string()));
            poisons.push(replaced(&numbers, 3, "0"));
            poisons.push(replaced(&numbers, 4, "0"));
            poisons.push(replaced(&numbers, 4, &digits));
        }
        for poison in poisons {
            script.raw.ask(&[&b"SET"[..], &key, poison.as_bytes()]);
            is_damage(&take(&mut script), &format!("{poison:?} in {sound:?}"))?;
            is_damage(&estimate(&mut script), &format!("{poison:?} in {sound:?}, with an id"))?;
            let after = script.raw.ask(&[&b"GET"[..], &key]);
            if after != Reply::Text(poison.clone().into_bytes()) {
                return Err(format!("{poison:?} became {after:?}"));
            }
        }
    }
    Ok(())
}

fn replaced(numbers: &[&str], i: usize, by: &str) -> String {
    let mut numbers = numbers.to_vec();
    numbers[i] = by;
    numbers.join(" ")
}

pub(super) fn damaged_logs(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Window, 3)]);
    for poison in ["nan", "x", "", "-5", "1.5", "1e300", "inf", "1700000000000001"] {
        script.raw.command("FLUSHALL");
        let first = script.decision(Operation::Acquire(Request::estimate(1).at(Micros(NOW - 1))))?;
        for _ in 0..2 {
            take(&mut script);
        }
        let log = key(&mut script, ":w0:");
        script.raw.ask(&[&b"LSET"[..], &log, b"2", poison.as_bytes()]);
        is_damage(&take(&mut script), &format!("{poison:?} as the oldest"))?;
        is_damage(&estimate(&mut script), &format!("{poison:?} as the oldest of a call with an id"))?;
        let permit = first.permit.ok_or("no permit")?;
        let correct = Operation::Correct { permit: &permit, actual: 0, at: Some(Micros(NOW)) };
        is_damage(&script.run(correct), &format!("{poison:?} as the oldest of a correction"))?;
        is_damage(&script.run(Operation::Peek(Request::cost(1).at(Micros(NOW)))), &format!("{poison:?}, looked at"))?;
    }
    Ok(())
}

/// The words after the verb: units, then the time.
pub(super) fn wrong_arguments(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Leaky, 5)]);
    let sound = script.words(Operation::Acquire(Request::cost(1).at(Micros(NOW))));
    let verb = sound.iter().position(|word| word == b"acquire").expect("a verb");
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
        let mut words = sound.clone();
        words[verb + position] = bad.into();
        if !matches!(script.raw.ask(&words), Reply::Error(_)) {
            return Err(format!("{bad} as word {position} after the verb was taken"));
        }
    }
    if script.raw.keys("mutant").is_empty() { Ok(()) } else { Err("something was written".into()) }
}

pub(super) fn damaged_leases(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Concurrency, 2)]);
    for poison in ["inf", "1e300", "9007199254740994", "2000000000000000.5"] {
        script.raw.command("FLUSHALL");
        enter(&mut script, "holder", 1, NOW);
        let leases = key(&mut script, ":h:");
        script.raw.ask(&[&b"ZADD"[..], &leases, poison.as_bytes(), b"theirs"]);
        is_damage(&enter(&mut script, "another", 1, NOW), poison)?;
        is_damage(&enter(&mut script, "theirs", 1, NOW), poison)?;
        let (permit, at) = (format!("theirs:{NOW}:1"), Some(Micros(NOW)));
        for operation in [
            Operation::Release { permit: &permit, at },
            Operation::Renew { permit: &permit, at },
            Operation::Cancel { id: "theirs", gave_up: false, at },
        ] {
            is_damage(&script.run(operation), poison)?;
        }
        is_damage(&script.run(Operation::Peek(Request::cost(1).at(Micros(NOW)))), poison)?;
    }
    Ok(())
}

pub(super) fn damaged_tickets(port: u16, text: &str) -> Result<(), String> {
    let huge = "99999999999999999999";
    for field in 0..7 {
        for poison in ["", "x", "nan", "-1", "1.5", huge] {
            // A number and the time it came at may be any.
            if matches!(field, 0 | 3) && poison == huge {
                continue;
            }
            let mut script = waited_for(port, text);
            let tickets = key(&mut script, ":t:");
            let Reply::Text(sound) = script.raw.ask(&[&b"HGET"[..], &tickets, b"waiter"]) else {
                return Err("no ticket".into());
            };
            let sound = String::from_utf8(sound).expect("a ticket of text");
            let mut numbers: Vec<&str> = sound.split(' ').collect();
            numbers[field] = poison;
            script.raw.ask(&[&b"HSET"[..], &tickets, b"waiter", numbers.join(" ").as_bytes()]);
            let kept = Wait { position: QueuePosition::Existing, ..Wait::up_to(paddlegate::MAX_SPAN) };
            let kept =
                Operation::AcquireWithId { request: Request::cost(1).at(Micros(NOW)), id: "waiter", wait: Some(kept) };
            is_damage(&script.run(kept), &format!("{poison:?} in {sound:?}, claimed"))?;
            is_damage(&enter(&mut script, "waiter", 1, NOW), &format!("{poison:?} in {sound:?}"))?;
        }
    }
    for poison in ["", "x", "1", "1 -1", "1.5 1", &format!("{huge} 1"), &format!("1 {huge}")] {
        let mut script = waited_for(port, text);
        let tickets = key(&mut script, ":t:");
        script.raw.ask(&[&b"HSET"[..], &tickets, b"", poison.as_bytes()]);
        is_damage(&enter(&mut script, "another", 1, NOW), &format!("{poison:?} as the count of tickets"))?;
    }
    Ok(())
}
