//! The JSON of requests and responses, with the words of the packages. Times are seconds.

mod calls;
mod changes;
mod cost;
mod decision;
mod history;
mod inspection;
mod listed;
mod most_refused;
mod policy;
mod report;
mod runtime_state;
mod samples;
mod span;
mod statistics;

pub(crate) use calls::{Acquire, Cancel, Correct, Debit, Job, Peek, RefundBody, Settle};
pub(crate) use changes::{ModeBody, ModeName, Override, Pause, Reset};
pub(crate) use cost::{Amounts, CostBody};
pub(crate) use decision::DecisionBody;
pub(crate) use history::HistoryBody;
pub(crate) use inspection::InspectionBody;
pub(crate) use listed::LimiterPageBody;
pub(crate) use most_refused::MostRefusedBody;
pub(crate) use policy::PolicyBody;
pub(crate) use report::{Learn, LearnedBody, ReportBudget};
pub(crate) use runtime_state::RuntimeStateBody;
pub(crate) use samples::SamplesBody;
pub(crate) use span::{Span, Time, deadline, seconds};
pub(crate) use statistics::StatisticsBody;
