//! `Prepared`: an operation with its answer, or the call that gets the answer from the server.

use crate::model::operation::Answer;
#[cfg(feature = "redis")]
use crate::store::redis::Call;

/// An operation with its answer, or a call that the host must send to Redis.
#[derive(Debug)]
pub enum Prepared {
    /// The answer; no server was needed.
    Answered(Answer),
    /// The call to send with a [`ConnectionState`](crate::store::redis::ConnectionState).
    #[cfg(feature = "redis")]
    Call(Call),
}
