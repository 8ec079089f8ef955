//! A server in this process, and a client that sends exactly the bytes it is told to.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]
#![allow(clippy::disallowed_methods, reason = "tests wait for a server")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use paddlegate_server::{App, Failure, Options, Server};
use serde_json::Value;
use tokio::sync::oneshot;

/// The limits file of most tests.
pub const LIMITS: &str = r#"{"limiters": {
    "api": {"bucket": {"limit": 5, "per": "day"}},
    "workers": {"concurrency": {"limit": 1, "lock_timeout": "1h"}},
    "per-user": {"bucket": {"limit": 2, "per": "day"}, "keyed": true},
    "shop": {"points": {"limit": 1000, "refill": "1d"}},
    "mail": {"throttle": {"every": "1d"}},
    "both": {"limits": {"rpm": {"window": {"limit": 3, "per": "minute"}}, "rpd": {"bucket": {"limit": 9, "per": "day"}}}}
}}"#;

/// A server that runs on threads of its own until it is dropped.
pub struct Running {
    pub address: SocketAddr,
    pub metrics: Option<SocketAddr>,
    pub grpc: Option<SocketAddr>,
    pub app: App,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub fn start(options: Options) -> Self {
        Self::try_start(options).expect("the server starts")
    }

    pub fn try_start(options: Options) -> Result<Self, Failure> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let server = runtime.block_on(Server::bind(options))?;
        let (address, metrics, app) = (server.address(), server.metrics_address(), server.app().clone());
        let grpc = server.grpc_address();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            runtime.block_on(server.run(async {
                let _ = stopped.await;
            }));
        });
        Ok(Self { address, metrics, grpc, app, stop: Some(stop), thread: Some(thread) })
    }

    /// Starts a server with the limits of most tests.
    pub fn with_limits(store: &Store) -> Self {
        Self::start(Options { redis: store.url.clone(), limits: Some(file(LIMITS)), ..Options::default() })
    }

    pub fn client(&self) -> Client {
        Client::connect(self.address)
    }

    /// Tells it to stop, and returns at once.
    pub fn begin_to_stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.begin_to_stop();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            if !thread::panicking() {
                ended.expect("the server ended without a panic");
            }
        }
    }
}

/// A store to test with, and the prefix of the names that a test may use in it.
pub struct Store {
    pub url: Option<String>,
    pub prefix: String,
}

impl Store {
    /// Memory, and Redis.
    pub fn all() -> [Self; 2] {
        [Self { url: None, prefix: unique("m") }, Self::redis()]
    }

    pub fn redis() -> Self {
        let url = std::env::var("PADDLEGATE_TEST_URL").unwrap_or_else(|_| {
            panic!("PADDLEGATE_TEST_URL is not set; run the tests under scripts/with-redis.sh");
        });
        Self { url: Some(url), prefix: unique("r") }
    }

    pub fn name(&self) -> &'static str {
        if self.url.is_some() { "redis" } else { "memory" }
    }

    /// The limits of [`LIMITS`] with this store's prefix before each name.
    pub fn limits(&self) -> PathBuf {
        let value: Value = serde_json::from_str(LIMITS).expect("json");
        let named = value["limiters"].as_object().expect("an object").iter();
        let named: serde_json::Map<String, Value> =
            named.map(|(name, limiter)| (format!("{}{name}", self.prefix), limiter.clone())).collect();
        file(&serde_json::json!({ "limiters": named }).to_string())
    }

    pub fn server(&self) -> Running {
        Running::start(Options { redis: self.url.clone(), limits: Some(self.limits()), ..Options::default() })
    }

    /// A database of a Redis that no other test uses, for a clock of its own and a list without the limiters of others.
    pub fn database(number: u32) -> Self {
        let Self { url, prefix } = Self::redis();
        Self { url: url.map(|url| format!("{}/{number}", url.trim_end_matches('/'))), prefix }
    }

    /// Sends a command to the database, and returns the first line of the reply.
    pub fn command(&self, words: &[&str]) -> String {
        let url = self.url.as_deref().expect("a Redis").trim_start_matches("redis://");
        let (address, database) = url.split_once('/').filter(|(_, rest)| !rest.is_empty()).unwrap_or((url, "0"));
        let mut stream = BufReader::new(TcpStream::connect(address.trim_end_matches('/')).expect("a connection"));
        let mut reply = String::new();
        for words in [&["SELECT", database], words] {
            let encoded = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect::<Vec<_>>();
            let command = format!("*{}\r\n{}", words.len(), encoded.concat());
            stream.get_mut().write_all(command.as_bytes()).expect("it is sent");
            reply.clear();
            stream.read_line(&mut reply).expect("a reply");
        }
        reply.trim_end().to_owned()
    }

    /// The path of a route of a limiter.
    pub fn path(&self, name: &str, rest: &str) -> String {
        format!("/v1/limiters/{}{name}{rest}", self.prefix)
    }
}

