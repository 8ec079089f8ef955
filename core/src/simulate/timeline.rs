//! `Timeline`: what was decided when, in columns.

/// The most rows of a timeline, so that those of four policies fit into the memory of a browser; those after them are
/// not kept.
pub const MAX_ROWS: usize = 2_000_000;

/// What became of a job, at a moment. The codes never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum JobOutcome {
    /// Refused, and it does not come again.
    Refused = 0,
    /// It may go ahead.
    Granted = 1,
    /// It has a ticket and waits.
    Queued = 2,
    /// Refused, and it comes again later.
    Retries = 3,
    /// It has come too often or has waited too long.
    GaveUp = 4,
    /// Its client has died.
    Lost = 5,
    /// Granted before, and refused by upstream.
    Throttled = 6,
}

impl JobOutcome {
    /// Every outcome, in the order of the codes.
    pub const ALL: [Self; 7] =
        [Self::Refused, Self::Granted, Self::Queued, Self::Retries, Self::GaveUp, Self::Lost, Self::Throttled];

    /// The outcome in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Granted => "granted",
            Self::Queued => "queued",
            Self::Retries => "retries",
            Self::GaveUp => "gave_up",
            Self::Lost => "lost",
            Self::Throttled => "throttled",
        }
    }
}

/// One row of the timeline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) at: u64,
    pub(super) job: u32,
    pub(super) client: u16,
    pub(super) attempt: u16,
    pub(super) outcome: JobOutcome,
    pub(super) cost: u64,
    pub(super) wait: u64,
    pub(super) limit: u8,
    pub(super) retry_after: Option<u64>,
    pub(super) reset_after: Option<u64>,
    pub(super) before: Option<u64>,
    pub(super) after: Option<u64>,
    pub(super) queue: u32,
    pub(super) held: u32,
}

/// What was decided when: every column has one value for each decision, up to [`MAX_ROWS`]. Times are microseconds from the start.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// When.
    pub at: Vec<u64>,
    /// Which arrival, counted from 0.
    pub job: Vec<u32>,
    /// Which client asked.
    pub client: Vec<u16>,
    /// How often it had come before.
    pub attempt: Vec<u16>,
    /// The code of the [`JobOutcome`].
    pub outcome: Vec<u8>,
    /// The units that it asked for.
    pub cost: Vec<u64>,
    /// How long ago it had arrived.
    pub wait: Vec<u64>,
    /// Which limit refused, or is the tightest; the number of limits for a pause that was ordered, 255 where no limit
    /// decided (lost, throttled).
    pub limit: Vec<u8>,
    /// After which it would pass, or looks again; `u64::MAX` when that is not known.
    pub retry_after: Vec<u64>,
    /// After which all of that limit is there again; `u64::MAX` when that is not known.
    pub reset_after: Vec<u64>,
    /// What was left of that limit before; `u64::MAX` where no limit of the policy decided.
    pub before: Vec<u64>,
    /// And after.
    pub after: Vec<u64>,
    /// How many waited in the limiter's queue after it.
    pub queue: Vec<u32>,
    /// How many calls were under way after it.
    pub held: Vec<u32>,
    /// What was left of each limit after it.
    pub levels: Vec<Vec<u64>>,
}

impl Timeline {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    pub(super) fn push(&mut self, row: Row, levels: &[u64]) {
        self.at.push(row.at);
        self.job.push(row.job);
        self.client.push(row.client);
        self.attempt.push(row.attempt);
        self.outcome.push(row.outcome as u8);
        self.cost.push(row.cost);
        self.wait.push(row.wait);
        self.limit.push(row.limit);
        self.retry_after.push(row.retry_after.unwrap_or(u64::MAX));
        self.reset_after.push(row.reset_after.unwrap_or(u64::MAX));
        self.before.push(row.before.unwrap_or(u64::MAX));
        self.after.push(row.after.unwrap_or(u64::MAX));
        self.queue.push(row.queue);
        self.held.push(row.held);
        for (column, level) in self.levels.iter_mut().zip(levels) {
            column.push(*level);
        }
    }

    /// The names of the columns of [`write_row`](Self::write_row).
    pub const HEADER: &str =
        "at_us,job,client,attempt,outcome,cost,wait_us,limit,retry_after_us,before,after,queue,held\n";

    /// Appends a row as CSV; what is not known is empty.
    pub fn write_row(&self, row: usize, csv: &mut String) {
        use std::fmt::Write;

        let known = |value: u64| if value == u64::MAX { String::new() } else { value.to_string() };
        // Writing to a text cannot fail.
        let _ = writeln!(
            csv,
            "{},{},{},{},{},{},{},{},{},{},{},{},{}",
            self.at[row],
            self.job[row],
            self.client[row],
            self.attempt[row],
            JobOutcome::ALL[usize::from(self.outcome[row])].name(),
            self.cost[row],
            self.wait[row],
            self.limit[row],
            known(self.retry_after[row]),
            known(self.before[row]),
            known(self.after[row]),
            self.queue[row],
            self.held[row],
        );
    }
}
