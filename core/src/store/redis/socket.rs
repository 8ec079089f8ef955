//! `Socket`: TCP, a Unix domain socket or TLS, where every wait has a time-out.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{
    Timeout, set_socket_keepalive, set_socket_timeout, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl,
};
use rustix::net::{AddressFamily, RecvFlags, SocketAddrUnix, SocketType, recv};

use super::config::{Address, RedisConfig};
use super::sentinel::SentinelQuery;
use crate::base::clock::monotonic;
use crate::base::error::Result;

/// The accepted difference between the requested and the configured time-out.
const SLACK: Duration = Duration::from_millis(10);

/// A connected socket.
///
/// # Examples
///
/// ```no_run
/// # use std::time::Duration;
/// # use paddlegate::store::redis::{RedisConfig, Socket};
/// # use std::time::Instant;
/// let config = RedisConfig::parse("rediss://localhost:6380")?;
/// let deadline = Instant::now() + Duration::from_secs(1);
/// let mut socket = Socket::connect(&config, &config.nodes[0], deadline).expect("a server");
/// let (mut left, mut buffer) = (&b"PING\r\n"[..], [0; 64]);
/// while !left.is_empty() || socket.wants_write() {
///     left = &left[socket.write(left).expect("a connection")..];
/// }
/// assert_ne!(socket.read(&mut buffer, Duration::from_secs(1)).expect("a reply"), 0);
/// # Ok::<(), paddlegate::Error>(())
/// ```
pub struct Socket {
    stream: Stream,
    #[cfg(feature = "tls")]
    tls: Option<Box<rustls::ClientConnection>>,
    /// The time-out configured in the operating system.
    wait: Option<Duration>,
    nonblocking: bool,
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    #[cfg(all(test, feature = "tls"))]
    Interrupted(Interrupted),
}

/// One end of a pair where every other system call is interrupted by a signal, and the others move a few bytes.
#[cfg(all(test, feature = "tls"))]
pub(super) struct Interrupted {
    stream: UnixStream,
    is_next: bool,
}

#[cfg(all(test, feature = "tls"))]
impl Interrupted {
    fn turn(&mut self) -> io::Result<&mut UnixStream> {
        self.is_next = !self.is_next;
        if self.is_next { Err(ErrorKind::Interrupted.into()) } else { Ok(&mut self.stream) }
    }
}

impl Socket {
    /// Connects and performs the TLS handshake before `deadline`; for a URL of sentinels, to the master that the sentinel
    /// at this address knows. Host name resolution has its own time-outs.
    pub fn connect(location: &RedisConfig, address: &Address, deadline: Instant) -> io::Result<Self> {
        let Some(mut query) = SentinelQuery::new(location) else { return Self::dial(location, address, deadline) };
        let (output, mut master) = (query.output(), None);
        Self::dial(location, address, deadline)?
            .exchange(&output, deadline, |bytes| {
                master = query.receive(bytes)?;
                Ok(master.is_some())
            })?
            .map_err(io::Error::other)?;
        Self::dial(location, &master.unwrap_or_else(|| address.clone()), deadline)
    }

