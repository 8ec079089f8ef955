//! `ByWhom`: who makes a change and why, and the log of changes.

use std::io::{self, Write};

use clap::Args;
use paddlegate::{Limiter, Paddlegate};
use paddlegate_server::{AuditEntry, ChangeLog};

use super::store::failure;
use crate::failure::Failure;
use crate::hush::hush;

pub(crate) use paddlegate_server::{Author, Made};

/// The options of every change.
#[derive(Args, Debug)]
pub(crate) struct ByWhom {
    /// Why, for the log of changes; at most 500 bytes
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Who makes the change, for the log of changes [default: the user of the operating system]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl ByWhom {
    /// Reads the options, before anything is changed.
    pub(crate) fn author(&self) -> Result<Author, Failure> {
        let by = self.by.clone().or_else(|| whoami::username().ok()).unwrap_or_else(|| "cli".to_owned());
        Author::new(by, self.reason.clone()).map_err(|error| failure(&error))
    }
}

/// Appends changes that were made to the log. When the log does not take one this warns: the change is in force.
pub(crate) fn record(paddlegate: Paddlegate, author: &Author, limiter: &Limiter, changes: &[Made]) {
    let log = ChangeLog::new(paddlegate);
    let recorded = runtime().and_then(|runtime| {
        let append = |made| runtime.block_on(log.record(author, limiter, made));
        changes.iter().try_for_each(append).map_err(|error| error.message().to_owned())
    });
    if let Err(message) = recorded {
        let warning = format!("the change is in force, but the log of changes may not have it: {message}");
        // Standard error may be closed.
        let _ = writeln!(io::stderr(), "warning: {}", hush(&warning));
    }
}

/// Returns the log, the newest change last.
pub(crate) fn entries(paddlegate: Paddlegate) -> Result<Vec<AuditEntry>, Failure> {
    let runtime = runtime().map_err(Failure::Other)?;
    runtime.block_on(ChangeLog::new(paddlegate).entries()).map_err(|error| failure(&error))
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("cannot start a runtime: {error}"))
}
