//! Checks what a recording stores, and how it starts, is read and ends.

use paddlegate::{AdminCommand, Answer, Deadline, Kind, MAX_TIME, Micros, Operation, Request, UpstreamReport, Wait};

use super::{HOUR, NOW, key, limit};
use crate::script::Script;
use crate::support::raw::Reply;
use crate::support::sequence::Spec;

const SECOND: u64 = 1_000_000;
const MEMORY_MS: i64 = 300_000;

fn new(port: u16, text: &str, limits: &[Spec]) -> Script {
    let mut script = Script::new(port, text, limits);
    script.raw.command("FLUSHALL");
    script
}

/// Sends a word about the recording; no operation has these.
fn record(script: &mut Script, words: &[&str], at: u64) -> Reply {
    let mut command = script.words(Operation::Admin { command: AdminCommand::Get }, at);
    let verb = command.iter().position(|word| word == b"control").expect("a verb");
    command[verb] = b"record".to_vec();
    command.truncate(verb + 3);
    command.push(Vec::new());
    command.extend(words.iter().map(|word| word.as_bytes().to_vec()));
    script.raw.execute(&command)
}

/// Starts a recording, and returns its end and the id of its first entry.
fn start(script: &mut Script, lasts: u64, most: u64, at: u64) -> Result<(String, String), String> {
    match record(script, &["start", &lasts.to_string(), &most.to_string()], at) {
        Reply::Array(reply) => match &reply[..] {
            [Reply::Integer(_), Reply::Integer(ends), Reply::Text(first)] => {
                Ok((ends.to_string(), String::from_utf8_lossy(first).into_owned()))
            }
            other => Err(format!("{other:?}")),
        },
        other => Err(format!("{other:?}")),
    }
}

/// Returns the texts of the stream.
fn stream(script: &mut Script) -> Vec<String> {
    let Some(stream) = script.raw.keys(":r:mutant").pop() else { return Vec::new() };
    let Reply::Array(entries) = script.raw.execute(&[&b"XRANGE"[..], &stream, b"-", b"+"]) else { panic!("no stream") };
    let text = |entry: &Reply| {
        let Reply::Array(entry) = entry else { panic!("{entry:?}") };
        let Reply::Array(fields) = &entry[1] else { panic!("{entry:?}") };
        let Reply::Text(text) = &fields[1] else { panic!("{entry:?}") };
        String::from_utf8_lossy(text).into_owned()
    };
    entries.iter().map(text).collect()
}

/// Compares the stream; an expected text begins with the microseconds since NOW.
fn expect(script: &mut Script, expected: &[&str]) -> Result<(), String> {
    let since = |text: &str| {
        let (at, rest) = text.split_once(' ').unwrap_or((text, ""));
        format!("{} {rest}", at.parse::<u64>().expect("a time").wrapping_sub(NOW))
    };
    let found: Vec<String> = stream(script).iter().skip(1).map(|text| since(text)).collect();
    if found == expected { Ok(()) } else { Err(format!("{found:#?}")) }
}

fn with_id(script: &mut Script, request: Request<'_>, id: &str, wait: Option<u64>, at: u64) -> Option<String> {
    let wait = wait.map(|wait| Wait { claim_timeout: Micros(100 * SECOND), ..Wait::up_to(Micros(wait)) });
    match script.answer(Operation::AcquireWithId { request, id, wait }, NOW + at) {
        Ok(Answer::Decision(decision)) => decision.permit,
        _ => None,
    }
}