    /// Writes `output`, then passes what arrives to `receive` until that returns true or fails.
    pub(super) fn exchange(
        &mut self,
        output: &[u8],
        deadline: Instant,
        mut receive: impl FnMut(&[u8]) -> Result<bool>,
    ) -> io::Result<Result<()>> {
        let (mut sent, mut buffer) = (0, [0; 512]);
        loop {
            let left = deadline.saturating_duration_since(monotonic());
            if left.is_zero() {
                return Err(io::Error::new(ErrorKind::TimedOut, "no reply in time"));
            }
            let moved = if sent < output.len() || self.wants_write() {
                self.set_wait(left)?;
                self.write(&output[sent..]).map(|size| {
                    sent += size;
                    None
                })
            } else {
                self.read(&mut buffer, left).map(Some)
            };
            match moved {
                Ok(None) => {}
                Ok(Some(0)) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "closed")),
                Ok(Some(size)) => match receive(&buffer[..size]) {
                    Ok(false) => {}
                    Ok(true) => return Ok(Ok(())),
                    Err(error) => return Ok(Err(error)),
                },
                Err(error) if is_passing(error.kind()) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn dial(location: &RedisConfig, address: &Address, deadline: Instant) -> io::Result<Self> {
        let stream = match address {
            Address::Tcp(host, port) => Stream::Tcp(connect_tcp(host, *port, deadline)?),
            Address::Unix(path) => Stream::Unix(connect_unix(path, deadline)?),
        };
        keep_alive(&stream);
        #[cfg(feature = "tls")]
        {
            let tls = match address {
                Address::Tcp(host, _) if location.tls => {
                    Some(Box::new(super::tls::client(&location.certificates, host)?))
                }
                _ => None,
            };
            let mut socket = Self { stream, tls, wait: None, nonblocking: false };
            socket.shake_hands(deadline)?;
            socket.set_wait(deadline.saturating_duration_since(monotonic()))?;
            Ok(socket)
        }
        #[cfg(not(feature = "tls"))]
        {
            if location.tls {
                return Err(io::Error::new(ErrorKind::Unsupported, "this build has no tls; enable the feature tls"));
            }
            let mut socket = Self { stream, wait: None, nonblocking: false };
            socket.set_wait(deadline.saturating_duration_since(monotonic()))?;
            Ok(socket)
        }
    }

    /// A TLS connection over one end of a pair, where signals come all the time.
    #[cfg(all(test, feature = "tls"))]
    pub(super) fn interrupted(stream: UnixStream, tls: rustls::ClientConnection, deadline: Instant) -> Self {
        let stream = Stream::Interrupted(Interrupted { stream, is_next: false });
        let mut socket = Self { stream, tls: Some(Box::new(tls)), wait: None, nonblocking: false };
        socket.shake_hands(deadline).expect("a handshake");
        socket
    }

    /// Makes the socket non-blocking, for event loops: reads and writes return `WouldBlock` instead of waiting.
    pub fn set_nonblocking(&mut self) -> io::Result<()> {
        self.nonblocking = true;
        match &self.stream {
            Stream::Tcp(stream) => stream.set_nonblocking(true),
            Stream::Unix(stream) => stream.set_nonblocking(true),
            #[cfg(all(test, feature = "tls"))]
            Stream::Interrupted(it) => it.stream.set_nonblocking(true),
        }
    }

    /// Reads available bytes, waiting for at most `wait`. `Ok(0)` is the end of the connection.
    pub fn read(&mut self, buffer: &mut [u8], wait: Duration) -> io::Result<usize> {
        self.set_wait(wait)?;
        #[cfg(feature = "tls")]
        if let Some(tls) = &mut self.tls {
            loop {
                match tls.reader().read(buffer) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    other => return other,
                }
                if tls.read_tls(&mut self.stream)? == 0 {
                    return Ok(0);
                }
                let received = tls.process_new_packets().map_err(io::Error::other)?;
                if tls.wants_write() {
                    // Unsent bytes go out with the next write; a real failure appears in the next read.
                    let _ = tls.write_tls(&mut self.stream);
                }
                // Only part of a record arrived: the caller checks its deadline before it waits for the rest.
                if received.plaintext_bytes_to_read() == 0 && !received.peer_has_closed() && !self.nonblocking {
                    return Err(ErrorKind::WouldBlock.into());
                }
            }
        }
        self.stream.read(buffer)
    }

