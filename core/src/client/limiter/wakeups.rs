//! Where the wake-ups of a limiter come from.

#[cfg(feature = "redis")]
use std::sync::Arc;
use std::time::Duration;

use super::{Limiter, StateLocation};
use crate::base::error::{Error, Result};
use crate::base::micros::MAX_SPAN;
#[cfg(feature = "redis")]
use crate::client::hub::Hub;
use crate::client::wakeup::WakeupListener;
use crate::model::permit;

impl Limiter {
    /// Returns the node that sends the wake-ups of this limiter. Limiters with an equal node can share a
    /// [`WakeupListener`].
    ///
    /// `None` for a limiter without a state, for which no call waits. In a cluster the node changes when a slot moves.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::Paddlegate;
    /// let pg = Paddlegate::open("redis://localhost:6379", None)?;
    /// let api = pg.window("api", 5, Duration::from_secs(60))?;
    /// assert_eq!(api.notification_node().as_deref(), Some("localhost:6379"));
    /// assert_eq!(pg.unlimited("free")?.notification_node(), None);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn notification_node(&self) -> Option<String> {
        match self.location() {
            StateLocation::Stateless => None,
            StateLocation::Memory { .. } => Some("memory".to_owned()),
            #[cfg(feature = "redis")]
            StateLocation::Redis { store, keys } => Some(store.node_of(keys.slot()).to_string()),
        }
    }

    /// Opens a listener for the wake-ups of this process at [`notification_node`](Self::notification_node). Connects
    /// within the timeout of a call.
    pub fn listen(&self) -> Result<WakeupListener> {
        self.listen_within(MAX_SPAN.duration())
    }

    /// Opens a listener as [`listen`](Self::listen) does, but fails after `limit` even if the timeout of a call is
    /// longer.
    #[cfg_attr(not(feature = "redis"), allow(unused_variables))]
    pub(crate) fn listen_within(&self, limit: Duration) -> Result<WakeupListener> {
        self.check_open()?;
        let channel = format!("pg2:hints:{}", permit::new_id()?);
        match self.location() {
            StateLocation::Stateless => Err(Error::internal("a limiter without limits has no wake-ups")),
            StateLocation::Memory { store, .. } => {
                Ok(WakeupListener::of_memory(channel.clone(), store.listen(&channel)?))
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { store, keys } => {
                let listener = store.listen(&store.node_of(keys.slot()), &channel, limit)?;
                Ok(WakeupListener::of_redis(channel, listener))
            }
        }
    }

    /// Returns the waiters of this process at [`notification_node`](Self::notification_node).
    #[cfg(feature = "redis")]
    pub(crate) fn hub(&self) -> Option<Arc<Hub>> {
        match self.location() {
            StateLocation::Stateless => None,
            StateLocation::Memory { .. } | StateLocation::Redis { .. } => {
                Some(self.inner.store.hub(self.notification_node()?))
            }
        }
    }
}
