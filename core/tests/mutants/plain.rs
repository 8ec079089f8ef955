//! Mutation test of the scripts of plain calls, which must decide as the memory store and as the whole script does.

use std::thread;
use std::time::Duration;

use paddlegate::store::redis::{SCRIPT, compose};
use paddlegate::{Cost as Units, Kind, Operation, Request};

use crate::check::value;
use crate::list::Mutant;
use crate::list::plain::PLAIN_FILES;
use crate::scenario::damaged_states;
use crate::script::Script;
use crate::server::Server;
use crate::support::library::Library;
use crate::support::memory_with_clock;
use crate::support::raw::Reply;
use crate::support::sequence::{Cost, Operation as Sequenced, Sequence, Spec, Wait, compare, plain_sequence, sequence};
use crate::{is_chosen, share};

const NOW: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;

/// What a plain call takes from: the shape of its script, the kinds of the limits, and whether it has a permit.
#[derive(Clone, Copy, Debug)]
struct Form {
    shape: &'static str,
    kinds: &'static [Kind],
    has_permit: bool,
}

const FORMS: [Form; 7] = [
    Form { shape: "m", kinds: &[Kind::Leaky], has_permit: false },
    Form { shape: "m", kinds: &[Kind::Throttle], has_permit: false },
    Form { shape: "b", kinds: &[Kind::Bucket], has_permit: false },
    Form { shape: "w", kinds: &[Kind::Window], has_permit: false },
    Form { shape: "mp", kinds: &[Kind::Points], has_permit: true },
    Form { shape: "wmbmw", kinds: &SEVERAL, has_permit: false },
    Form { shape: "wmbmwp", kinds: &SEVERAL, has_permit: true },
];

const SEVERAL: [Kind; 5] = [Kind::Window, Kind::Throttle, Kind::Bucket, Kind::Leaky, Kind::Window];

/// What is wrong when a check did not come to its end.
const PANICKED: &str = "the check panicked";

/// How many random sequences each kind runs.
const SEEDS: u64 = 40;

#[test]
fn the_checks_detect_every_mutant_of_the_plain_scripts() {
    let mut server = Server::start();
    let original = |form: Form| compose(form.shape, &|_, text| text.into());
    for form in FORMS {
        assert_eq!(failure(&server, form, &original(form)), None, "{form:?}");
    }
    let mut survivors = Vec::new();
    for lua in &PLAIN_FILES {
        for (what, from, to) in share(lua.mutants.iter()).filter(|(what, ..)| is_chosen(what)) {
            assert_eq!(lua.text.matches(from).count(), 1, "{}: {what}", lua.file);
            let mutated = |form: Form| {
                compose(form.shape, &|file, text| {
                    if file == lua.file { text.replacen(from, to, 1) } else { text.into() }
                })
            };
            let mut forms =
                FORMS.into_iter().map(|form| (form, mutated(form))).filter(|(form, text)| *text != original(*form));
            match forms.find_map(|(form, text)| failure(&server, form, &text)) {
                None => survivors.push(format!("{}: {what}", lua.file)),
                // The script may run for ever, and then the server runs no other.
                Some(failure) if failure == PANICKED => server = Server::start(),
                Some(_) => {}
            }
        }
    }
    // The library's scripts must still pass, or a broken server may have made the checks fail.
    for form in FORMS {
        assert_eq!(failure(&server, form, &original(form)), None, "{form:?}");
    }
    assert!(survivors.is_empty(), "the checks did not detect {} mutants:\n{}", survivors.len(), survivors.join("\n"));
    let mutants: Vec<&Mutant> = PLAIN_FILES.iter().flat_map(|lua| lua.mutants).collect();
    println!("{} mutants of plain scripts", mutants.len());
}

