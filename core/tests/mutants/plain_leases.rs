//! Mutation test of the scripts that grant and release leases of plain calls: the same steps through them and through the whole
//! script leave the same replies, keys and lifetimes.

use paddlegate::store::redis::{SCRIPT, compose};
use paddlegate::{Kind, Operation, Request};
use proptest::prelude::*;

use crate::check::value;
use crate::list::leases::LEASE_FILES;
use crate::scenario::damaged_states;
use crate::script::Script;
use crate::server::Server;
use crate::share;
use crate::support::raw::Reply;
use crate::support::sequence::{NOTHING, Spec};

const NOW: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;

/// The shapes of the two scripts, in the order of `LEASE_FILES`.
const SHAPES: [&str; 2] = ["c", "r"];

/// How many random sequences run.
const SEEDS: u64 = 25;

#[derive(Clone, Copy, Debug)]
enum Step {
    Acquire {
        id: usize,
        units: u64,
    },
    /// Of a lease, counted back from the newest; by a permit of another grant when it is wrong.
    Release {
        age: usize,
        is_wrong: bool,
    },
    Renew {
        age: usize,
    },
    Cancel {
        id: usize,
    },
    Wait(i64),
    /// The limit and the lock timeout of the next calls.
    Resize(u64, u64),
}

/// What a step left: the reply, and every key with its lifetime in seconds.
#[derive(Debug)]
struct Trace {
    reply: String,
    keys: Vec<String>,
    lifetimes: Vec<i64>,
    is_plain: bool,
}

/// Runs steps through the whole script, or through a plain one as long as it decides.
struct Caller {
    whole: Script,
    plain: Option<[Script; 2]>,
    limit: Spec,
    at: u64,
    /// The ids of the permits.
    permits: Vec<String>,
}

#[test]
fn the_checks_detect_every_mutant_of_the_scripts_of_leases() {
    let server = Server::start();
    let expected: Vec<(u64, Vec<Step>, Vec<Trace>)> = (0..SEEDS)
        .map(|seed| {
            let steps = value(&steps(), seed);
            let traces = Caller::whole(server.port).run(&steps);
            (seed, steps, traces)
        })
        .collect();
    let originals = SHAPES.map(original);
    let texts = originals.each_ref().map(String::as_str);
    assert_eq!(failure(&server, &expected, texts), None);
    let mut survivors = Vec::new();
    for (file, lua) in LEASE_FILES.iter().enumerate() {
        for (what, from, to) in share(lua.mutants.iter()) {
            assert_eq!(lua.text.matches(from).count(), 1, "{}: {what}", lua.file);
            let mutated = compose(SHAPES[file], &|file, text| {
                if file == lua.file { text.replacen(from, to, 1) } else { text.into() }
            });
            let mut with_mutant = texts;
            with_mutant[file] = &mutated;
            if failure(&server, &expected, with_mutant).is_none() {
                survivors.push(format!("{}: {what}", lua.file));
            }
        }
    }
    assert!(survivors.is_empty(), "the checks did not detect {} mutants:\n{}", survivors.len(), survivors.join("\n"));
}

fn original(shape: &str) -> String {
    compose(shape, &|_, text| text.into())
}

/// Returns what is wrong with the two scripts.
fn failure(server: &Server, expected: &[(u64, Vec<Step>, Vec<Trace>)], texts: [&str; 2]) -> Option<String> {
    let port = server.port;
    let checks: [&dyn Fn() -> Result<(), String>; 4] = [
        &|| decides_what_is_plain(&mut Caller::plain(port, texts)),
        &|| reads_the_servers_clock(&mut Caller::plain(port, texts)),
        &|| leaves_what_is_damaged(port, texts),
        &|| {
            expected.iter().try_for_each(|(seed, steps, traces)| {
                agree(traces, &Caller::plain(port, texts).run(steps)).map_err(|error| format!("seed {seed}: {error}"))
            })
        },
    ];
    let run = |check: &dyn Fn() -> Result<(), String>| {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
        outcome.unwrap_or_else(|_| Err("the check panicked".to_owned())).err()
    };
    checks.into_iter().find_map(run)
}

