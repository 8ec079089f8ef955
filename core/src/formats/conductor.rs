//! `conductor`: limits in task and workflow definitions of Conductor and Orkes.
//!
//! A task definition defines one limiter. A workflow definition defines one limiter per key; each run resolves to a
//! key.

mod run;
pub(crate) mod task;
mod template;
pub(crate) mod workflow;

pub use task::{RESPONSE_TIMEOUT, TaskDefinition};
pub use template::Template;
pub use workflow::WorkflowDefinition;