/// Returns what is wrong with a script.
fn failure(server: &Server, form: Form, text: &str) -> Option<String> {
    let original = compose(form.shape, &|_, text| text.into());
    let of = |limits: &[Spec]| Script::plain(server.port, &original, text, limits);
    let random = |seed| {
        let mut sequence = match form.kinds {
            [kind] => value(&plain_sequence(vec![*kind], 60), seed),
            kinds => value(&sequence(kinds.to_vec(), 60), seed),
        };
        // The scripts alone learn nothing.
        sequence.operations.retain(|operation| !matches!(operation, Sequenced::Learn(_)));
        if seed % 2 == 1 {
            // Only what leaves a plain state, so that many plain calls follow each other.
            sequence.operations.retain(|operation| {
                matches!(operation, Sequenced::Acquire(_) | Sequenced::Debit(_) | Sequenced::Wait(_))
            });
        }
        sequence
    };
    let checks: [&dyn Fn() -> Result<(), String>; 8] = [
        &|| decides_by_the_servers_clock(&mut of(&form.limits(3)), form),
        &|| keeps_keys_as_the_whole_script(server.port, form, of),
        &|| keeps_the_state_as_long_as_the_whole_script(server.port, form, of),
        &|| leaves_what_is_not_plain(server.port, form, of),
        &|| if form.has_permit { keeps_so_many_permits(&mut of(&form.limits(3)), form) } else { Ok(()) },
        &|| {
            let is_of_form = |case: &Sequence| match form.kinds {
                [kind] => case.limits.len() == 1 && case.limits[0].kind == *kind,
                _ => case.limits.len() > 1,
            };
            let mut cases = rare().into_iter().filter(is_of_form);
            cases.try_for_each(|case| agrees_with_memory(&case, of))
        },
        &|| (0..SEEDS).try_for_each(|seed| agrees_with_memory(&random(seed), of)),
        &|| keeps_the_zeros_of_the_servers_clock(&mut of(&form.limits(3)), form),
    ];
    let run = |check: &dyn Fn() -> Result<(), String>| {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
        outcome.unwrap_or_else(|_| Err(PANICKED.to_owned())).err()
    };
    checks.into_iter().find_map(run)
}

impl Form {
    /// Returns limits of so many units.
    fn limits(self, amount: u64) -> Vec<Spec> {
        let limit = |(number, kind): (usize, &Kind)| {
            // Intervals that their amount divides and others; buckets that do not begin with the epoch.
            let interval = if number == 0 { 7 * SECOND } else { (5 + number as u64) * SECOND };
            let offset = if *kind == Kind::Bucket { 2 * SECOND } else { 0 };
            Spec { kind: *kind, number, amount, interval, offset }
        };
        self.kinds.iter().enumerate().map(limit).collect()
    }

    /// Returns a call that its script decides, with a permit of five minutes where it has one.
    fn take(self) -> Operation<'static> {
        if self.has_permit {
            return Operation::AcquireWithId { request: Request::estimate(1), id: "id", wait: None };
        }
        Operation::Acquire(Request::cost(1))
    }
}

/// Meters of rates that are no whole number of units per microsecond.
fn rare() -> Vec<Sequence> {
    let take = Sequenced::Acquire(Cost { share: 1, estimate: false, by_label: None });
    let of = |limits: &[(Kind, u64, u64)], pause| {
        let operations = (0..9).flat_map(|_| [take.clone(), Sequenced::Wait(pause)]).collect();
        let limits = limits.iter().enumerate();
        let limits =
            limits.map(|(number, &(kind, amount, interval))| Spec { kind, number, amount, interval, offset: 0 });
        Sequence { limits: limits.collect(), start: NOW, operations }
    };
    let (next, more) = (Wait::RetryAfter(0), (Kind::Bucket, 9, 86_400 * SECOND));
    let single = [
        (vec![(Kind::Throttle, 3, 10)], next),
        (vec![(Kind::Leaky, 3, 7)], Wait::By(3)),
        (vec![(Kind::Leaky, 3, 7)], Wait::By(2)),
    ];
    let several = single.clone().map(|(limits, pause)| ([limits, vec![more]].concat(), pause));
    let window = (vec![(Kind::Window, 2, 10 * SECOND)], Wait::By(3));
    let sequences = single.into_iter().chain(several).chain([window]).map(|(limits, pause)| of(&limits, pause));
    sequences.chain(units_of_some_limits()).collect()
}

