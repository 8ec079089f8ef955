//! Operations on a connection of the `redis` crate that the caller brings.

use super::Limiter;
use super::run::settled;
use crate::base::error::Result;
use crate::client::prepared::Prepared;
use crate::model::operation::{Answer, Operation};
use crate::store::redis::connection_like;

impl Limiter {
    /// Runs an operation on a connection of the `redis` crate: a [`Connection`](redis::Connection), one of a pool, or
    /// a `redis::cluster::ClusterConnection`.
    ///
    /// The limiter comes from [`Paddlegate::open`](crate::Paddlegate::open) with the URL of the same server and
    /// database, which opens no connection of its own. The time-outs of the connection apply. Only calls that the
    /// server has certainly not executed are sent again, but a cluster connection has its own rule: with
    /// `ClusterClientBuilder::retries(0)` it repeats no call that may have been charged.
    ///
    /// `Unavailable` when the connection gives no reply, or leads to a node that does not own the limiter's slot.
    ///
    /// ```no_run
    /// use paddlegate::{Answer, Operation, Paddlegate, Request};
    ///
    /// let url = "redis://localhost:6379/0";
    /// let limiter = Paddlegate::open(url, None)?.window("api", 100, std::time::Duration::from_secs(60))?;
    /// let mut connection = redis::Client::open(url)?.get_connection()?;
    /// if let Answer::Decision(decision) = limiter.run_on(&mut connection, Operation::Acquire(Request::cost(1)))? {
    ///     println!("{}", decision.allowed());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run_on<C: redis::ConnectionLike>(&self, connection: &mut C, operation: Operation<'_>) -> Result<Answer> {
        match self.prepare(operation)? {
            Prepared::Answered(answer) => Ok(answer),
            Prepared::Call(call) => {
                let (fallback, node) = (self.fallback(&operation), self.server()?.node_of(call.slot()));
                settled(fallback, connection_like::run(connection, call, &node))
            }
        }
    }

    /// Runs an operation as [`run_on`](Self::run_on) does, on an asynchronous connection: a
    /// [`MultiplexedConnection`](redis::aio::MultiplexedConnection), a `ConnectionManager` or an asynchronous cluster
    /// connection, on their runtime.
    ///
    /// Dropping the future does not undo a call that was sent.
    pub async fn run_on_async<C: redis::aio::ConnectionLike>(
        &self,
        connection: &mut C,
        operation: Operation<'_>,
    ) -> Result<Answer> {
        match self.prepare(operation)? {
            Prepared::Answered(answer) => Ok(answer),
            Prepared::Call(call) => {
                let (fallback, node) = (self.fallback(&operation), self.server()?.node_of(call.slot()));
                settled(fallback, connection_like::run_async(connection, call, &node).await)
            }
        }
    }
}
