//! `run`: an admin request on tokio, and `change`: one that may depend on what the caller has seen.

use paddlegate::{AdminRequest, Answer, Error, Limiter, Operation, Prepared, Result};

/// Runs an admin request on the runtime of the caller.
pub(crate) async fn run(limiter: &Limiter, request: &AdminRequest) -> Result<Answer> {
    // The operation borrows what it is built of, so it is run while that lives: here on this task.
    let mut running = None;
    request.operation(limiter, |operation| {
        running = Some(limiter.prepare(operation)?);
        Ok::<(), Error>(())
    })?;
    match running {
        Some(Prepared::Answered(answer)) => Ok(answer),
        Some(Prepared::Call(call)) => limiter.send_async(call).await,
        None => Err(Error::internal("the request has no operation")),
    }
}

/// What an operator changes.
pub(crate) enum Changing<'a> {
    Admin(&'a AdminRequest),
    Reset,
}

/// Makes a change, with `versions` only while the limiter has one of them; `None` when it has another.
pub(crate) async fn change(limiter: &Limiter, what: &Changing<'_>, versions: Option<&[u64]>) -> Result<Option<Answer>> {
    let Some(versions) = versions else {
        return match what {
            Changing::Admin(request) => run(limiter, request).await.map(Some),
            Changing::Reset => limiter.run_async(Operation::Reset).await.map(Some),
        };
    };
    let prepared = match what {
        Changing::Admin(request) => {
            request.operation(limiter, |operation| limiter.prepare_if_version(operation, versions))?
        }
        Changing::Reset => limiter.prepare_if_version(Operation::Reset, versions)?,
    };
    limiter.run_if_version(prepared).await
}