/// Calls that take several units of a window, or nothing of a limit that is in debt.
fn units_of_some_limits() -> Vec<Sequence> {
    let cost = |share, by_label| Cost { share, estimate: false, by_label };
    let (take, pause) = (|share| Sequenced::Acquire(cost(share, None)), Sequenced::Wait(Wait::By(1_000_000)));
    let limit = |number, kind, amount, interval| Spec { kind, number, amount, interval: interval * SECOND, offset: 0 };
    let of = |limits: [Spec; 2], operations| Sequence { limits: limits.to_vec(), start: NOW, operations };
    let window = [limit(0, Kind::Window, 4, 10), limit(1, Kind::Bucket, 100, 86_400)];
    let mut operations: Vec<_> = (0..4).flat_map(|_| [take(1), pause.clone()]).collect();
    operations.push(take(3));
    let in_debt = |debited, taken| {
        let limits = [limit(0, Kind::Bucket, 3, 86_400), limit(1, Kind::Leaky, 3, 100)];
        let debit = Sequenced::Debit(cost(3, Some(debited)));
        of(limits, vec![take(1), debit.clone(), debit, Sequenced::Acquire(cost(1, taken)), take(1)])
    };
    let only = |number: usize, units| std::array::from_fn(|i| Some(if i == number { units } else { 0 }));
    let (bucket, meter) = (only(0, 3), only(1, 3));
    vec![
        of(window, operations),
        in_debt(bucket, Some(only(1, 1))),
        in_debt(meter, Some(only(0, 1))),
        in_debt(meter, None),
    ]
}

fn agrees_with_memory(sequence: &Sequence, of: impl Fn(&[Spec]) -> Script) -> Result<(), String> {
    let mut memory = Library::new(&memory_with_clock(), "mutant", &sequence.limits);
    compare(sequence, &mut memory, &mut of(&sequence.limits)).map_err(|error| error.to_string())
}

/// Returns the names of the keys that decide.
fn keys(script: &mut Script) -> Vec<String> {
    let names = script.raw.keys("mutant").into_iter().map(|key| String::from_utf8(key).expect("a name of text"));
    let mut names: Vec<String> =
        names.filter(|key| [":s:", ":w", ":p:"].iter().any(|role| key.contains(role))).collect();
    names.sort();
    names
}

/// Without the time of a test the script reads the server's.
fn decides_by_the_servers_clock(script: &mut Script, form: Form) -> Result<(), String> {
    script.raw.command("FLUSHALL");
    script.decision(form.take(), NOW)?;
    script.raw.command("FLUSHALL");
    let mut words = script.words(form.take(), NOW);
    words.pop();
    let before = time(script)?;
    let reply = script.raw.execute(&words);
    let (at, after) = (decided_at(&reply), time(script)?);
    if at.is_some_and(|at| (before..=after).contains(&at)) { Ok(()) } else { Err(format!("{reply:?} at {before}")) }
}

/// The same in the first tenth of a second, when TIME says the microseconds in fewer than six digits.
#[allow(clippy::disallowed_methods)] // The server's clock is the real one.
fn keeps_the_zeros_of_the_servers_clock(script: &mut Script, form: Form) -> Result<(), String> {
    loop {
        let micros = time(script)? % SECOND;
        if micros > SECOND / 20 {
            thread::sleep(Duration::from_micros(SECOND - micros + 1_000));
        }
        let before = time(script)?;
        let outcome = decides_by_the_servers_clock(script, form);
        let after = time(script)?;
        // The machine may have stopped for a while.
        if before / SECOND == after / SECOND && after % SECOND < SECOND / 10 {
            return outcome;
        }
    }
}

/// Returns the time of the server.
fn time(script: &mut Script) -> Result<u64, String> {
    let Reply::Array(time) = script.raw.execute(&["TIME"]) else { return Err("no time".into()) };
    let number = |reply: &Reply| match reply {
        Reply::Text(text) => String::from_utf8_lossy(text).parse::<u64>().map_err(|error| error.to_string()),
        other => Err(format!("{other:?} is no number")),
    };
    Ok(number(&time[0])? * SECOND + number(&time[1])?)
}

/// Returns the time of a grant, the first word of the state.
fn decided_at(reply: &Reply) -> Option<u64> {
    let Reply::Text(text) = reply else { return None };
    str::from_utf8(text).ok()?.split(' ').next()?.parse().ok()
}

/// Returns whether a text is the reply to a grant. A refusal says the time behind the end of the state.
fn is_grant(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.split_once(" .").is_some_and(|(_, more)| !more.starts_with(|first: char| first.is_ascii_digit()))
}

