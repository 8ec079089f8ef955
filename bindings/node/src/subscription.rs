//! `Subscription`: receives the wake-ups of waiters. JavaScript owns its socket.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use paddlegate::store::redis::{Address, RedisConfig};
use paddlegate::{Error, Wakeup};

use crate::convert::{Code, thrown, to_millis};
use crate::store::Node;

/// One connection to one place, with a channel of its own.
#[napi]
pub struct Subscription {
    inner: paddlegate::store::redis::Subscription,
    channel: String,
    node: Address,
}

/// A message to a waiter.
#[napi(object, object_from_js = false)]
pub struct Message {
    pub id: String,
    /// When to look, from now.
    pub delay_ms: f64,
}

impl From<Wakeup> for Message {
    fn from(hint: Wakeup) -> Self {
        Self { id: hint.id, delay_ms: to_millis(hint.delay) }
    }
}

impl Subscription {
    pub(crate) fn new(location: &RedisConfig, place: &str) -> paddlegate::Result<Self> {
        let node = address(place).ok_or_else(|| Error::internal(format!("unknown node: node={place}")))?;
        let channel = format!("pg1:hints:{}", paddlegate::new_id()?);
        Ok(Self { inner: paddlegate::store::redis::Subscription::new(location, &channel), channel, node })
    }
}

// napi passes buffers by value.
#[allow(clippy::needless_pass_by_value)]
#[napi]
impl Subscription {
    /// What tickets name so that their messages come here.
    #[napi(catch_unwind)]
    pub fn channel(&self) -> &str {
        &self.channel
    }

    /// Where the connection leads.
    #[napi(catch_unwind)]
    pub fn node(&self) -> Node {
        Node::from(&self.node)
    }

    /// What to send first.
    #[napi(catch_unwind)]
    pub fn output(&mut self) -> Buffer {
        self.inner.output().into()
    }

    /// Whether no message is missed from now on.
    #[napi(catch_unwind)]
    pub fn is_ready(&self) -> bool {
        self.inner.is_ready()
    }

    /// The messages in what has arrived. After an error the connection must be closed.
    #[napi(catch_unwind)]
    pub fn receive(&mut self, arrived: Buffer) -> napi::Result<Vec<Message>, Code> {
        let mut hints = Vec::new();
        self.inner.receive(&arrived, &mut hints).map_err(|error| thrown(&error))?;
        Ok(hints.into_iter().map(Message::from).collect())
    }
}

/// Parses the text form of an address.
fn address(place: &str) -> Option<Address> {
    if let Some(path) = place.strip_prefix("unix:") {
        return Some(Address::Unix(path.to_owned()));
    }
    let (host, port) = place.rsplit_once(':')?;
    Some(Address::Tcp(host.trim_matches(['[', ']']).to_owned(), port.parse().ok()?))
}
