//! Tests that a call ends within its time-out in every state of the server, on threads and on tokio.
//!
//! By default a call with a time-out of 0.1 s must end within 5 s. With `PADDLEGATE_SOAK=1`, 49 of 50 calls must end
//! within 50 ms after their time-out.
#![allow(clippy::disallowed_methods)] // What is measured is real time.

use crate::server;
use std::any::Any;
use std::io::{ErrorKind as Io, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::proxy::Proxy;
use crate::server::Server;
use paddlegate::{Decision, Error, ErrorKind, Limiter, Paddlegate, Request};
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::runtime::Builder;

const TIMEOUT: Duration = Duration::from_millis(100);
const MAX_DURATION: Duration = Duration::from_secs(5);
const ALLOWED_DELAY: Duration = Duration::from_millis(50);
const HOUR: Duration = Duration::from_secs(3_600);

/// Makes one call and returns its result.
type Call<'a> = &'a dyn Fn() -> Result<Decision, Error>;

/// Runs the calls of a limiter on threads or on tokio.
type With = fn(&Limiter, &mut dyn FnMut(Call<'_>));

/// Starts a server and brings it into a state.
type Start = fn() -> State;

/// A server in one of the states.
struct State {
    url: String,
    /// Brings the server into this state before a call.
    before: Box<dyn Fn(Call<'_>)>,
    /// Resources that must stay open.
    _kept: Box<dyn Any>,
}

impl State {
    fn new(url: String, kept: impl Any) -> Self {
        Self { url, before: Box::new(|_| ()), _kept: Box::new(kept) }
    }
}

const STATES: [(&str, Start); 12] = [
    ("a server that is silent", || silent("redis")),
    ("a TLS handshake that is silent", || silent("rediss")),
    ("a server that dribbles", || served("redis", |client, _| send_single_bytes(client, b"$1000000\r\n"))),
    ("a TLS handshake that dribbles", || {
        served("rediss", |client, _| send_single_bytes(client, b"\x16\x03\x03\x40\x00"))
    }),
    ("a port that does not accept", full_port),
    ("a path that does not accept", full_path),
    ("a path that is silent", silent_path),
    ("a server that does not read", unread),
    ("a pooled connection that is dead", dead_connection),
    ("a server that is stopped", stopped_server),
    ("a slot on the move", || served("redis", |client, _| client.write_all(b"-TRYAGAIN a slot on the move\r\n"))),
    ("a slot that moves in circles", || {
        served("redis", |client, port| client.write_all(format!("-MOVED 1 127.0.0.1:{port}\r\n").as_bytes()))
    }),
];

#[test]
fn every_call_ends_in_every_state_of_the_server() {
    let soak = crate::support::is_soak();
    let rows = STATES.map(|(name, start)| {
        [("threads", with_threads as With), ("tokio", with_tokio)].map(|(way, with)| {
            thread::spawn(move || {
                let state = start();
                let store = Paddlegate::open(&state.url, Some(TIMEOUT)).expect("a store");
                let limiter = store.leaky("ends", 1_000_000, HOUR).expect("a limiter");
                let mut durations = Vec::new();
                with(&limiter, &mut |call| {
                    for _ in 0..if soak { 50 } else { 2 } {
                        (state.before)(call);
                        let started = Instant::now();
                        let answer = call();
                        durations.push(started.elapsed());
                        let error = answer.expect_err("a server that does not decide");
                        assert_eq!(error.kind(), ErrorKind::Unavailable, "{name}, {way}: {error}");
                    }
                });
                durations.sort();
                println!("{name}, {way}: {:?} to {:?}", durations[0], durations[durations.len() - 1]);
                assert!(durations[durations.len() - 1] < MAX_DURATION, "{name}, {way}: {durations:?}");
                let late_calls = durations.iter().filter(|duration| **duration > TIMEOUT + ALLOWED_DELAY).count();
                assert!(!soak || late_calls <= 1, "{name}, {way}: {late_calls} of 50 calls are late: {durations:?}");
            })
        })
    });
    for row in rows.into_iter().flatten() {
        row.join().expect("a call that ends in time");
    }
}

/// Signals interrupt every blocking system call. SIGSTOP and SIGCONT do so in a process without signal handlers.
#[test]
fn every_call_ends_while_signals_come_every_five_milliseconds() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "timeouts::every_call_ends_in_every_state_of_the_server", "--nocapture"])
        .spawn()
        .expect("this program");
    let script = "while kill -STOP $0 && kill -CONT $0; do sleep 0.005; done";
    let mut signals = Command::new("sh")
        .args(["-c", script, &child.id().to_string()])
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("a shell");
    let ended = child.wait().expect("an end");
    // The shell ends when the child process no longer exists.
    signals.wait().expect("an end");
    assert!(ended.success());
}

fn with_threads(limiter: &Limiter, calls: &mut dyn FnMut(Call<'_>)) {
    calls(&|| limiter.try_acquire(Request::cost(1)));
}

fn with_tokio(limiter: &Limiter, calls: &mut dyn FnMut(Call<'_>)) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    calls(&|| runtime.block_on(limiter.try_acquire_async(Request::cost(1))));
}

/// Returns a server whose kernel accepts connections and bytes that nothing reads.
fn silent(scheme: &str) -> State {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    State::new(format!("{scheme}://{}", listener.local_addr().unwrap()), listener)
}

/// Returns a server that runs `answer` for everything it receives.
fn served(scheme: &str, answer: fn(&mut TcpStream, u16) -> std::io::Result<()>) -> State {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            thread::spawn(move || {
                while matches!(client.read(&mut [0; 16_384]), Ok(1..)) && answer(&mut client, address.port()).is_ok() {}
            });
        }
    });
    State::new(format!("{scheme}://{address}"), ())
}