/// The keys have the same values and lifetimes as after the whole script, and what should be plain is.
fn keeps_keys_as_the_whole_script(port: u16, form: Form, of: impl Fn(&[Spec]) -> Script) -> Result<(), String> {
    let many: Vec<u64> = (0..40).map(|i| i * i * 9_973).collect();
    for (amount, times) in [
        (3, &[0, 100, 200_001, 2_000_000, 2_000_001, 7_000_000, 7_000_099, 7_000_100, 9_000_000][..]),
        (1, &[0, 1, 2, 3, 4, 7_000_000, 14_000_001]),
        (20, &many),
        // The permits of points end.
        (9, &[0, 1, 10_000, 19_999, 300 * SECOND - 1, 300 * SECOND, 300 * SECOND + 2, 310 * SECOND, 320 * SECOND]),
    ] {
        let limits = form.limits(amount);
        let run = |script: &mut Script, is_plain: bool| {
            script.raw.command("FLUSHALL");
            let mut kept = Vec::new();
            for (call, after) in times.iter().enumerate() {
                if is_plain && call > 0 {
                    // Asks the script itself, which may not leave it to the whole one.
                    match script.run(form.take(), NOW + after) {
                        Reply::Array(_) | Reply::Text(_) => {}
                        other => return Err(format!("{other:?} to a plain call")),
                    }
                } else {
                    script.decision(form.take(), NOW + after)?;
                }
                for key in keys(script) {
                    // Those of the whole script may have been written some milliseconds before or after.
                    let lifetime = (script.raw.ttl(key.as_bytes()) + 400) / 1_000;
                    let reader = match key.split(':').nth(2) {
                        Some(role) if role.starts_with('w') => vec!["LRANGE", &key, "0", "-1"],
                        Some("p") => vec!["ZRANGE", &key, "0", "-1", "WITHSCORES"],
                        _ => vec!["GET", &key],
                    };
                    kept.push((script.raw.execute(&reader), lifetime));
                }
            }
            Ok(kept)
        };
        let (whole, plain) = (run(&mut Script::new(port, SCRIPT, &limits), false)?, run(&mut of(&limits), true)?);
        let is_near = |(one, other): (&(Reply, i64), &(Reply, i64))| one.0 == other.0 && one.1.abs_diff(other.1) <= 1;
        if whole.len() != plain.len() || !whole.iter().zip(&plain).all(is_near) {
            return Err(format!("{plain:?} instead of {whole:?}"));
        }
    }
    Ok(())
}

/// A call that takes only of the meter, which drains before the other intervals end, lets the state end with it.
fn keeps_the_state_as_long_as_the_whole_script(
    port: u16,
    form: Form,
    of: impl Fn(&[Spec]) -> Script,
) -> Result<(), String> {
    if form.kinds.len() == 1 || form.has_permit {
        return Ok(());
    }
    let limits = form.limits(3);
    let run = |script: &mut Script| {
        script.raw.command("FLUSHALL");
        let units = limits.iter().map(|limit| (limit.name(), u64::from(limit.kind == Kind::Leaky)));
        let units: Vec<(String, u64)> = units.filter(|(name, _)| *name != limits[1].name()).collect();
        let units: Vec<(&str, u64)> = units.iter().map(|(name, units)| (name.as_str(), *units)).collect();
        script.decision(Operation::Acquire(Request::cost(Units::ByLabel(&units))), NOW)?;
        let state = keys(script).into_iter().find(|key| key.contains(":s:")).ok_or("no state")?;
        Ok::<i64, String>(script.raw.ttl(state.as_bytes()))
    };
    let (whole, plain) = (run(&mut Script::new(port, SCRIPT, &limits))?, run(&mut of(&limits))?);
    if whole.abs_diff(plain) < 1_000 { Ok(()) } else { Err(format!("{plain} ms instead of {whole}")) }
}

