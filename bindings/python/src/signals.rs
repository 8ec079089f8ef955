//! Signals: Python runs their handlers on its main thread only.

use std::cell::{Cell, RefCell};

use paddlegate::{SignalHandling, process_id};
use pyo3::prelude::*;

use crate::error::Result;

thread_local! {
    /// The process id of the last check, and whether this thread was the main thread then: a fork can make it so.
    static MAIN: Cell<(u32, bool)> = const { Cell::new((0, false)) };
}

/// Runs `work`, which may wait for a server, without the interpreter lock. An exception of a signal handler ends it.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(SignalHandling<'_>) -> paddlegate::Result<T> + Send,
) -> Result<T> {
    // A daemon thread may outlive the interpreter and must not call it then.
    if !is_main(py)? {
        return Ok(py.detach(|| work(SignalHandling::Ignore))?);
    }
    let (raised, answer) = py.detach(|| {
        let raised = RefCell::new(None);
        let check = |py: Python<'_>| py.check_signals().map_err(|error| raised.replace(Some(error))).is_err();
        let stop = || Python::try_attach(check).unwrap_or(false);
        let answer = work(SignalHandling::Ask(&stop));
        (raised.into_inner(), answer)
    });
    match raised {
        Some(error) => Err(error.into()),
        None => Ok(answer?),
    }
}

fn is_main(py: Python<'_>) -> PyResult<bool> {
    let pid = process_id();
    let (known, is_main) = MAIN.get();
    if known == pid {
        return Ok(is_main);
    }
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    let is_main = threading.call_method0("get_ident")?.eq(main)?;
    MAIN.set((pid, is_main));
    Ok(is_main)
}
