//! `conductor`: limits as the task and workflow definitions of Conductor and Orkes write them.
//!
//! A task definition is a limiter. A workflow definition is one for each key, which its runs resolve to.

mod run;
pub(crate) mod task;
mod template;
pub(crate) mod workflow;

pub use task::{RESPONSE_TIMEOUT, TaskDefinition};
pub use template::Template;
pub use workflow::WorkflowDefinition;