fn agree(whole: &[Trace], plain: &[Trace]) -> Result<(), String> {
    for (number, (one, other)) in whole.iter().zip(plain).enumerate() {
        let is_near = |(one, other): (&i64, &i64)| one.abs_diff(*other) <= 1;
        let are_near = one.lifetimes.iter().zip(&other.lifetimes).all(is_near);
        if one.reply != other.reply || one.keys != other.keys || !are_near {
            return Err(format!("step {number}: {other:?} instead of {one:?}"));
        }
    }
    Ok(())
}

fn limit(amount: u64, timeout: u64) -> Spec {
    Spec { kind: Kind::Concurrency, number: 0, amount, interval: timeout, offset: 0 }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let wait = prop_oneof![
        3 => 0..3_i64,
        3 => Just(5_000_000 - 1),
        3 => Just(2_500_000),
        1 => Just(300_000_000),
        1 => -9_000_000..0_i64,
    ];
    let step = prop_oneof![
        12 => (0..9_usize, 1..4_u64).prop_map(|(id, units)| Step::Acquire { id, units }),
        6 => (0..4_usize, any::<u8>()).prop_map(|(age, odds)| Step::Release { age, is_wrong: odds % 8 == 0 }),
        1 => (0..4_usize).prop_map(|age| Step::Renew { age }),
        1 => (0..9_usize).prop_map(|id| Step::Cancel { id }),
        5 => wait.prop_map(Step::Wait),
        1 => (1..5_u64, prop::sample::select(&[2_500_000, 5_000_000, 60_000_000][..]))
            .prop_map(|(limit, timeout)| Step::Resize(limit, timeout)),
    ];
    prop::collection::vec(step, 20..60)
}

impl Caller {
    fn whole(port: u16) -> Self {
        let limit = limit(3, 5 * SECOND);
        let mut whole = Script::new(port, SCRIPT, &[limit]);
        whole.raw.command("FLUSHALL");
        Self { whole, plain: None, limit, at: NOW, permits: Vec::new() }
    }

    fn plain(port: u16, texts: [&str; 2]) -> Self {
        let caller = Self::whole(port);
        let script = |i: usize| Script::plain(port, &original(SHAPES[i]), texts[i], &[caller.limit]);
        Self { plain: Some([script(0), script(1)]), ..caller }
    }

    fn run(&mut self, steps: &[Step]) -> Vec<Trace> {
        steps.iter().map(|step| self.step(*step)).collect()
    }

    fn step(&mut self, step: Step) -> Trace {
        let name = |id: usize| format!("id {id}");
        let permit = |caller: &Self, age: usize| {
            let newest = caller.permits.len().checked_sub(1 + age);
            newest.map_or_else(|| "none:1:1".to_owned(), |at| caller.permits[at].clone())
        };
        let (reply, is_plain) = match step {
            Step::Acquire { id, units } => self.acquire(&name(id), units),
            Step::Release { age, is_wrong } => {
                let mut permit = permit(self, age);
                if is_wrong {
                    let (id, rest) = permit.split_once(':').expect("a permit");
                    let (granted_at, units) = rest.split_once(':').expect("a permit");
                    let granted_at: u64 = granted_at.parse().expect("a time");
                    permit = format!("{id}:{}:{units}", granted_at + 1);
                }
                self.release(&permit)
            }
            Step::Renew { age } => {
                let permit = permit(self, age);
                (format!("{:?}", self.whole.run(Operation::Renew { permit: &permit }, self.at)), false)
            }
            Step::Cancel { id } => {
                let operation = Operation::Cancel { id: &name(id), gave_up: false };
                (format!("{:?}", self.whole.run(operation, self.at)), false)
            }
            Step::Wait(by) => {
                self.at = self.at.saturating_add_signed(by);
                (String::new(), false)
            }
            Step::Resize(amount, timeout) => {
                self.limit = limit(amount, timeout);
                (String::new(), false)
            }
        };
        let (keys, lifetimes) = self.keys();
        Trace { reply: format!("{reply}, then {}", self.peek()), keys, lifetimes, is_plain }
    }

