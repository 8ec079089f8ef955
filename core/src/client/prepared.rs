//! `Prepared`: an operation that has its answer, or the call that asks the server for it.

use crate::model::operation::Answer;
#[cfg(feature = "redis")]
use crate::store::redis::Call;

/// An operation that is answered already, or one that the host must carry to Redis.
#[derive(Debug)]
pub enum Prepared {
    /// No server had to be asked.
    Answered(Answer),
    /// Send this with a [`ConnectionState`](crate::store::redis::ConnectionState).
    #[cfg(feature = "redis")]
    Call(Call),
}
