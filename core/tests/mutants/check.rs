//! What notices a broken script: crowds and sequences that memory answers too, and scenarios. What noticed last comes
//! first, as mutants of one place are alike.

use std::panic::{AssertUnwindSafe, catch_unwind};

use paddlegate::Paddlegate;
use paddlegate::store::redis::SCRIPT;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::crowds;
use crate::scenario::{SCENARIOS, SLOW_SCENARIOS, Scenario};
use crate::sequences;
use crate::server::Server;
use crate::side::Script;
use crate::support::crowd::{Crowd, Stage, Step};
use crate::support::raw::Raw;
use crate::support::script::{Script as Sequence, compare};
use crate::support::side::Library;

/// The number of random crowds and sequences for a mutant that no other check detects.
const MORE: u64 = 240;

enum Check {
    /// With the expected answers from the memory store.
    Crowd(Crowd, Vec<String>),
    Sequence(Sequence),
    Scenario(&'static str, Scenario),
}

pub struct Checks {
    quick: Vec<Check>,
    slow: Vec<Check>,
}

impl Checks {
    pub fn new() -> Self {
        let scenarios = |list: &[(&'static str, Scenario)]| -> Vec<Check> {
            list.iter().map(|(name, scenario)| Check::Scenario(name, *scenario)).collect()
        };
        let mut quick: Vec<Check> = crowds::rare().into_iter().map(Check::crowd).collect();
        quick.extend(crowds::CHOSEN.iter().map(|seed| Check::crowd(crowds::random(*seed))));
        quick.extend(sequences::rare().into_iter().map(Check::Sequence));
        quick.extend(sequences::CHOSEN.iter().map(|seed| Check::Sequence(sequences::random(*seed))));
        quick.extend(scenarios(SCENARIOS));
        Self { quick, slow: scenarios(SLOW_SCENARIOS) }
    }

    /// Panics if a check fails on the original script.
    pub fn accept(&self, server: &Server) {
        self.quick.iter().chain(&self.slow).for_each(|check| check.accept(server));
    }

    pub fn notice(&mut self, server: &Server, text: &str) -> bool {
        Raw::connect("127.0.0.1", server.port).command("SCRIPT FLUSH");
        if let Some(found) = self.quick.iter().position(|check| check.run(server, text).is_err()) {
            self.quick[..=found].rotate_right(1);
            return true;
        }
        if self.slow.iter().any(|check| check.run(server, text).is_err()) {
            return true;
        }
        // If the strategies have changed, the chosen seeds now give other crowds.
        let more = (0..MORE).flat_map(|seed| {
            [(seed, Check::crowd(crowds::random(seed))), (seed, Check::Sequence(sequences::random(seed)))]
        });
        for (seed, check) in more {
            if check.run(server, text).is_err() {
                check.accept(server);
                println!("{} {seed} is worth choosing", check.name());
                self.quick.insert(0, check);
                return true;
            }
        }
        false
    }
}

impl Check {
    fn crowd(crowd: Crowd) -> Self {
        let mut memory = Stage::in_memory(&crowd);
        let expected = (0..crowd.steps.len()).map(|number| seen(&mut memory, &crowd.steps, number)).collect();
        Self::Crowd(crowd, expected)
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Crowd(..) => "crowd",
            Self::Sequence(_) => "sequence",
            Self::Scenario(name, _) => name,
        }
    }

    fn accept(&self, server: &Server) {
        assert_eq!(self.run(server, SCRIPT), Ok(()), "{}: the script as it is", self.name());
    }

    /// Runs the check. A panic counts as a detection, because a broken script may return an unexpected reply.
    fn run(&self, server: &Server, text: &str) -> Result<(), String> {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.compare(server, text)));
        outcome.unwrap_or_else(|_| Err("a panic".to_owned()))
    }

    /// Stops at the first difference.
    fn compare(&self, server: &Server, text: &str) -> Result<(), String> {
        match self {
            Self::Crowd(crowd, expected) => {
                let mut stage = Stage::on_script(server.port, text, crowd);
                for (number, expected) in expected.iter().enumerate() {
                    let seen = seen(&mut stage, &crowd.steps, number);
                    if seen != *expected {
                        return Err(format!("{:?}: {seen} instead of {expected}", crowd.steps[number]));
                    }
                }
                Ok(())
            }
            Self::Sequence(sequence) => {
                let mut memory = Library::new(&Paddlegate::memory(), "mutant", &sequence.limits);
                let mut script = Script::new(server.port, text, &sequence.limits);
                compare(sequence, &mut memory, &mut script).map_err(|error| error.to_string())
            }
            Self::Scenario(name, scenario) => {
                Raw::connect("127.0.0.1", server.port).command("FLUSHALL");
                scenario(server.port, text).map_err(|wrong| format!("{name}: {wrong}"))
            }
        }
    }
}

/// Returns the result of a step as text. The statistics are cumulative, so every eighth step is enough.
fn seen(stage: &mut Stage, steps: &[Step], number: usize) -> String {
    let mut seen = stage.step(&steps[number]).text;
    if number % 8 == 7 || number + 1 == steps.len() {
        seen += &stage.statistics();
    }
    seen
}

/// Returns the value that a strategy generates for a seed; it is the same in every run.
pub fn value<S: Strategy>(strategy: &S, seed: u64) -> S::Value {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    strategy.new_tree(&mut TestRunner::new_with_rng(Config::default(), rng)).expect("a value").current()
}
