//! `acquire` over HTTP with limits in memory, against a bare handler of axum: each server on one core, the caller on the other.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use std::{env, fs};

use crate::measure::{emit, setting};

/// The connections that are kept, each with one request at a time.
const CONNECTIONS: usize = 64;
const BODY: &str = r#"{"cost":1}"#;
/// Nothing is refused: a refusal is less work.
const LIMITS: &str = r#"{"limiters": {"api": {"leaky": {"limit": 1000000000, "drain": "1s"}}}}"#;
const OWN_TIMES: &str = "paddlegate_request_seconds_bucket{le=\"";

/// Measures both on this core, which the caller has to itself.
pub(crate) fn run(core: &str) {
    let programs = env::current_exe().expect("a program");
    let limits = programs.with_file_name("bench-limits.json");
    fs::write(&limits, LIMITS).expect("a file beside the program");
    let paddlegate = programs.with_file_name("paddlegate");
    let mut bare = Server::start(core, Command::new(&programs).arg("bare"));
    let serve = ["serve", "--listen", "127.0.0.1:0", "--limits"];
    let mut ours = Server::start(core, Command::new(paddlegate).args(serve).arg(&limits));
    let turns = (bare.turns_per_round(), ours.turns_per_round());
    for _ in 0..setting("BENCH_ROUNDS") {
        let bare = bare.round(turns.0);
        let before = ours.own_times();
        let round = ours.round(turns.1);
        let own = quantile(&before, &ours.own_times(), 0.99) * 1e6;
        emit("http", "wall", "k/s", bare.per_second() / 1e3, round.per_second() / 1e3);
        emit("http", "cpu", "k/s", bare.per_cpu_second() / 1e3, round.per_cpu_second() / 1e3);
        emit("http", "own", "us", round.slowest_of_hundred() * 1e6, own);
    }
}

/// A server that runs until it is dropped, with its connections.
struct Server {
    process: Child,
    address: String,
    connections: Vec<Connection>,
    request: String,
}

struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

/// What a round measured.
struct Round {
    calls: usize,
    seconds: f64,
    cpu_seconds: f64,
    /// How long each call took, as its caller saw it.
    times: Vec<f64>,
}

impl Server {
    /// Starts a program on a core, which prints its address.
    fn start(core: &str, program: &Command) -> Self {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", core]).arg(program.get_program()).args(program.get_args());
        command.env_remove("PADDLEGATE_URL").stdout(Stdio::piped());
        let mut process = command.spawn().expect("taskset starts it");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        let address = line.trim().rsplit('/').next().expect("an address").to_owned();
        let request = format!(
            "POST /v1/limiters/api/acquire HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{BODY}",
            BODY.len()
        );
        let connections = (0..CONNECTIONS).map(|_| Connection::open(&address)).collect();
        Self { process, address, connections, request }
    }

    /// Lets each connection make so many calls, all at once.
    #[allow(clippy::disallowed_methods)] // A bench measures real time.
    fn round(&mut self, turns: usize) -> Round {
        let mut times = Vec::with_capacity(turns * CONNECTIONS);
        let (cpu, started) = (self.cpu_seconds(), Instant::now());
        for _ in 0..turns {
            let mut sent = [started; CONNECTIONS];
            for (connection, sent) in self.connections.iter_mut().zip(&mut sent) {
                *sent = Instant::now();
                connection.send(&self.request);
            }
            for (connection, sent) in self.connections.iter_mut().zip(sent) {
                connection.receive();
                times.push(sent.elapsed().as_secs_f64());
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        Round { calls: times.len(), seconds, cpu_seconds: self.cpu_seconds() - cpu, times }
    }

    fn turns_per_round(&mut self) -> usize {
        let seconds: f64 = setting("BENCH_SECONDS");
        let mut turns = 1;
        while self.round(turns).seconds < seconds * 0.7 {
            turns *= 2;
        }
        turns
    }

    /// Returns the processor time of the server, of all its threads.
    fn cpu_seconds(&self) -> f64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.id())).expect("the server runs");
        let nanos = |task: fs::DirEntry| -> Option<f64> {
            fs::read_to_string(task.path().join("schedstat")).ok()?.split(' ').next()?.parse().ok()
        };
        tasks.filter_map(|task| nanos(task.ok()?)).sum::<f64>() / 1e9
    }

    /// Returns the bounds in seconds and how many requests took no longer, by the server's own count.
    fn own_times(&self) -> Vec<(f64, f64)> {
        let mut connection = Connection::open(&self.address);
        let request = format!("GET /metrics HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address);
        connection.send(&request);
        let mut text = String::new();
        connection.stream.read_to_string(&mut text).expect("metrics");
        let sample = |line: &str| {
            let (bound, count) = line.strip_prefix(OWN_TIMES)?.split_once("\"} ")?;
            Some((bound.parse().unwrap_or(f64::INFINITY), count.parse().ok()?))
        };
        text.lines().filter_map(sample).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Round {
    #[allow(clippy::cast_precision_loss)] // Far fewer than 2^53.
    fn per_second(&self) -> f64 {
        self.calls as f64 / self.seconds
    }

    #[allow(clippy::cast_precision_loss)]
    fn per_cpu_second(&self) -> f64 {
        self.calls as f64 / self.cpu_seconds
    }

    /// Returns the time that 99 of a hundred calls did not exceed.
    fn slowest_of_hundred(&self) -> f64 {
        let mut times = self.times.clone();
        times.sort_by(f64::total_cmp);
        times[times.len() * 99 / 100]
    }
}

impl Connection {
    fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("an option");
        Self { stream, received: Vec::new() }
    }

    fn send(&mut self, request: &str) {
        self.stream.write_all(request.as_bytes()).expect("sent");
    }

    /// Reads one response, which must be a grant.
    fn receive(&mut self) {
        self.received.clear();
        let mut part = [0; 4096];
        while !is_whole(&self.received) {
            let length = self.stream.read(&mut part).expect("a response");
            assert!(length > 0, "the server has closed the connection");
            self.received.extend(&part[..length]);
        }
        let text = str::from_utf8(&self.received).expect("text");
        assert!(text.starts_with("HTTP/1.1 200") && text.contains(r#""allowed":true"#), "no grant: {text}");
    }
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = str::from_utf8(bytes).expect("text");
    text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
        body.len() >= length.parse().expect("a number")
    })
}

/// Returns the quantile of what was counted between two readings, within its bound as Prometheus does.
fn quantile(before: &[(f64, f64)], after: &[(f64, f64)], quantile: f64) -> f64 {
    let counts: Vec<(f64, f64)> =
        after.iter().zip(before).map(|(after, before)| (after.0, after.1 - before.1)).collect();
    let all = counts.last().expect("a histogram").1;
    assert!(all > 0.0, "the server has counted its requests");
    let (mut below, mut least) = (0.0, 0.0);
    for (bound, count) in counts {
        if count >= quantile * all {
            let part = (quantile * all - below) / (count - below);
            return if bound.is_finite() { least + (bound - least) * part } else { least };
        }
        (below, least) = (count, bound);
    }
    f64::INFINITY
}
