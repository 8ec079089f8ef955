//! `Socket`: TCP, a Unix domain socket or TLS, where every wait has an end.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{set_socket_keepalive, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl};
use rustix::net::{RecvFlags, recv};

use super::address::{Address, Location};
use crate::clock::monotonic;

/// By how much a time-out may differ from what was asked.
const SLACK: Duration = Duration::from_millis(10);

/// A connected socket.
pub struct Socket {
    stream: Stream,
    #[cfg(feature = "tls")]
    tls: Option<Box<rustls::ClientConnection>>,
    /// The time-out that the operating system knows of.
    wait: Option<Duration>,
    nonblocking: bool,
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects and, with TLS, shakes hands, all before `deadline`. The look-up of a host name has its own limits.
    pub fn connect(location: &Location, address: &Address, deadline: Instant) -> io::Result<Self> {
        let stream = match address {
            Address::Tcp(host, port) => Stream::Tcp(connect_tcp(host, *port, deadline)?),
            Address::Unix(path) => Stream::Unix(UnixStream::connect(path)?),
        };
        #[cfg(feature = "tls")]
        {
            let tls = match address {
                Address::Tcp(host, _) if location.tls => Some(Box::new(super::tls::client(host)?)),
                _ => None,
            };
            let mut socket = Self { stream, tls, wait: None, nonblocking: false };
            socket.shake_hands(deadline)?;
            Ok(socket)
        }
        #[cfg(not(feature = "tls"))]
        {
            if location.tls {
                return Err(io::Error::new(ErrorKind::Unsupported, "this build has no tls"));
            }
            Ok(Self { stream, wait: None, nonblocking: false })
        }
    }

    /// Notices within some twenty seconds that the way to the server is gone, though nothing is ever written.
    pub(crate) fn keep_alive(&self) {
        if matches!(self.stream, Stream::Tcp(_)) {
            // A system that cannot do it notices later.
            let _ = set_socket_keepalive(self, true)
                .and_then(|()| set_tcp_keepidle(self, Duration::from_secs(10)))
                .and_then(|()| set_tcp_keepintvl(self, Duration::from_secs(3)))
                .and_then(|()| set_tcp_keepcnt(self, 3));
        }
    }

    /// For event loops: reads and writes answer `WouldBlock` instead of waiting.
    pub fn set_nonblocking(&mut self) -> io::Result<()> {
        self.nonblocking = true;
        match &self.stream {
            Stream::Tcp(stream) => stream.set_nonblocking(true),
            Stream::Unix(stream) => stream.set_nonblocking(true),
        }
    }

    /// Reads what is there, waiting for at most `wait`. `Ok(0)` is the end of the connection.
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
                tls.process_new_packets().map_err(io::Error::other)?;
                while tls.wants_write() {
                    tls.write_tls(&mut self.stream)?;
                }
            }
        }
        self.stream.read(buffer)
    }

    /// Writes as much as the socket takes, waiting for at most the time-out of the last read.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &mut self.tls {
            let taken = tls.writer().write(bytes)?;
            while tls.wants_write() {
                match tls.write_tls(&mut self.stream) {
                    Ok(_) => {}
                    // rustls keeps the rest and sends it with the next bytes.
                    Err(error) if error.kind() == ErrorKind::WouldBlock && taken > 0 => break,
                    Err(error) => return Err(error),
                }
            }
            return Ok(taken);
        }
        self.stream.write(bytes)
    }

    /// Whether encrypted bytes still wait to be sent.
    pub fn wants_write(&self) -> bool {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return tls.wants_write();
        }
        false
    }

    /// Whether the peer has closed it, or has sent something unasked.
    pub(crate) fn is_stale(&self) -> bool {
        let mut byte = [0; 1];
        match recv(self.as_fd(), &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Err(error) => error != rustix::io::Errno::AGAIN,
            #[cfg(feature = "tls")]
            // A session ticket may come at any time.
            Ok((read, _)) => read == 0 || self.tls.is_none(),
            #[cfg(not(feature = "tls"))]
            Ok(_) => true,
        }
    }

    fn set_wait(&mut self, wait: Duration) -> io::Result<()> {
        // A few milliseconds more or less spare two system calls per read; the caller looks at its deadline again.
        let wait = wait.max(Duration::from_millis(1));
        if !self.nonblocking && self.wait.is_none_or(|known| known.abs_diff(wait) > SLACK) {
            match &self.stream {
                Stream::Tcp(stream) => stream.set_read_timeout(Some(wait)).and(stream.set_write_timeout(Some(wait)))?,
                Stream::Unix(stream) => {
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
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
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