    /// Makes the limiters anew: after a call that is not plain, the next ones would go to the whole script.
    fn renew_limiters(&mut self) {
        use crate::support::sequence::Implementation;
        self.whole.resize(&[self.limit]);
        for script in self.plain.iter_mut().flatten() {
            script.resize(&[self.limit]);
        }
    }

    fn peek(&mut self) -> String {
        use crate::support::sequence::Implementation;
        self.renew_limiters();
        format!("{:?}", self.whole.peek(self.at, &NOTHING))
    }

    fn acquire(&mut self, id: &str, units: u64) -> (String, bool) {
        let take = || Operation::AcquireWithId { request: Request::cost(units), id, wait: None };
        self.renew_limiters();
        let plain = self.plain.as_mut().map(|[acquiring, _]| acquiring.run(take(), self.at));
        let is_plain = !matches!(plain, None | Some(Reply::Integer(0)));
        let reply = plain.filter(|_| is_plain).unwrap_or_else(|| self.whole.run(take(), self.at));
        let Reply::Array(items) = &reply else { return (format!("{reply:?}"), is_plain) };
        if items[0] == Reply::Integer(1) {
            let time = if let Reply::Integer(0) = items[11] { &items[5] } else { &items[11] };
            let Reply::Integer(granted_at) = time else { return (format!("{reply:?}"), is_plain) };
            let charge = if items[12] == Reply::Integer(0) { &Reply::Integer(units.cast_signed()) } else { &items[12] };
            let Reply::Integer(charge) = charge else { return (format!("{reply:?}"), is_plain) };
            self.permits.push(format!("{id}:{granted_at}:{charge}"));
            return (format!("{items:?}"), is_plain);
        }
        (format!("{:?}", &items[..6]), is_plain)
    }

    fn release(&mut self, permit: &str) -> (String, bool) {
        let release = || Operation::Release { permit };
        self.renew_limiters();
        let plain = self.plain.as_mut().map(|[_, releasing]| releasing.run(release(), self.at));
        match plain {
            Some(Reply::Array(items)) => {
                // The time is that of the limiter, which a peek says too.
                let is_time = items.len() == 2 && self.peek().contains(&format!("at: {}", number(&items[1])));
                let released = if is_time && items[0] == Reply::Integer(1) {
                    "[Integer(7)]".to_owned()
                } else {
                    format!("{items:?}")
                };
                (released, true)
            }
            Some(Reply::Integer(0)) | None => match self.whole.run(release(), self.at) {
                Reply::Array(items) => (format!("{items:?}"), false),
                other => (format!("{other:?}"), false),
            },
            Some(other) => (format!("{other:?}"), true),
        }
    }

    /// Returns what decides: each key with its value, and the lifetimes in seconds.
    fn keys(&mut self) -> (Vec<String>, Vec<i64>) {
        let raw = &mut self.whole.raw;
        let names = raw.keys("mutant").into_iter().map(|key| String::from_utf8(key).expect("a name of text"));
        let mut names: Vec<String> = names.filter(|key| !key.contains(":m:")).collect();
        names.sort();
        let mut keys = Vec::new();
        let mut lifetimes = Vec::new();
        for key in names {
            let reader = match key.split(':').nth(2) {
                Some("h") => vec!["ZRANGE", &key, "0", "-1", "WITHSCORES"],
                Some("t") => vec!["HGETALL", &key],
                _ => vec!["GET", &key],
            };
            let value = raw.execute(&reader);
            lifetimes.push((raw.ttl(key.as_bytes()) + 400) / 1_000);
            keys.push(format!("{key} {value:?}"));
        }
        (keys, lifetimes)
    }
}

fn number(reply: &Reply) -> i64 {
    if let Reply::Integer(number) = reply { *number } else { -1 }
}

/// Which of these calls the scripts decide themselves. A lease that ended is removed by the whole script, and then no call needs it.
fn decides_what_is_plain(caller: &mut Caller) -> Result<(), String> {
    let acquire = |id| Step::Acquire { id, units: 1 };
    let release = Step::Release { age: 0, is_wrong: false };
    for (step, is_plain) in [
        (acquire(0), true),
        (acquire(1), true),
        (acquire(2), true),
        (acquire(3), true),
        (release, true),
        (release, false),
        (acquire(4), true),
        (acquire(4), false),
        (Step::Wait(5_000_000), false),
        (acquire(5), false),
        (acquire(6), true),
        (release, true),
        (Step::Wait(-1), false),
        (acquire(7), false),
        (acquire(8), true),
    ] {
        let trace = caller.step(step);
        if trace.is_plain != is_plain {
            return Err(format!("{step:?} was {trace:?}"));
        }
    }
    Ok(())
}

