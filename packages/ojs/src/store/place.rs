//! `Place`: where a job is found, with its order there.

use crate::job::{Job, State};

/// A set of jobs in an order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// Those of a queue that may start, by priority and number.
    Available(String),
    /// Those that become available, by time.
    Due,
    /// Those with a worker, by the time at which they are taken from it.
    Active,
    /// Those that have ended, by time.
    Ended,
    /// Those that have failed for good and are kept, by time.
    DeadLetters,
}

impl Place {
    /// Returns the place of a job and its rank there, below 2^53 because Redis has ranks as doubles.
    pub(crate) fn of(job: &Job) -> (Self, u64) {
        let end = [job.completed_at, job.cancelled_at, job.discarded_at].into_iter().flatten().max();
        match job.state {
            State::Available => {
                let behind = u64::try_from(100 - job.priority).unwrap_or_default();
                (Self::Available(job.queue.clone()), (behind << 44) | (job.number & ((1 << 44) - 1)))
            }
            State::Scheduled | State::Retryable => (Self::Due, job.scheduled_at.unwrap_or_default()),
            State::Active => {
                let ends = [job.visible_at, job.times_out_at];
                (Self::Active, ends.into_iter().flatten().min().unwrap_or_default())
            }
            State::Discarded if job.is_dead_letter => (Self::DeadLetters, end.unwrap_or_default()),
            State::Completed | State::Cancelled | State::Discarded => (Self::Ended, end.unwrap_or_default()),
        }
    }

    /// Returns the name of the place in a key.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Available(queue) => format!("available:{queue}"),
            Self::Due => "due".to_owned(),
            Self::Active => "active".to_owned(),
            Self::Ended => "ended".to_owned(),
            Self::DeadLetters => "dead".to_owned(),
        }
    }
}