/// Calls of two limits, with permits, and what changes the limits.
pub(super) fn calls(port: u16, text: &str) -> Result<(), String> {
    let limits = [limit(Kind::Points, 10), limit(Kind::Leaky, 5)];
    let mut script = new(port, text, &limits);
    start(&mut script, HOUR, 1_000, NOW)?;
    let names = limits.each_ref().map(Spec::name);
    let first = [(&*names[0], 6), (&*names[1], 2)];
    let second = [(&*names[0], 1), (&*names[1], 4)];
    script.run(Operation::Acquire(Request::cost(&first)), NOW + 1);
    // These take nothing.
    script.run(Operation::Acquire(Request::cost(0)), NOW + 2);
    script.run(Operation::Peek(Request::cost(1)), NOW + 2);
    script.run(Operation::Acquire(Request::cost(11)), NOW + 2);
    script.run(Operation::Acquire(Request::cost(&second)), NOW + 3);
    script.run(Operation::Debit(1.into()), NOW + 4);
    let permit = with_id(&mut script, Request::estimate(2), "one", None, 5).ok_or("no permit")?;
    script.run(Operation::Extend { permit: &permit, units: 7.into() }, NOW + 6);
    script.run(Operation::Extend { permit: &permit, units: 3.into() }, NOW + 6);
    script.run(Operation::Correct { permit: &permit, actual: 1.into() }, NOW + 7);
    script.run(Operation::Correct { permit: &permit, actual: 1.into() }, NOW + 8);
    script.run(Operation::Extend { permit: &permit, units: 1.into() }, NOW + 9);
    let permit = with_id(&mut script, Request::estimate(1), "two", None, 10).ok_or("no permit")?;
    let report = UpstreamReport { permit: Some(&permit), actual: Some(1.into()), ..UpstreamReport::default() };
    script.run(Operation::ApplyReport { report }, NOW + 11);
    script.run(Operation::Admin { command: AdminCommand::Get }, NOW + 12);
    let report = UpstreamReport { pause: Some(Deadline::After(Micros(1))), ..UpstreamReport::default() };
    script.run(Operation::ApplyReport { report }, NOW + 13);
    script.run(Operation::Admin { command: AdminCommand::Pause(Deadline::After(Micros(1))) }, NOW + 15);
    // The last microsecond, and the end.
    with_id(&mut script, Request::estimate(1), "last", None, HOUR - 1);
    with_id(&mut script, Request::estimate(1), "late", None, HOUR);
    expect(
        &mut script,
        &[
            "1 a 1 1 0 0 - - 6,2 p,l ",
            "3 a 0 1 719999998 0 - - 1,4 p,l ",
            "4 d 1 1 0 0 - - 1,1 p,l ",
            "5 a 1 1 0 0 - - 2,2 p,l one",
            "6 x 0 1 2159999995 0 1700000000000005 - 3,3 p,l one:1700000000000005:2",
            "7 c 3 0 0 0 1700000000000005 - 1,1 p,l one:1700000000000005:2",
            "8 c 4 0 0 0 1700000000000005 - 1,1 p,l one:1700000000000005:2",
            "9 x 4 0 0 0 1700000000000005 - 1,1 p,l one:1700000000000005:2",
            "10 a 1 1 0 0 - - 1,1 p,l two",
            "11 l 3 0 0 0 1700000000000010 - 1,1 p,l two:1700000000000010:1",
            "13 l 3 0 0 0 0 - - p,l ",
            "15 o 0 0 0 0 - - - p,l ",
            "3599999999 a 1 1 0 0 - - 1,1 p,l last",
        ],
    )
}

/// Leases and waits.
pub(super) fn waits(port: u16, text: &str) -> Result<(), String> {
    let mut script = new(port, text, &[limit(Kind::Concurrency, 1)]);
    start(&mut script, HOUR, 1_000, NOW)?;
    let cost = || Request::cost(1);
    let permit = with_id(&mut script, cost(), "holder", None, 1).ok_or("no lease")?;
    for (id, at) in [("first", 2), ("second", 3), ("third", 4), ("first", 5)] {
        with_id(&mut script, cost(), id, Some(60 * SECOND), at);
    }
    script.run(Operation::Cancel { id: "second", gave_up: false }, NOW + 6);
    script.run(Operation::Cancel { id: "third", gave_up: true }, NOW + 7);
    script.run(Operation::Cancel { id: "nobody", gave_up: false }, NOW + 8);
    script.run(Operation::Release { permit: &permit }, NOW + 9);
    with_id(&mut script, cost(), "first", Some(60 * SECOND), 10);
    with_id(&mut script, cost(), "first", Some(60 * SECOND), 11);
    expect(
        &mut script,
        &[
            "1 a 1 0 0 0 - - 1 c holder",
            "2 a 2 0 62500 0 - 60000000 1 c first",
            "3 a 2 0 125000 0 - 60000000 1 c second",
            "4 a 2 0 187500 0 - 60000000 1 c third",
            "6 n 8 0 0 3 - - - c second",
            "7 g 8 0 0 3 - - - c third",
            "9 r 7 0 0 0 1700000000000001 - - c holder",
            "10 a 1 0 0 8 - 60000000 1 c first",
        ],
    )
}

/// The stream has at most so many decisions, and is not made by a decision.
pub(super) fn capped(port: u16, text: &str) -> Result<(), String> {
    let mut script = new(port, text, &[limit(Kind::Leaky, 1_000)]);
    start(&mut script, HOUR, 1, NOW)?;
    for at in 1..=300 {
        script.run(Operation::Acquire(Request::cost(1)), NOW + at);
    }
    let length = stream(&mut script).len();
    // Redis removes whole pieces, of a hundred by default.
    if length >= 250 {
        return Err(format!("{length} decisions"));
    }
    let stream = key(&mut script, ":r:");
    script.raw.execute(&[&b"DEL"[..], &stream]);
    script.run(Operation::Acquire(Request::cost(1)), NOW + 301);
    if script.raw.keys(":r:mutant").is_empty() { Ok(()) } else { Err("a stream without an expiry".to_owned()) }
}

/// Reads after an entry, and returns whether it is there, for how long the recording goes on, and the texts.
fn read(script: &mut Script, after: &str, count: u64, at: u64) -> Result<(bool, i64, Vec<String>), String> {
    let reply = record(script, &["read", after, &count.to_string()], at);
    let Reply::Array(items) = &reply else { return Err(format!("{reply:?}")) };
    let [Reply::Integer(_), Reply::Integer(lasts), Reply::Integer(is_whole), Reply::Array(entries)] = &items[..] else {
        return Err(format!("{reply:?}"));
    };
    let texts = entries.iter().skip(1).step_by(2).map(|entry| match entry {
        Reply::Text(text) => String::from_utf8_lossy(text).into_owned(),
        other => format!("{other:?}"),
    });
    Ok((*is_whole == 1, *lasts, texts.collect()))
}

