//! `Node`: a connection to one server, for commands that limiters do not need.

use std::io::{self, ErrorKind, Read};
use std::time::{Duration, Instant};

use paddlegate::store::redis::{Address, ConnectionState, RedisConfig, Socket};
use redis::{Parser, ServerError, Value};

/// How often the time of a round trip is measured.
const ROUND_TRIPS: usize = 5;

/// A server, logged in.
pub(super) struct Node {
    address: Address,
    socket: Socket,
    parser: Parser,
    timeout: Duration,
}

impl Node {
    /// Connects as the core does, and logs in; for a URL of sentinels, to the master that this sentinel names.
    pub(super) fn connect(config: &RedisConfig, address: &Address, timeout: Duration) -> Result<Self, String> {
        let deadline = now() + timeout;
        let socket =
            Socket::connect(config, address, deadline).map_err(|error| format!("cannot be reached: {error}"))?;
        let mut node = Self { address: address.clone(), socket, parser: Parser::new(), timeout };
        let mut login = ConnectionState::new(config, address.clone());
        node.write(&login.output(), deadline).map_err(|error| lost(&error))?;
        let mut buffer = [0; 512];
        while !login.is_idle() {
            let size = node.read(&mut buffer, deadline).map_err(|error| lost(&error))?;
            login.receive(&buffer[..size], &mut Vec::new()).map_err(|error| error.message().to_owned())?;
        }
        Ok(node)
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Sends a command and returns its reply; an error of the server is its text.
    pub(super) fn ask(&mut self, words: &[&str]) -> Result<Value, String> {
        match self.reply(words)? {
            Value::ServerError(error) => Err(refused(words, &error)),
            value => Ok(value),
        }
    }

    /// Returns what the server says of a command that a user may send or not, without doing it; `None` if there is no such user.
    pub(super) fn dry_run(&mut self, user: &str, command: &[&str]) -> Result<Option<String>, String> {
        let words = [&["ACL", "DRYRUN", user], command].concat();
        match self.reply(&words)? {
            Value::ServerError(error) => {
                let is_no_user = error.details().is_some_and(|why| why == format!("User '{user}' not found"));
                if is_no_user { Ok(None) } else { Err(refused(&words, &error)) }
            }
            value => text(value, &words).map(Some),
        }
    }

    /// Sends a command and returns its reply, which may be an error of the server.
    fn reply(&mut self, words: &[&str]) -> Result<Value, String> {
        let deadline = now() + self.timeout;
        let mut command = redis::Cmd::new();
        command.arg(words);
        self.write(&command.get_packed_command(), deadline).map_err(|error| lost(&error))?;
        let mut parser = std::mem::take(&mut self.parser);
        let reply = parser.parse_value(Reader { node: self, deadline });
        self.parser = parser;
        reply.map_err(|error| format!("gave no reply: {error}"))
    }

    /// Returns the reply of a command as text.
    pub(super) fn text(&mut self, words: &[&str]) -> Result<String, String> {
        let reply = self.ask(words)?;
        text(reply, words)
    }

    /// Returns the shortest time of a round trip, in microseconds.
    pub(super) fn round_trip(&mut self) -> Result<u64, String> {
        let mut least = u64::MAX;
        for _ in 0..ROUND_TRIPS {
            let began = now();
            // Limiters need the right to it, unlike that to PING.
            self.ask(&["TIME"])?;
            least = least.min(u64::try_from(now().duration_since(began).as_micros()).unwrap_or(u64::MAX));
        }
        Ok(least)
    }

    fn write(&mut self, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
        while !bytes.is_empty() || self.socket.wants_write() {
            if now() >= deadline {
                return Err(ErrorKind::TimedOut.into());
            }
            match self.socket.write(bytes) {
                Ok(size) => bytes = &bytes[size..],
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn read(&mut self, buffer: &mut [u8], deadline: Instant) -> io::Result<usize> {
        loop {
            let left = deadline.saturating_duration_since(now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            match self.socket.read(buffer, left) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if is_passing(&error) => {}
                other => return other,
            }
        }
    }
}

struct Reader<'a> {
    node: &'a mut Node,
    deadline: Instant,
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.node.read(buffer, self.deadline)
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn refused(words: &[&str], error: &ServerError) -> String {
    format!("refused {}: {}", words.join(" "), error.code())
}

fn text(reply: Value, words: &[&str]) -> Result<String, String> {
    redis::from_redis_value(reply).map_err(|_| format!("replied to {} in an unknown form", words.join(" ")))
}

fn lost(error: &io::Error) -> String {
    format!("was lost: {error}")
}

/// The clock of deadlines and of measured times; no decision depends on it.
#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}