fn send_single_bytes(client: &mut TcpStream, start: &[u8]) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    client.write_all(start)?;
    loop {
        client.write_all(b"1")?;
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns a port whose backlog of connections is full.
fn full_port() -> State {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener.bind(&"127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap().into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(300));
    let waiting: Vec<_> = std::iter::from_fn(|| connect().ok()).collect();
    State::new(format!("redis://{address}"), (listener, waiting))
}

/// Creates a new directory and returns its path.
fn directory() -> std::path::PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("paddlegate-ends-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let dir = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

struct Removed(std::path::PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn listen_at(path: &std::path::Path, backlog: i32) -> Socket {
    let listener = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    listener.bind(&SockAddr::unix(path).unwrap()).unwrap();
    listener.listen(backlog).unwrap();
    listener
}

fn full_path() -> State {
    let dir = directory();
    let path = dir.join("socket");
    let listener = listen_at(&path, 0);
    let mut waiting = Vec::new();
    loop {
        let client = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        client.set_nonblocking(true).unwrap();
        match client.connect(&SockAddr::unix(&path).unwrap()) {
            Ok(()) => waiting.push(client),
            Err(error) if error.kind() == Io::Interrupted => {}
            Err(error) => {
                assert_eq!(error.kind(), Io::WouldBlock);
                break;
            }
        }
    }
    State::new(format!("unix://{}", path.display()), (listener, waiting, Removed(dir)))
}

fn silent_path() -> State {
    let dir = directory();
    let path = dir.join("socket");
    let listener = listen_at(&path, 128);
    State::new(format!("unix://{}", path.display()), (listener, Removed(dir)))
}

/// Returns a server that requests the whole script and reads none of it. Small segments and a small buffer block the
/// sender.
fn unread() -> State {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener.set_recv_buffer_size(2_048).unwrap();
    listener.set_tcp_mss(88).unwrap();
    listener.bind(&"127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap().into()).unwrap();
    listener.listen(128).unwrap();
    let listener = TcpListener::from(listener);
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut clients = Vec::new();
        for mut client in listener.incoming().flatten() {
            let _ = client.set_read_timeout(Some(MAX_DURATION));
            if matches!(client.read(&mut [0; 16_384]), Ok(1..)) {
                let _ = client.write_all(b"-NOSCRIPT no script\r\n");
                clients.push(client);
            }
        }
    });
    State::new(format!("redis://{address}"), ())
}

/// Repeats the call until it succeeds.
fn repeat_until_answered(call: Call<'_>) {
    server::wait_until("the server answers", || call().is_ok());
}

fn dead_connection() -> State {
    let server = Server::start();
    let proxy = Proxy::before(server.port);
    let (url, dead_connections) = (proxy.url(), proxy.dead_connections());
    let before = move |call: Call<'_>| {
        repeat_until_answered(call);
        dead_connections.mark_open_as_dead();
    };
    State { url, before: Box::new(before), _kept: Box::new((server, proxy)) }
}

fn stopped_server() -> State {
    let server = Server::start();
    let (url, process) = (server.url(), server.process());
    let before = move |call: Call<'_>| {
        process.signal("CONT");
        repeat_until_answered(call);
        process.signal("STOP");
    };
    State { url, before: Box::new(before), _kept: Box::new(server) }
}
