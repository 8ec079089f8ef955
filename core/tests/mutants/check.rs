//! Runs the checks that detect a mutant: workloads and sequences, whose results are compared with the memory store, and
//! scenarios. The check that detected the last mutant runs first, because it often detects the next one too.

use std::panic::{AssertUnwindSafe, catch_unwind};

use paddlegate::store::redis::SCRIPT;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::scenario::{SCENARIOS, SLOW_SCENARIOS, Scenario};
use crate::script::Script;
use crate::sequences;
use crate::server::Server;
use crate::support::library::Library;
use crate::support::memory_with_clock;
use crate::support::raw::Raw;
use crate::support::sequence::{Sequence, compare};
use crate::support::workload::{Runner, Step, Workload};
use crate::workloads;

/// The number of additional random workloads and sequences for a mutant that no other check detects.
const EXTRA_SEEDS: u64 = 240;

enum Check {
    /// A workload, with the expected text of each step from the memory store.
    Workload(Workload, Vec<String>),
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
        let mut quick: Vec<Check> = workloads::rare().into_iter().map(Check::workload).collect();
        quick.extend(workloads::SELECTED_SEEDS.iter().map(|seed| Check::workload(workloads::random(*seed))));
        quick.extend(workloads::POLICY_SEEDS.iter().map(|seed| Check::workload(workloads::random_policies(*seed))));
        quick.extend(workloads::SHARE_SEEDS.iter().map(|seed| Check::workload(workloads::random_shares(*seed))));
        quick.extend(workloads::AGING_SEEDS.iter().map(|seed| Check::workload(workloads::random_aging(*seed))));
        quick.extend(workloads::LATE_SEEDS.iter().map(|seed| Check::workload(workloads::random_late(*seed))));
        quick.extend(workloads::MODE_SEEDS.iter().map(|seed| Check::workload(workloads::random_modes(*seed))));
        quick.extend(sequences::rare().into_iter().map(Check::Sequence));
        quick.extend(sequences::SELECTED_SEEDS.iter().map(|seed| Check::Sequence(sequences::random(*seed))));
        quick.extend(scenarios(SCENARIOS));
        Self { quick, slow: scenarios(SLOW_SCENARIOS) }
    }

    /// Panics if a check fails on the original script.
    pub fn assert_pass(&self, server: &Server) {
        let failures: Vec<String> =
            self.quick.iter().chain(&self.slow).filter_map(|check| check.failure(server)).collect();
        assert!(failures.is_empty(), "checks fail on the original script:\n{}", failures.join("\n"));
    }

    /// Returns whether a check fails on this script.
    pub fn detect(&mut self, server: &Server, text: &str) -> bool {
        Raw::connect("127.0.0.1", server.port).command("SCRIPT FLUSH");
        if let Some(found) = self.quick.iter().position(|check| check.run(server, text).is_err()) {
            self.quick[..=found].rotate_right(1);
            return true;
        }
        if self.slow.iter().any(|check| check.run(server, text).is_err()) {
            return true;
        }
        // After a change of the strategies the selected seeds generate other workloads.
        let more = (0..EXTRA_SEEDS).flat_map(|seed| {
            [
                (seed, "workload", Check::workload(workloads::random(seed))),
                (seed, "workload with modes", Check::workload(workloads::random_modes(seed))),
                (seed, "workload with policies", Check::workload(workloads::random_policies(seed))),
                (seed, "workload with late callers", Check::workload(workloads::random_late(seed))),
                (seed, "workload of shares", Check::workload(workloads::random_shares(seed))),
                (seed, "sequence", Check::Sequence(sequences::random(seed))),
            ]
        });
        for (seed, kind, check) in more {
            if check.run(server, text).is_err() {
                assert_eq!(check.failure(server), None);
                println!("add seed {seed} of a {kind} to the selected seeds");
                self.quick.insert(0, check);
                return true;
            }
        }
        false
    }
}

impl Check {
    fn workload(workload: Workload) -> Self {
        let mut memory = Runner::in_memory(&workload);
        let expected =
            (0..workload.steps.len()).map(|number| step_text(&mut memory, &workload.steps, number)).collect();
        Self::Workload(workload, expected)
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Workload(..) => "workload",
            Self::Sequence(_) => "sequence",
            Self::Scenario(name, _) => name,
        }
    }

    /// Returns what is wrong with the original script.
    fn failure(&self, server: &Server) -> Option<String> {
        self.run(server, SCRIPT).err().map(|wrong| format!("{}: {wrong}", self.name()))
    }

    /// Runs the check. A panic counts as a detection, because a broken script may return an unexpected reply.
    fn run(&self, server: &Server, text: &str) -> Result<(), String> {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.compare(server, text)));
        outcome.unwrap_or_else(|_| Err("the check panicked".to_owned()))
    }

    /// Stops at the first difference.
    fn compare(&self, server: &Server, text: &str) -> Result<(), String> {
        match self {
            Self::Workload(workload, expected) => {
                let mut runner = Runner::on_script(server.port, text, workload);
                for (number, expected) in expected.iter().enumerate() {
                    let step_text = step_text(&mut runner, &workload.steps, number);
                    if step_text != *expected {
                        return Err(format!("{:?}: {step_text} instead of {expected}", workload.steps[number]));
                    }
                }
                Ok(())
            }
            Self::Sequence(sequence) => {
                let mut memory = Library::new(&memory_with_clock(), "mutant", &sequence.limits);
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

/// Returns the result of a step as text. The statistics are cumulative, so the text of every eighth step has them.
fn step_text(runner: &mut Runner, steps: &[Step], number: usize) -> String {
    let mut step_text = runner.step(&steps[number]).text;
    if number % 8 == 7 || number + 1 == steps.len() {
        step_text += &runner.statistics();
    }
    step_text
}

/// Returns the value that a strategy generates for a seed; it is the same in every run.
pub fn value<S: Strategy>(strategy: &S, seed: u64) -> S::Value {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    strategy.new_tree(&mut TestRunner::new_with_rng(Config::default(), rng)).expect("a value").current()
}