fn check<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T, what: &str) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}")) }
}

fn ended(script: &mut Script, ends: &str, at: u64) -> Reply {
    record(script, &["end", ends], at)
}

fn said(is_own: i64) -> Reply {
    Reply::Array(vec![Reply::Integer(is_own)])
}

/// Pages, and what a page says of the recording.
pub(super) fn pages(port: u16, text: &str) -> Result<(), String> {
    let mut script = new(port, text, &[limit(Kind::Leaky, 1_000)]);
    let (_, first) = start(&mut script, HOUR, 1_000, NOW)?;
    for at in 1..=3 {
        script.run(Operation::Acquire(Request::cost(1)), NOW + at);
    }
    let (is_whole, lasts, texts) = read(&mut script, &first, 2, NOW + 4)?;
    check(&(is_whole, lasts, texts.len()), &(true, i64::try_from(HOUR).expect("a time") - 4, 2), "a page")?;
    check(&texts[0].split(' ').next(), &Some(&*(NOW + 1).to_string()), "the first is that after the entry")?;
    let (is_whole, lasts, texts) = read(&mut script, &first, 1_000, NOW + HOUR + 1)?;
    check(&(is_whole, lasts, texts.len()), &(true, 0, 3), "after the end")?;
    // Of a reader that was too slow the entry is gone.
    let key = key(&mut script, ":r:");
    script.raw.execute(&[&b"XTRIM"[..], &key, b"MAXLEN", b"2"]);
    let (is_whole, _, texts) = read(&mut script, &first, 1_000, NOW + HOUR + 1)?;
    check(&(is_whole, texts.len()), &(false, 2), "after a loss")?;
    script.raw.execute(&[&b"DEL"[..], &key]);
    let (is_whole, _, texts) = read(&mut script, &first, 1_000, NOW + HOUR + 1)?;
    check(&(is_whole, texts.len()), &(false, 0), "without a stream")
}

/// A recording ends by its own end alone, and leaves nothing that is kept.
pub(super) fn ends(port: u16, text: &str) -> Result<(), String> {
    let mut script = new(port, text, &[limit(Kind::Leaky, 1_000)]);
    let hour_ms = i64::try_from(HOUR / 1_000).expect("a time");
    let (first, _) = start(&mut script, HOUR, 1_000, NOW)?;
    let (second, _) = start(&mut script, HOUR, 1_000, NOW)?;
    let stream_key = key(&mut script, ":r:");
    let ttl = script.raw.ttl(&stream_key);
    // A machine may stall for a minute.
    if ttl <= hour_ms + MEMORY_MS - 60_000 {
        return Err(format!("the stream expires with the recording: {ttl}"));
    }
    check(&ended(&mut script, &first, NOW + 1), &said(0), "the end of another")?;
    script.run(Operation::Acquire(Request::cost(1)), NOW + 1);
    check(&stream(&mut script).len(), &3, "it goes on")?;
    check(&ended(&mut script, &second, NOW + 2), &said(1), "its end")?;
    let ttl = script.raw.ttl(&stream_key);
    if ttl > MEMORY_MS {
        return Err(format!("the stream is kept: {ttl}"));
    }
    script.run(Operation::Acquire(Request::cost(1)), NOW + 3);
    check(&stream(&mut script).len(), &3, "it has ended")?;
    let (third, _) = start(&mut script, HOUR, 1_000, NOW + 4)?;
    check(&ended(&mut script, &third, NOW + 4 + HOUR), &said(0), "its time has come")?;
    // As late as a time can be.
    let mut script = new(port, text, &[limit(Kind::Leaky, 1_000)]);
    let late = MAX_TIME.0 - 10;
    let (ends, _) = start(&mut script, HOUR, 1_000, late)?;
    check(&ends, &MAX_TIME.0.to_string(), "the end of time")
}

/// What stands in the place of a stream or of a state.
pub(super) fn foreign(port: u16, text: &str) -> Result<(), String> {
    let mut script = new(port, text, &[limit(Kind::Leaky, 1_000)]);
    start(&mut script, HOUR, 1_000, NOW)?;
    let stream = key(&mut script, ":r:");
    script.raw.execute(&[&b"SET"[..], &stream, b"x"]);
    match record(&mut script, &["start", "10", "10"], NOW + 1) {
        Reply::Error(error) if error.starts_with("WRONGTYPE") => {}
        other => return Err(format!("{other:?}")),
    }
    match script.answer(Operation::Acquire(Request::cost(1)), NOW + 2) {
        Ok(Answer::Decision(decision)) if decision.allowed() => {}
        other => return Err(format!("{other:?}")),
    }
    let state = key(&mut script, ":s:");
    script.raw.execute(&[&b"SET"[..], &state, format!("{NOW} 0;R{};5 l 1", NOW + HOUR).as_bytes()]);
    super::expect_damage_error(&record(&mut script, &["start", "10", "10"], NOW + 3), "a damaged text of a recording")
}
