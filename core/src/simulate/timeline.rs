//! `Timeline`: the decisions over time, in columns.

/// The maximum number of rows in a timeline, so that four timelines fit into a browser's memory; further rows are
/// dropped.
pub const MAX_ROWS: usize = 2_000_000;

/// The outcome of a decision for a job. The codes never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum JobOutcome {
    /// Refused without a retry.
    Refused = 0,
    /// Granted.
    Granted = 1,
    /// The job has a ticket and waits.
    Queued = 2,
    /// Refused; the job retries later.
    Retries = 3,
    /// The job has used all attempts or its maximum wait.
    GaveUp = 4,
    /// The job's client has crashed.
    Lost = 5,
    /// Granted, then refused by the upstream.
    Throttled = 6,
}

impl JobOutcome {
    /// All outcomes, in the order of the codes.
    pub const ALL: [Self; 7] =
        [Self::Refused, Self::Granted, Self::Queued, Self::Retries, Self::GaveUp, Self::Lost, Self::Throttled];

    /// Returns the name of the outcome.
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

/// The decisions over time: every column has one value per decision, up to [`MAX_ROWS`]. Times are microseconds from
/// the start.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Time of the decision.
    pub at: Vec<u64>,
    /// Index of the job, in order of arrival.
    pub job: Vec<u32>,
    /// Index of the client.
    pub client: Vec<u16>,
    /// Number of earlier attempts.
    pub attempt: Vec<u16>,
    /// The code of the [`JobOutcome`].
    pub outcome: Vec<u8>,
    /// The requested units; of a cost by label the largest number.
    pub cost: Vec<u64>,
    /// Time since the job's arrival.
    pub wait: Vec<u64>,
    /// Index of the limit that refused, or of the tightest one; the number of limits for a pause by an admin command,
    /// 255 if no limit decided (lost, throttled).
    pub limit: Vec<u8>,
    /// Time until the job could pass, or retries; `u64::MAX` if unknown.
    pub retry_after: Vec<u64>,
    /// Time until the limit is full again; `u64::MAX` if unknown.
    pub reset_after: Vec<u64>,
    /// Remaining units of the limit before the decision; `u64::MAX` if no limit of the policy decided.
    pub before: Vec<u64>,
    /// Remaining units of the limit after the decision.
    pub after: Vec<u64>,
    /// Length of the limiter's queue after the decision.
    pub queue: Vec<u32>,
    /// Number of running calls after the decision.
    pub held: Vec<u32>,
    /// Remaining units of each limit after the decision.
    pub levels: Vec<Vec<u64>>,
    /// What is left and who waits, also between decisions.
    pub over_time: LevelsOverTime,
}

/// The remaining units, the queue and the running calls over time: an entry per change, up to [`MAX_ROWS`]. Each value holds
/// until the next entry.
///
/// Between decisions a limit fills up by itself. A change of up to a hundredth of its capacity may be recorded late, at the end
/// of the change; a larger one is recorded at most a millisecond late.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelsOverTime {
    /// Time of the change, in microseconds from the start.
    pub at: Vec<u64>,
    /// Length of the limiter's queue.
    pub queue: Vec<u32>,
    /// Number of running calls.
    pub held: Vec<u32>,
    /// Remaining units of each limit.
    pub levels: Vec<Vec<u64>>,
}

impl LevelsOverTime {
    /// Adds an entry, unless it is equal to the last.
    pub(super) fn push(&mut self, at: u64, queue: u32, held: u32, levels: &[u64]) {
        let are_equal = self.levels.iter().zip(levels).all(|(column, level)| column.last() == Some(level));
        if are_equal && self.queue.last() == Some(&queue) && self.held.last() == Some(&held) {
            return;
        }
        self.at.push(at);
        self.queue.push(queue);
        self.held.push(held);
        for (column, level) in self.levels.iter_mut().zip(levels) {
            column.push(*level);
        }
    }
}

impl Timeline {
    pub(super) fn new(limits: usize) -> Self {
        let levels = vec![Vec::new(); limits];
        let over_time = LevelsOverTime { levels: levels.clone(), ..LevelsOverTime::default() };
        Self { levels, over_time, ..Self::default() }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Returns whether there are no rows.
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

    /// The column names of [`write_row`](Self::write_row).
    pub const HEADER: &str =
        "at_us,job,client,attempt,outcome,cost,wait_us,limit,retry_after_us,before,after,queue,held\n";

    /// Appends a row as CSV; unknown values are empty.
    pub fn write_row(&self, row: usize, csv: &mut String) {
        use std::fmt::Write;

        let known = |value: u64| if value == u64::MAX { String::new() } else { value.to_string() };
        // Writing to a `String` cannot fail.
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
