//! `Subscription`: a connection subscribed to one channel, without its socket; and `Listener`, with a socket.

use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use super::config::{Address, RedisConfig};
use super::socket::Socket;
use super::wire::{Decoder, Value, command};
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::model::wakeup::Wakeup;

/// Logs in, subscribes and decodes messages. No I/O.
///
/// # Examples
///
/// ```
/// # use paddlegate::Micros;
/// # use paddlegate::store::redis::{RedisConfig, Subscription};
/// let mut subscription = Subscription::new(&RedisConfig::parse("redis://localhost")?, "mine");
/// assert_eq!(subscription.output(), b"*2\r\n$9\r\nSUBSCRIBE\r\n$4\r\nmine\r\n");
/// let mut wakeups = Vec::new();
/// subscription.receive(b"*3\r\n$9\r\nsubscribe\r\n$4\r\nmine\r\n:1\r\n", &mut wakeups)?;
/// assert!(subscription.is_ready());
/// subscription.receive(b"*3\r\n$7\r\nmessage\r\n$4\r\nmine\r\n$8\r\n2000 job\r\n", &mut wakeups)?;
/// assert_eq!((wakeups[0].id.as_str(), wakeups[0].delay), ("job", Micros(2_000)));
/// # Ok::<(), paddlegate::Error>(())
/// ```
pub struct Subscription {
    decoder: Decoder,
    output: Vec<u8>,
    ready: bool,
}

impl Subscription {
    /// Creates a subscription to `channel`. The host must send its first [`output`](Self::output).
    pub fn new(location: &RedisConfig, channel: &str) -> Self {
        let mut output = Vec::new();
        if let Some(password) = &location.password {
            let mut words: Vec<&[u8]> = vec![b"AUTH"];
            words.extend(location.user.as_ref().map(String::as_bytes));
            words.push(password.as_bytes());
            command(&mut output, &words);
        }
        command(&mut output, &[b"SUBSCRIBE", channel.as_bytes()]);
        Self { decoder: Decoder::default(), output, ready: false }
    }

    /// Takes the bytes to write to the socket.
    pub fn output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Returns whether the server has confirmed the subscription. No message is missed from then on.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// Decodes received bytes. After an error the connection must be closed.
    pub fn receive(&mut self, bytes: &[u8], hints: &mut Vec<Wakeup>) -> Result<()> {
        self.decoder.feed(bytes);
        while let Some(reply) = self.decoder.next()? {
            match reply {
                Value::Error(error) => {
                    let code = error.split(' ').next().unwrap_or_default().to_owned();
                    return Err(Error::unavailable(format!("redis refused the subscription: code={code}")));
                }
                Value::Array(items) => match &items[..] {
                    [Value::Text(kind), _, Value::Text(message)] if kind == b"message" => hints.extend(hint(message)),
                    [Value::Text(kind), ..] if kind == b"subscribe" => self.ready = true,
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(())
    }
}

/// Parses `<delay_us> <id>`. Other messages come from other programs and are ignored.
fn hint(message: &[u8]) -> Option<Wakeup> {
    let (delay, id) = std::str::from_utf8(message).ok()?.split_once(' ')?;
    Some(Wakeup { id: id.to_owned(), delay: Micros(delay.parse().ok()?) })
}

/// A subscription and its socket, which is non-blocking once connected.
pub(crate) struct Listener {
    subscription: Subscription,
    socket: Socket,
}

impl Listener {
    /// Connects and subscribes before the deadline.
    pub(crate) fn open(location: &RedisConfig, node: &Address, channel: &str, deadline: Instant) -> Result<Self> {
        let lost = |error: &dyn std::fmt::Display| {
            Error::unavailable(format!("cannot listen to redis: node={node} error={error}"))
        };
        let socket = Socket::connect(location, node, deadline).map_err(|error| lost(&error))?;
        let mut listener = Self { subscription: Subscription::new(location, channel), socket };
        let output = listener.subscription.output();
        let Self { socket, subscription } = &mut listener;
        let mut early = Vec::new();
        socket
            .exchange(&output, deadline, |bytes| {
                subscription.receive(bytes, &mut early)?;
                Ok(subscription.is_ready())
            })
            .map_err(|error| lost(&error))??;
        listener.socket.set_nonblocking().map_err(|error| lost(&error))?;
        Ok(listener)
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(crate) fn receive(&mut self) -> Result<Vec<Wakeup>> {
        let (mut buffer, mut hints) = ([0; 4096], Vec::new());
        loop {
            match self.socket.read(&mut buffer, Duration::ZERO) {
                Ok(0) => return Err(Error::unavailable("redis closed the connection for wake-ups")),
                Ok(size) => self.subscription.receive(&buffer[..size], &mut hints)?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(hints),
                Err(error) => {
                    return Err(Error::unavailable(format!("redis broke the connection for wake-ups: error={error}")));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_in_any_pieces_and_strangers_are_ignored() {
        let location = RedisConfig::parse("redis://:secret@localhost:1").unwrap();
        let stream = b"+OK\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$6\r\n25 a b\r\n*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$3\r\nx y\r\n";
        for size in 1..=stream.len() {
            let mut subscription = Subscription::new(&location, "c");
            assert!(subscription.output().starts_with(b"*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n"));
            let mut hints = Vec::new();
            for piece in stream.chunks(size) {
                subscription.receive(piece, &mut hints).unwrap();
            }
            assert!(subscription.is_ready());
            assert_eq!(hints, [Wakeup { id: "a b".into(), delay: Micros(25) }], "pieces of {size}");
        }
    }

    #[test]
    fn a_refusal_ends_it_without_the_password() {
        let location = RedisConfig::parse("redis://:secret@localhost:1").unwrap();
        let mut subscription = Subscription::new(&location, "c");
        let error = subscription.receive(b"-WRONGPASS invalid: secret\r\n", &mut Vec::new()).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
