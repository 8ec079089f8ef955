//! `Subscription`: receives the wake-ups of waiters. JavaScript owns its socket.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use paddlegate::store::redis::{Address, RedisConfig};
use paddlegate::{Error, Wakeup};

use crate::convert::{Code, thrown, to_millis};
use crate::store::Node;

/// A connection to one notification node, with its own channel.
#[napi]
pub struct Subscription {
    inner: paddlegate::store::redis::Subscription,
    channel: String,
    node: Address,
}

/// A wake-up for a waiter.
#[napi(object, object_from_js = false)]
pub struct Message {
    pub id: String,
    /// The delay from now until the waiter's next attempt.
    pub delay_ms: f64,
}

impl From<Wakeup> for Message {
    fn from(wakeup: Wakeup) -> Self {
        Self { id: wakeup.id, delay_ms: to_millis(wakeup.delay) }
    }
}

impl Subscription {
    pub(crate) fn new(config: &RedisConfig, name: &str) -> paddlegate::Result<Self> {
        let node = address(name).ok_or_else(|| Error::internal(format!("unknown node: node={name}")))?;
        let channel = format!("pg2:hints:{}", paddlegate::new_id()?);
        Ok(Self { inner: paddlegate::store::redis::Subscription::new(config, &channel), channel, node })
    }
}

// napi passes buffers by value.
#[allow(clippy::needless_pass_by_value)]
#[napi]
impl Subscription {
    /// Returns the channel that tickets must name to get their wake-ups here.
    #[napi(catch_unwind)]
    pub fn channel(&self) -> &str {
        &self.channel
    }

    /// Returns the address of the connection.
    #[napi(catch_unwind)]
    pub fn node(&self) -> Node {
        Node::from(&self.node)
    }

    /// Returns the bytes to send first.
    #[napi(catch_unwind)]
    pub fn output(&mut self) -> Buffer {
        self.inner.output().into()
    }

    /// Returns whether the subscription is confirmed, so that no wake-up is missed from now on.
    #[napi(catch_unwind)]
    pub fn is_ready(&self) -> bool {
        self.inner.is_ready()
    }

    /// Returns the wake-ups in received bytes. After an error the connection must be closed.
    #[napi(catch_unwind)]
    pub fn receive(&mut self, arrived: Buffer) -> napi::Result<Vec<Message>, Code> {
        let mut wakeups = Vec::new();
        self.inner.receive(&arrived, &mut wakeups).map_err(|error| thrown(&error))?;
        Ok(wakeups.into_iter().map(Message::from).collect())
    }
}

/// Parses the text form of an address.
fn address(name: &str) -> Option<Address> {
    if let Some(path) = name.strip_prefix("unix:") {
        return Some(Address::Unix(path.to_owned()));
    }
    let (host, port) = name.rsplit_once(':')?;
    Some(Address::Tcp(host.trim_matches(['[', ']']).to_owned(), port.parse().ok()?))
}
