//! `run`: simulates every policy of a scenario, with a progress bar for long runs.

use std::cell::OnceCell;

use indicatif::{ProgressBar, ProgressStyle};
use paddlegate::simulate::{Simulation, Totals};

use crate::failure::Failure;
use crate::scenario::Ordered;
use crate::timelines::Timelines;

/// This number of decisions takes a few hundredths of a second.
const CHUNK: u64 = 20_000;

/// Shorter runs end before a progress bar could be read.
const LONG: u64 = 200_000;

const PARTS: f64 = 1_000.0;

/// Returns the totals of each policy. Writes their timelines to a file, if given.
pub(crate) fn run(ordered: &Ordered, bar: &Bar, mut timelines: Option<Timelines>) -> Result<Vec<Totals>, Failure> {
    let scenario = &ordered.scenario;
    let failure = |error: paddlegate::Error| ordered.origins.failure(&error);
    let mut all = Vec::new();
    for policy in 0..scenario.policies() {
        let mut simulation = Simulation::new(scenario, policy).map_err(failure)?;
        if timelines.is_none() {
            simulation = simulation.without_timeline();
        }
        let mut decisions = 0;
        while simulation.run(CHUNK).map_err(failure)? {
            decisions += CHUNK;
            if decisions >= LONG {
                bar.show(policy, simulation.progress());
            }
        }
        let totals = simulation.totals();
        if let Some(timelines) = &mut timelines {
            timelines.write(&totals.name, simulation.timeline())?;
        }
        all.push(totals);
    }
    if let Some(timelines) = timelines {
        timelines.finish()?;
    }
    bar.clear();
    Ok(all)
}

/// The progress of all policies together.
pub(crate) struct Bar {
    is_wanted: bool,
    policies: usize,
    /// Created when a run turns out to be long.
    shown: OnceCell<ProgressBar>,
}

impl Bar {
    pub(crate) const fn new(is_wanted: bool, policies: usize) -> Self {
        Self { is_wanted, policies, shown: OnceCell::new() }
    }

    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 4000"
    )]
    fn show(&self, policy: usize, progress: f64) {
        if !self.is_wanted {
            return;
        }
        let bar = self.shown.get_or_init(|| {
            let style = ProgressStyle::with_template("{msg} [{bar:40}] {percent:>3}% {elapsed}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
            ProgressBar::new((self.policies as f64 * PARTS) as u64).with_style(style)
        });
        bar.set_message(format!("policy {} of {}", policy + 1, self.policies));
        bar.set_position(((policy as f64 + progress.clamp(0.0, 1.0)) * PARTS) as u64);
    }

    /// Removes the bar, so that the result replaces it.
    fn clear(&self) {
        if let Some(bar) = self.shown.get() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Bar {
    /// Removes the bar, so that an error message replaces it.
    fn drop(&mut self) {
        self.clear();
    }
}
