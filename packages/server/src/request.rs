//! `run`: an admin request on tokio.

use paddlegate::{AdminRequest, Answer, Error, Limiter, Prepared, Result};

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
