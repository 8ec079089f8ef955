//! `Operation`: a request to a limiter; `Answer`: its result.

use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::model::budget::UpstreamReport;
use crate::model::cost::Cost;
use crate::model::decision::Decision;
use crate::model::extension::Extension;
use crate::model::history::History;
use crate::model::inspection::{Inspection, Page};
#[cfg(feature = "redis")]
use crate::model::key_page::KeyPage;
use crate::model::learned::Learned;
use crate::model::limiter_info::{LimiterPage, ListPage};
use crate::model::overrides::{AdminCommand, RuntimeState};
use crate::model::permit::Settlement;
#[cfg(feature = "redis")]
use crate::model::refused_key::RefusedKey;
use crate::model::request::{Request, Wait};
use crate::model::statistics::Statistics;
use crate::model::turns::{ReadyCalls, TurnsHost};

/// One operation for [`Limiter::prepare`](crate::Limiter::prepare).
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// [`Limiter::try_acquire`](crate::Limiter::try_acquire).
    Acquire(Request<'a>),
    /// [`Limiter::peek`](crate::Limiter::peek).
    Peek(Request<'a>),
    /// [`Limiter::debit`](crate::Limiter::debit).
    Debit(Cost<'a>),
    /// [`Limiter::refund`](crate::Limiter::refund).
    Refund(Cost<'a>),
    /// [`Limiter::correct`](crate::Limiter::correct).
    Correct {
        /// The id of the permit.
        permit: &'a str,
        /// The actual cost of the call.
        actual: Cost<'a>,
    },
    /// [`Limiter::extend`](crate::Limiter::extend).
    Extend {
        /// The id of the permit.
        permit: &'a str,
        /// The units to reserve in addition.
        units: Cost<'a>,
    },
    /// [`Limiter::acquire_with_id`](crate::Limiter::acquire_with_id).
    AcquireWithId {
        /// The cost or the estimate.
        request: Request<'a>,
        /// The id of the call.
        id: &'a str,
        /// How the call waits; `None` refuses instead of queueing.
        wait: Option<Wait<'a>>,
    },
    /// [`Limiter::release`](crate::Limiter::release).
    Release {
        /// The id of the permit.
        permit: &'a str,
    },
    /// [`Limiter::renew`](crate::Limiter::renew).
    Renew {
        /// The id of the permit.
        permit: &'a str,
    },
    /// [`Limiter::cancel`](crate::Limiter::cancel).
    Cancel {
        /// The id of the call.
        id: &'a str,
        /// Whether the wait timed out, which counts as a refusal.
        gave_up: bool,
    },
    /// [`Limiter::ready`](crate::Limiter::ready) and [`Limiter::ready_for`](crate::Limiter::ready_for).
    Ready {
        /// The most ids to return.
        count: u64,
        /// Who gets a wake-up when the next turn comes; `None` gives none.
        host: Option<TurnsHost<'a>>,
    },
    /// [`Limiter::statistics`](crate::Limiter::statistics).
    Statistics,
    /// [`Limiter::history`](crate::Limiter::history).
    History,
    /// [`Limiter::most_refused`](crate::Limiter::most_refused).
    #[cfg(feature = "redis")]
    MostRefused {
        /// The most keys to return.
        count: u64,
    },
    /// [`Limiter::apply_report`](crate::Limiter::apply_report).
    ApplyReport {
        /// The report of the upstream.
        report: UpstreamReport<'a>,
    },
    /// [`Limiter::admin`](crate::Limiter::admin).
    Admin {
        /// The command to run.
        command: AdminCommand<'a>,
    },
    /// [`Limiter::inspect`](crate::Limiter::inspect).
    Inspect {
        /// The page of the leases and of the tickets.
        page: Page,
    },
    /// [`Limiter::reset`](crate::Limiter::reset).
    Reset,
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The result of `Acquire`, `AcquireWithId`, `Peek` and `Debit`.
    Decision(Decision),
    /// The result of `Correct`, `Release` and `Cancel`.
    Settlement(Settlement),
    /// The result of `Extend`.
    Extension(Box<Extension>),
    /// The result of `ApplyReport`.
    Report(Box<Learned>),
    /// The result of `Renew`: how long the lease lasts from now, or `None` when it has ended.
    Renewal(Option<Micros>),
    /// The result of `Ready`.
    Ready(ReadyCalls),
    /// The result of `Statistics`.
    Statistics(Box<Statistics>),
    /// The result of `History`.
    History(Box<History>),
    /// The result of `MostRefused`.
    #[cfg(feature = "redis")]
    MostRefused(Vec<RefusedKey>),
    /// A page of the keys of a keyed limiter.
    #[cfg(feature = "redis")]
    Keys(KeyPage),
    /// The result of `Admin`.
    RuntimeState(Box<RuntimeState>),
    /// The result of `Inspect`.
    Inspection(Box<Inspection>),
    /// A page of a part of the list of limiters.
    List(ListPage),
    /// A page of the whole list of limiters.
    Page(LimiterPage),
    /// The result of `Reset`.
    Reset,
}

/// What one kind of answers has.
pub(crate) trait Content: Sized {
    /// Returns the content; an internal error for an answer of another kind.
    fn of(answer: Answer) -> Result<Self>;
}

macro_rules! contents {
    ($($type:ty: $answer:pat => $content:expr;)*) => {$(
        impl Content for $type {
            fn of(answer: Answer) -> Result<Self> {
                match answer {
                    $answer => Ok($content),
                    other => Err(Error::internal(format!("unexpected reply type: {other:?}"))),
                }
            }
        }
    )*};
}

contents! {
    Decision: Answer::Decision(decision) => decision;
    Settlement: Answer::Settlement(settlement) => settlement;
    Extension: Answer::Extension(extension) => *extension;
    Learned: Answer::Report(learned) => *learned;
    Option<Micros>: Answer::Renewal(renewal) => renewal;
    ReadyCalls: Answer::Ready(ready) => ready;
    Statistics: Answer::Statistics(statistics) => *statistics;
    History: Answer::History(history) => *history;
    RuntimeState: Answer::RuntimeState(runtime_state) => *runtime_state;
    Inspection: Answer::Inspection(inspection) => *inspection;
}

#[cfg(feature = "redis")]
contents! {
    Vec<RefusedKey>: Answer::MostRefused(keys) => keys;
    KeyPage: Answer::Keys(page) => page;
}
