//! `Sentinel`: asks a Redis Sentinel which server is the master. JavaScript owns its socket.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use paddlegate::store::redis::SentinelQuery;

use crate::convert::{Code, thrown};
use crate::store::Node;

/// One question.
#[napi]
pub struct Sentinel {
    inner: SentinelQuery,
}

impl From<SentinelQuery> for Sentinel {
    fn from(inner: SentinelQuery) -> Self {
        Self { inner }
    }
}

// napi passes buffers by value.
#[allow(clippy::needless_pass_by_value)]
#[napi]
impl Sentinel {
    /// Returns the bytes to send first.
    #[napi(catch_unwind)]
    pub fn output(&mut self) -> Buffer {
        self.inner.output().into()
    }

    /// Returns the address of the master once it has arrived.
    #[napi(catch_unwind)]
    pub fn receive(&mut self, arrived: Buffer) -> napi::Result<Option<Node>, Code> {
        let master = self.inner.receive(&arrived).map_err(|error| thrown(&error))?;
        Ok(master.as_ref().map(Node::from))
    }
}
