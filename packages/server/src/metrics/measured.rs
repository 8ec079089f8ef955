//! `Measured`: the numbers of one limiter, without what is not exported of it, because there may be many.

use paddlegate::{
    AdminCommand, Answer, Durations, Error, Inspection, Label, LimitSource, Limiter, LimiterInfo, Micros, Operation,
    Page, Result, Statistics,
};

use crate::app::App;

/// Among how many tickets at the head of the queue the oldest is looked for: priorities and shares may be ahead of it.
pub(crate) const OLDEST_OF: u64 = 100;

/// The numbers of one limiter.
pub(crate) struct Measured {
    pub(crate) name: Box<str>,
    pub(crate) group: Option<Box<str>>,
    pub(crate) keyed: bool,
    pub(crate) counted: Counters,
    /// `None` of a keyed limiter: the label is the limiter, never a key, so the states of keys are not looked into.
    pub(crate) state: Option<State>,
}

/// What its statistics have.
pub(crate) struct Counters {
    pub(crate) granted: u64,
    pub(crate) waited: u64,
    pub(crate) refused: u64,
    pub(crate) shadow_refused: u64,
    pub(crate) degraded: u64,
    pub(crate) errors: u64,
    pub(crate) refused_by: Box<[(Label, u64)]>,
    pub(crate) near_limit: u64,
    pub(crate) units: u64,
    pub(crate) estimated_units: u64,
    pub(crate) reclaimed: u64,
    pub(crate) lapsed: u64,
    pub(crate) overages: u64,
    pub(crate) corrections: u64,
    pub(crate) held_time: Micros,
    pub(crate) wait_time: Micros,
    /// `None` as long as no grant has waited.
    pub(crate) waits: Option<Box<[u64; Durations::BUCKETS]>>,
    /// `None` as long as no lease was released.
    pub(crate) holds: Option<Box<[u64; Durations::BUCKETS]>>,
}

/// What its state has.
pub(crate) struct State {
    /// When it was read, by the time of the limiter.
    pub(crate) at: Micros,
    /// How many microseconds that was ahead of the time of this server when the reply came.
    pub(crate) ahead: i64,
    /// The label of each limit, the amount that rules, and the units that remain.
    pub(crate) limits: Box<[(Label, u64, u64)]>,
    pub(crate) waiting: u64,
    /// The longest wait among the first [`OLDEST_OF`] tickets.
    pub(crate) oldest_wait: Micros,
    pub(crate) leases: u64,
    pub(crate) is_paused: bool,
    /// The labels with the amounts.
    pub(crate) overrides: Box<[(Label, u64)]>,
}

impl Measured {
    /// Reads a listed limiter: its counters, its state, and what overrides it has only where one rules.
    pub(crate) async fn read(app: &App, info: &LimiterInfo) -> Result<Self> {
        let limiter = app.of_info(info)?;
        let counted = Counters::of(limiter.counters_async().await?);
        let mut measured = Self {
            name: info.name.as_str().into(),
            group: info.group.as_deref().map(Into::into),
            keyed: info.keyed,
            counted,
            state: None,
        };
        if limiter.is_keyed() {
            return Ok(measured);
        }
        let inspection = inspected(&limiter).await?;
        let mut state = State::of(&inspection, app.now());
        if inspection.limits.iter().any(|limit| limit.source == LimitSource::Override) {
            let command = AdminCommand::Get;
            state.overrides = match limiter.run_async(Operation::Admin { command }).await? {
                Answer::RuntimeState(state) => {
                    state.overrides.iter().map(|limit| (limit.label().clone(), limit.amount())).collect()
                }
                other => return Err(unexpected(&other)),
            };
        }
        measured.state = Some(state);
        Ok(measured)
    }

    /// What tells it from others; a group and keys make another limiter of the same name.
    pub(super) fn identity(&self) -> (&str, Option<&str>, bool) {
        (&self.name, self.group.as_deref(), self.keyed)
    }

    /// Adds the limits of another policy of the same limiter, whose other numbers are the same.
    pub(super) fn join(&mut self, other: &mut Self) -> bool {
        if let (Some(state), Some(other)) = (&mut self.state, &other.state) {
            let mut limits = state.limits.to_vec();
            limits.extend(
                other.limits.iter().filter(|(label, ..)| state.limits.iter().all(|(own, ..)| own != label)).cloned(),
            );
            state.limits = limits.into();
        }
        true
    }
}

/// Looks into a limiter, with the head of its queue if it has one.
pub(crate) async fn inspected(limiter: &Limiter) -> Result<Inspection> {
    let look = async |count| match limiter.run_async(Operation::Inspect { page: Page { offset: 0, count } }).await? {
        Answer::Inspection(inspection) => Ok(*inspection),
        other => Err(unexpected(&other)),
    };
    let inspection = look(0).await?;
    if inspection.ticket_count == 0 { Ok(inspection) } else { look(OLDEST_OF).await }
}

/// Returns the longest wait among the tickets of an inspection.
pub(crate) fn oldest_wait(inspection: &Inspection) -> Option<Micros> {
    inspection.tickets.iter().map(|ticket| ticket.waited).max()
}

impl Counters {
    fn of(statistics: Statistics) -> Self {
        let [waits, holds] = [&statistics.waits, &statistics.holds].map(|times| {
            let counts = times.counts();
            counts.iter().any(|count| *count > 0).then(|| Box::new(counts))
        });
        Self {
            granted: statistics.granted,
            waited: statistics.waited,
            refused: statistics.refused,
            shadow_refused: statistics.shadow_refused,
            degraded: statistics.degraded,
            errors: statistics.errors,
            refused_by: statistics.refused_by.into(),
            near_limit: statistics.near_limit,
            units: statistics.units,
            estimated_units: statistics.estimated_units,
            reclaimed: statistics.reclaimed,
            lapsed: statistics.lapsed,
            overages: statistics.overages,
            corrections: statistics.corrections,
            held_time: statistics.held_time,
            wait_time: statistics.wait_time,
            waits,
            holds,
        }
    }
}

impl State {
    fn of(inspection: &Inspection, now: Micros) -> Self {
        let limits = inspection.limits.iter().map(|limit| (limit.label.clone(), limit.limit, limit.remaining));
        Self {
            at: inspection.at,
            ahead: inspection.at.0.cast_signed().saturating_sub(now.0.cast_signed()),
            limits: limits.collect(),
            waiting: inspection.ticket_count,
            oldest_wait: oldest_wait(inspection).unwrap_or_default(),
            leases: inspection.lease_count,
            is_paused: inspection.paused_for.is_some() || inspection.blocked_for.is_some(),
            overrides: Box::default(),
        }
    }
}

fn unexpected(answer: &Answer) -> Error {
    Error::internal(format!("unexpected reply type: {answer:?}"))
}