    /// Writes as many bytes as possible and returns their number, waiting for at most the last time-out that was set.
    ///
    /// With TLS, accepted bytes may still have to be sent: call it again, with the remaining bytes or with none, while
    /// [`wants_write`](Self::wants_write). An error means that none of `bytes` were accepted.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &mut self.tls {
            // Accepting and sending are two steps: an error of the second must not hide the success of the first.
            let taken = tls.writer().write(bytes)?;
            if taken == 0 && tls.wants_write() && tls.write_tls(&mut self.stream)? == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
            return Ok(taken);
        }
        self.stream.write(bytes)
    }

    /// Returns whether encrypted bytes still have to be sent.
    pub fn wants_write(&self) -> bool {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return tls.wants_write();
        }
        false
    }

    /// Returns whether the peer has closed the connection or has sent unrequested data. Never waits.
    pub(crate) fn is_stale(&mut self) -> bool {
        loop {
            match recv(self.as_fd(), &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
                Err(error) => return error != Errno::AGAIN || self.has_unread(),
                Ok((0, _)) => return true,
                #[cfg(feature = "tls")]
                Ok(_) => {
                    // A session ticket may arrive at any time; anything else is unrequested.
                    let Some(tls) = &mut self.tls else { return true };
                    match tls.read_tls(&mut self.stream) {
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        Ok(1..) if tls.process_new_packets().is_ok() => {}
                        _ => return true,
                    }
                }
                #[cfg(not(feature = "tls"))]
                Ok(_) => return true,
            }
        }
    }

    /// Returns whether unread data from the peer is already buffered. Makes no system call.
    pub(crate) fn has_unread(&mut self) -> bool {
        #[cfg(feature = "tls")]
        if let Some(tls) = &mut self.tls {
            return tls
                .process_new_packets()
                .map_or(true, |state| state.plaintext_bytes_to_read() > 0 || state.peer_has_closed());
        }
        false
    }

    /// Sets the time-out of reads and writes.
    pub(crate) fn set_wait(&mut self, wait: Duration) -> io::Result<()> {
        // A tolerance of some milliseconds saves two system calls per read; the caller checks its deadline again.
        let wait = wait.max(Duration::from_millis(1));
        if !self.nonblocking && self.wait.is_none_or(|known| known.abs_diff(wait) > SLACK) {
            match &self.stream {
                Stream::Tcp(stream) => stream.set_read_timeout(Some(wait)).and(stream.set_write_timeout(Some(wait)))?,
                Stream::Unix(stream) => {
                    stream.set_read_timeout(Some(wait)).and(stream.set_write_timeout(Some(wait)))?;
                }
                #[cfg(all(test, feature = "tls"))]
                Stream::Interrupted(Interrupted { stream, .. }) => {
                    stream.set_read_timeout(Some(wait)).and(stream.set_write_timeout(Some(wait)))?;
                }
            }
            self.wait = Some(wait);
        }
        Ok(())
    }

    #[cfg(feature = "tls")]
    fn shake_hands(&mut self, deadline: Instant) -> io::Result<()> {
        loop {
            let left = deadline.saturating_duration_since(monotonic());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.set_wait(left)?;
            let Some(tls) = self.tls.as_mut().filter(|tls| tls.is_handshaking()) else {
                return Ok(());
            };
            let moved =
                if tls.wants_write() { tls.write_tls(&mut self.stream) } else { tls.read_tls(&mut self.stream) };
            match moved {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => {
                    tls.process_new_packets().map_err(io::Error::other)?;
                }
                // The deadline is checked before the next attempt.
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
            #[cfg(all(test, feature = "tls"))]
            Self::Interrupted(it) => it.stream.as_fd(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
            #[cfg(all(test, feature = "tls"))]
            Self::Interrupted(it) => it.turn()?.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
            #[cfg(all(test, feature = "tls"))]
            Self::Interrupted(it) => it.turn()?.write(&bytes[..bytes.len().min(100)]),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn connect_tcp(host: &str, port: u16, deadline: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    for address in (host, port).to_socket_addrs()? {
        let left = deadline.saturating_duration_since(monotonic());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => return stream.set_nodelay(true).map(|()| stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Connects to a Unix socket. Unlike TCP, `connect` itself waits until the listener's backlog has room. A non-blocking
/// `connect` would fail at once, and `poll` does not report room in the backlog, but the send time-out also bounds
/// `connect`.
fn connect_unix(path: &str, deadline: Instant) -> io::Result<UnixStream> {
    let (socket, address) = (unix_socket()?, SocketAddrUnix::new(path)?);
    loop {
        let left = deadline.saturating_duration_since(monotonic());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        set_socket_timeout(&socket, Timeout::Send, Some(left.max(Duration::from_millis(1))))?;
        match rustix::net::connect(&socket, &address) {
            Ok(()) => return Ok(socket.into()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(target_vendor = "apple")]
fn unix_socket() -> io::Result<OwnedFd> {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    Ok(socket)
}

#[cfg(not(target_vendor = "apple"))]
fn unix_socket() -> io::Result<OwnedFd> {
    use rustix::net::{SocketFlags, socket_with};
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Enables keep-alive probes, which detect a lost connection within some twenty seconds even if nothing is written.
pub(crate) fn keep_alive(socket: &impl AsFd) {
    // Systems and sockets without these options detect a lost connection later.
    let _ = set_socket_keepalive(socket, true)
        .and_then(|()| set_tcp_keepidle(socket, Duration::from_secs(10)))
        .and_then(|()| set_tcp_keepintvl(socket, Duration::from_secs(3)))
        .and_then(|()| set_tcp_keepcnt(socket, 3));
}
