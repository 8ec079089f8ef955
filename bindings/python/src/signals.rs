//! Signals: Python runs their handlers on its main thread alone.

use std::cell::{Cell, RefCell};
use std::process;

use paddlegate::SignalHandling;
use pyo3::prelude::*;

use crate::error::Result;

thread_local! {
    /// Of which process this thread was asked about, and whether it is the main one there: a fork may make it so.
    static MAIN: Cell<(u32, bool)> = const { Cell::new((0, false)) };
}

/// Does what may wait for a server while the interpreter is free. The exception of a signal handler ends it.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(SignalHandling<'_>) -> paddlegate::Result<T> + Send,
) -> Result<T> {
    // A daemon thread may outlive the interpreter, which it must not ask then.
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
    let pid = process::id();
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