/// On any other state the answer and the state are those of the whole script.
fn leaves_what_is_not_plain(port: u16, form: Form, of: impl Fn(&[Spec]) -> Script) -> Result<(), String> {
    let limits = form.limits(3);
    let (mut whole, mut plain) = (Script::new(port, SCRIPT, &limits), of(&limits));
    plain.decision(form.take(), NOW)?;
    let state = keys(&mut plain).into_iter().find(|key| key.contains(":s:")).ok_or("no state")?;
    let Reply::Text(valid) = plain.raw.execute(&["GET", &state]) else { return Err("no state".into()) };
    let valid = String::from_utf8(valid).expect("a state of text");
    let log = state.replace(":s:", ":w:");
    let (later, beyond) = (NOW + 9_000_000, 4_503_599_627_370_496 - 5);
    let mut states: Vec<(String, &[&str])> =
        damaged_states(&valid).into_iter().map(|state| (state, &["1700000000000000"][..])).collect();
    // The bucket of several limits has more than a debt may be.
    states.push((valid.replace(" 1 3 ", " 7 3 "), &["1700000000000000"]));
    let times = |last: u64, skew: u64| valid.replacen(&format!("{NOW} 0"), &format!("{last} {skew}"), 1);
    states.extend(
        [times(later, 0), times(NOW, 77), times(beyond, 0), times(NOW, beyond), times(later, 5)]
            .map(|state| (state, &["1700000000000000"][..])),
    );
    for bad in ["nan", "x", "", "-5", "1699999999999999.5", "1e300", "inf", "1800000000000001"] {
        for log in [["1700000000000000", "1700000000000000", bad], [bad, "1700000000000000", "1700000000000000"]] {
            states.push((valid.clone(), Box::leak(Box::new(log))));
        }
        states.push((valid.clone(), Box::leak(Box::new([bad]))));
        // Of a limit that was larger: neither the oldest nor the newest entry, but the one that must expire.
        let good = "1700000000000000";
        states.push((valid.clone(), Box::leak(Box::new([good, good, bad, good, good]))));
    }
    if form.kinds[0] == Kind::Window {
        // A full log without a state.
        plain.raw.command("FLUSHALL");
        plain.raw.execute(&["RPUSH", &log, "1700000000000000", "1700000000000000", "1700000000000000"]);
        let reply = plain.run(form.take(), NOW + 10);
        if reply != Reply::Integer(0) {
            return Err(format!("{reply:?} without a state"));
        }
    }
    for (state_text, entries) in states {
        let reply = |script: &mut Script| {
            script.raw.command("FLUSHALL");
            script.raw.execute(&["SET", &state, &state_text]);
            if form.kinds.contains(&Kind::Window) {
                script.raw.execute(&[&["RPUSH", &log][..], entries].concat());
            }
            let (reply, log) = (script.run(form.take(), NOW + 10), script.raw.execute(&["LRANGE", &log, "0", "-1"]));
            (reply, script.raw.execute(&["GET", &state]), log)
        };
        let (expected, given) = (reply(&mut whole), reply(&mut plain));
        let is_equal = match (&expected.0, &given.0) {
            (_, Reply::Integer(0)) => given.1 == Reply::Text(state_text.clone().into_bytes()),
            (Reply::Array(expected), Reply::Text(given)) => expected[0] == Reply::Integer(i64::from(is_grant(given))),
            _ => false,
        };
        if !is_equal || given.0 != Reply::Integer(0) && (&expected.1, &expected.2) != (&given.1, &given.2) {
            return Err(format!("{given:?} instead of {expected:?} on {state_text:?} {entries:?}"));
        }
    }
    Ok(())
}

/// Above the most permits that are kept, a call removes so many at most, and those that end first. A permit that lasts
/// longer than this one keeps its key.
fn keeps_so_many_permits(script: &mut Script, form: Form) -> Result<(), String> {
    const FILL: &str = "for i = 1, ARGV[1] do redis.call('ZADD', KEYS[1], ARGV[2] + 2 * i, i) end
        redis.call('PEXPIRE', KEYS[1], 500000)";
    for (open, left) in [(99_998, 99_999), (100_004, 100_000), (101_500, 100_502)] {
        script.raw.command("FLUSHALL");
        script.decision(form.take(), NOW)?;
        let key = keys(script).into_iter().find(|key| key.contains(":p:")).ok_or("no permit")?;
        script.raw.execute(&["DEL", &key]);
        let later = (2 * (NOW + 50 * SECOND)).to_string();
        script.raw.execute(&["EVAL", FILL, "1", &key, &open.to_string(), &later]);
        // One that was settled ends now.
        script.raw.execute(&["ZADD", &key, &(2 * (NOW + 10 * SECOND) + 1).to_string(), "settled"]);
        script.run(form.take(), NOW + 10 * SECOND);
        let count = script.raw.execute(&["ZCARD", &key]);
        if count != Reply::Integer(left) {
            return Err(format!("{count:?} permits instead of {left} of {open}"));
        }
        if script.raw.ttl(key.as_bytes()) < 400_000 {
            return Err("the permits expire before others do".to_owned());
        }
    }
    Ok(())
}
