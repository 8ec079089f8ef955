//! Mutants of the script of several limiters, detected by random calls whose answers are compared with the memory store.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use paddlegate::store::redis::script_of_several;
use paddlegate::{Limit, Paddlegate};
use proptest::collection::vec;

use crate::check::value;
use crate::list::together::{DRY_RUN, HELD_UP, TOGETHER};
use crate::list::{FILES, Mutant};
use crate::server::Server;
use crate::support::raw::Raw;
use crate::support::script_client::ScriptClient;
use crate::support::together::{Amount, Call, Subject, call, call_with_modes, directly, limits};
use crate::support::{clock, memory_with_clock, open_whole, set_clock};
use crate::{is_chosen, share};

const START: u64 = 1_700_000_000_000_000;

/// The number of random cases for each mutant.
const SEEDS: u64 = 1_500;

const FILE: &str = "engine/together.lua";
const TEXT: &str = include_str!("../../src/engine/together.lua");

#[test]
fn random_calls_detect_every_mutant_of_several_limiters() {
    let server = Server::start();
    assert_eq!(mutated(FILE, &("", "", "")), script_of_several(), "the library was compiled from other files");
    for case in cases().into_iter().chain((0..40).map(Case::Random)) {
        assert_eq!(difference(&server, script_of_several(), &case), None, "{case:?}");
    }
    let mut cases: Vec<Case> = cases();
    cases.extend((0..SEEDS).map(Case::Random));
    let mut survivors = Vec::new();
    for (file, mutant) in share(all().filter(|(_, (what, ..))| is_chosen(what))) {
        let text = mutated(file, mutant);
        let found = cases.iter().position(|case| {
            let run = || difference(&server, &text, case);
            catch_unwind(AssertUnwindSafe(run)).map_or(true, |difference| difference.is_some())
        });
        match found {
            // The case that detected the last mutant often detects the next one too.
            Some(found) => cases[..=found].rotate_right(1),
            None => survivors.push(format!("{file}: {}", mutant.0)),
        }
    }
    assert!(survivors.is_empty(), "{} mutants were not detected:\n{}", survivors.len(), survivors.join("\n"));
}

#[test]
fn every_mutant_of_several_limiters_fits_the_script() {
    let misfits = all().filter(|(file, mutant)| text_of(file).matches(mutant.1).count() != 1);
    let misfits: Vec<String> = misfits.map(|(file, mutant)| format!("{file}: {}", mutant.0)).collect();
    assert!(misfits.is_empty(), "{}", misfits.join("\n"));
}

fn all() -> impl Iterator<Item = (&'static str, &'static Mutant)> {
    let other = [(FILE, TOGETHER), ("engine/transaction/held_up.lua", HELD_UP)];
    let each = other.into_iter().chain(DRY_RUN.iter().copied());
    each.flat_map(|(file, mutants)| mutants.iter().map(move |mutant| (file, mutant)))
}

fn text_of(file: &str) -> &'static str {
    FILES.iter().find(|lua| lua.file == file).map_or(TEXT, |lua| lua.text)
}

/// Returns the script of several limiters with one mistake.
fn mutated(file: &str, (_, from, to): &Mutant) -> String {
    let piece = |name: &str, text: &'static str| {
        if name == file && !from.is_empty() { text.replacen(from, to, 1) } else { text.to_owned() }
    };
    let head = script_of_several().lines().next().expect("a line");
    let body: String = FILES[1..].iter().map(|lua| piece(lua.file, lua.text)).collect();
    // The first piece is the head of the function here, and a blank line follows it.
    format!("{head}\n{body}end\n{}", piece(FILE, TEXT))
}

/// The limits of three limiters, and calls.
#[derive(Clone, Debug)]
enum Case {
    Random(u64),
    Given([Vec<Limit>; 3], Vec<Call>),
}

impl Case {
    fn parts(&self) -> ([Vec<Limit>; 3], Vec<Call>) {
        match self {
            Self::Random(seed) if seed % 4 == 3 => (limits_of(*seed), value(&vec(call_with_modes(), 40..60), *seed)),
            Self::Random(seed) => (limits_of(*seed), value(&vec(call(), 40..60), *seed)),
            Self::Given(limits, calls) => (limits.clone(), calls.clone()),
        }
    }
}

fn limits_of(seed: u64) -> [Vec<Limit>; 3] {
    value(&[limits(), limits(), limits()], seed)
}

/// Returns cases that random calls rarely contain.
fn cases() -> Vec<Case> {
    let leaky = |amount, seconds| vec![Limit::leaky(amount, Duration::from_secs(seconds)).expect("a limit")];
    let take = |who, units| Call::Acquire { who, cost: Amount::All(units), estimate: false };
    let enter = |who, id, units, wait| Call::Enter { who, id, cost: Amount::All(units), wait, position: 0 };
    let (later, minute) = (|seconds: u64| Call::Advance(seconds * 1_000_000), Some(60_000_000));
    // The mutant decides calls to several limiters only.
    let (both, third_and_first) = (3, 4);
    vec![
        // The claim time of a ticket that another limiter holds up does not shorten the wait of those behind it.
        Case::Given(
            [leaky(1, 10), leaky(1, 1), leaky(1, 12)],
            vec![
                take(0, 1),
                enter(third_and_first, 3, 1, minute),
                take(2, 1),
                enter(third_and_first, 3, 1, minute),
                enter(0, 4, 1, minute),
                later(11),
                enter(both, 6, 1, minute),
            ],
        ),
        // A call that another limiter refuses removes a ticket that has lapsed.
        Case::Given(
            [leaky(1, 60), leaky(2, 10), leaky(1, 1)],
            vec![
                take(0, 1),
                take(1, 2),
                enter(1, 4, 2, minute),
                later(15),
                enter(1, 6, 2, minute),
                later(16),
                enter(both, 3, 1, None),
                Call::Peek { who: 1, cost: Amount::All(1) },
            ],
        ),
    ]
}

/// Returns the first answer of a case that is not that of the memory store.
fn difference(server: &Server, text: &str, case: &Case) -> Option<String> {
    set_clock(START);
    Raw::connect("127.0.0.1", server.port).command("FLUSHDB");
    let (limits, calls) = case.parts();
    let store: Paddlegate = open_whole(&format!("redis://127.0.0.1:{}", server.port), Some(&clock()));
    let mut client = ScriptClient::new(server.port, text);
    let through_client = Box::new(move |limiter: &paddlegate::Limiter, operation: paddlegate::Operation<'_>| {
        if limiter.limiters().is_empty() { directly()(limiter, operation) } else { client.run(limiter, operation) }
    });
    let names = ["one", "two", "three"].map(str::to_owned);
    let mut memory = Subject::new(&memory_with_clock(), &names, &limits, directly());
    let mut script = Subject::new(&store, &names, &limits, through_client);
    for call in &calls {
        if let Call::Advance(us) = call {
            clock().advance(Duration::from_micros(*us)).expect("a time");
        }
        let (expected, got) = (memory.run(call), script.run(call));
        if expected != got {
            return Some(format!("{call:?}: {got} instead of {expected}"));
        }
        for who in 0..3 {
            for look in [Call::Statistics { who }, Call::Peek { who, cost: Amount::All(0) }] {
                let (expected, got) = (memory.run(&look), script.run(&look));
                if expected != got {
                    return Some(format!("{look:?} after {call:?}: {got} instead of {expected}"));
                }
            }
        }
    }
    None
}