/// Returns a word that no other test uses.
pub fn unique(word: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{word}{}-{}-", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Writes a file for a test, in the folder of the build.
pub fn file(text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}file.json", unique("")));
    std::fs::write(&path, text).expect("a file");
    path
}

/// Returns a text as a part of an address.
pub fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat()
}

/// Returns a text as the pages have it in addresses.
pub fn form_encoded(text: &str) -> String {
    text.chars().map(|char| if char.is_alphanumeric() { char.into() } else { encoded(&char.to_string()) }).collect()
}

/// Returns how many random cases a test tries: those of `make soak`, or a tenth.
pub fn cases(of_soak: u32) -> u32 {
    if std::env::var_os("PADDLEGATE_SOAK").is_some() { of_soak } else { of_soak / 10 }
}

/// Waits until something holds; panics after a minute.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "still waiting: {what}");
        sleep(Duration::from_millis(5));
    }
}

/// Moves the clock of a server with one for tests.
pub fn advance(client: &mut Client, seconds: u64) {
    client.post("/ojs/v1/test-clock/advance", &serde_json::json!({ "micros": seconds * 1_000_000 })).expect(200);
}

/// A connection to the server, kept alive.
pub struct Client {
    address: SocketAddr,
    reader: BufReader<TcpStream>,
    pub headers: Vec<(String, String)>,
}

/// A response.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("nodelay");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        Self { address, reader: BufReader::new(stream), headers: Vec::new() }
    }

    /// Returns the client with a header in each request.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn post(&mut self, path: &str, body: &Value) -> Response {
        self.send("POST", path, Some(body));
        self.receive()
    }

    pub fn put(&mut self, path: &str, body: &Value) -> Response {
        self.send("PUT", path, Some(body));
        self.receive()
    }

    pub fn get(&mut self, path: &str) -> Response {
        self.send("GET", path, None);
        self.receive()
    }

    pub fn delete(&mut self, path: &str) -> Response {
        self.send("DELETE", path, None);
        self.receive()
    }

    /// Sends a request and does not wait for its response.
    pub fn send(&mut self, method: &str, path: &str, body: Option<&Value>) {
        let mut lines = vec![format!("{method} {path} HTTP/1.1")];
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            lines.push(format!("host: {}", self.address));
        }
        lines.extend(self.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        let body = body.map(Value::to_string);
        if let Some(body) = &body {
            lines.push("content-type: application/json".to_owned());
            lines.push(format!("content-length: {}", body.len()));
        }
        let text = format!("{}\r\n\r\n{}", lines.join("\r\n"), body.unwrap_or_default());
        self.write(text.as_bytes());
    }

    /// Sends bytes; the server may have closed the connection.
    pub fn write(&mut self, bytes: &[u8]) {
        let _ = self.reader.get_mut().write_all(bytes);
    }

    /// Says that nothing more is sent.
    pub fn end(&mut self) {
        let _ = self.reader.get_mut().shutdown(std::net::Shutdown::Write);
    }

    pub fn receive(&mut self) -> Response {
        self.try_receive().expect("a response")
    }

    /// Reads a response; `None` when the connection ended before one.
    pub fn try_receive(&mut self) -> Option<Response> {
        let line = self.line()?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut headers = HashMap::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':')?;
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
            return Some(Response { status, headers, body: self.chunks()? });
        }
        let length = headers.get("content-length").and_then(|length: &String| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body).ok()?;
        Some(Response { status, headers, body })
    }

    /// Reads a body whose length no header tells.
    fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let length = usize::from_str_radix(&self.line()?, 16).ok()?;
            let mut chunk = vec![0; length];
            self.reader.read_exact(&mut chunk).ok()?;
            self.line()?;
            body.extend(chunk);
            if length == 0 {
                return Some(body);
            }
        }
    }

    /// Reads a line without its end; `None` at the end of the connection.
    pub fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line).ok()?;
        let line = String::from_utf8(line).ok()?;
        line.strip_suffix("\r\n").or(line.strip_suffix('\n')).map(str::to_owned)
    }
}

impl Response {
    /// Returns the body, which must be JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the body of a response that must have the status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}