/// Without the time of a test the scripts read the server's.
fn reads_the_servers_clock(caller: &mut Caller) -> Result<(), String> {
    let Some([acquiring, releasing]) = &mut caller.plain else { return Err("no plain scripts".to_owned()) };
    let Reply::Array(time) = acquiring.raw.execute(&["TIME"]) else { return Err("no time".to_owned()) };
    let Reply::Text(seconds) = &time[0] else { return Err("no time".to_owned()) };
    let before = String::from_utf8_lossy(seconds).parse::<i64>().map_err(|error| error.to_string())? * 1_000_000;
    let is_now = |time: i64| (before..before + 30_000_000).contains(&time);
    let mut words = acquiring.words(Operation::AcquireWithId { request: Request::cost(1), id: "id", wait: None }, NOW);
    words.pop();
    let Reply::Array(items) = acquiring.raw.execute(&words) else { return Err("no grant".to_owned()) };
    let granted_at = number(&items[5]);
    let permit = format!("id:{granted_at}:1");
    let mut words = releasing.words(Operation::Release { permit: &permit }, NOW);
    words.pop();
    let Reply::Array(items) = releasing.raw.execute(&words) else { return Err("no release".to_owned()) };
    if !is_now(granted_at) || !is_now(number(&items[1])) {
        return Err(format!("{granted_at} and {items:?} at {before}"));
    }
    Ok(())
}

/// On damaged values the answer is that of the whole script, or the script changes nothing and leaves the call to it.
fn leaves_what_is_damaged(port: u16, texts: [&str; 2]) -> Result<(), String> {
    const STATE: &str = "1700000000000000 0 c 1700000000000000 .";
    const END: &str = "1700000001000000";
    let (mut whole, mut plain) = (Caller::whole(port), Caller::plain(port, texts));
    whole.acquire("first", 1);
    let names = whole.whole.raw.keys("mutant").into_iter().map(|key| String::from_utf8(key).expect("a name of text"));
    let names: Vec<String> = names.collect();
    let keys = [":s:", ":h:", ":t:"].map(|role| names.iter().find(|key| key.contains(role)).expect("a key"));
    let mut cases: Vec<(String, &str, &str)> =
        damaged_states(STATE).into_iter().map(|state| (state, END, "5 1")).collect();
    for end in [END, "1e16", "1700000001000000.5", "1700000000500000.5", "inf"] {
        cases.extend(["5 1", "5 1 x", "5", ""].map(|record| (STATE.to_owned(), end, record)));
    }
    for (state, end, record) in cases {
        for amount in [1, 2, 3] {
            let fill = |caller: &mut Caller| {
                let raw = &mut caller.whole.raw;
                raw.command("FLUSHALL");
                raw.execute(&["SET", keys[0], &state]);
                raw.execute(&["ZADD", keys[1], "1700000000900000", "other", end, "id 0"]);
                let (id, record) = ("\u{1f}id 0", format!("{NOW} {record}"));
                raw.execute(&["HSET", keys[2], id, &record, "\u{1f}other", "5 5 1"]);
            };
            let ask = |caller: &mut Caller| {
                (caller.limit, caller.at) = (limit(amount, 5 * SECOND), NOW + 10);
                fill(caller);
                let (acquired, kept) = (caller.acquire("id 1", 1).0, caller.keys().0);
                fill(caller);
                let (released, left) = (caller.release(&format!("id 0:{NOW}:1")).0, caller.keys().0);
                [vec![acquired], kept, vec![released], left]
            };
            let (expected, given) = (ask(&mut whole), ask(&mut plain));
            if expected != given {
                return Err(format!("{given:?} instead of {expected:?} on {state:?}, {end}, {record:?}, {amount}"));
            }
        }
    }
    Ok(())
}
