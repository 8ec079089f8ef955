//! Starts private Redis servers and sends them commands without the library.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A server that only one test uses; dropping it stops the process.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    pub(crate) dir: PathBuf,
}

/// Returns an unused port below those that the kernel assigns to clients, so that it stays free while a server restarts.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = std::process::id().wrapping_mul(997).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = 3_000 + u16::try_from(next % 7_000).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_somewhere(free_port, &[])
    }

    /// A server on one of the ports that are proposed: another program may take one before the server does.
    pub(crate) fn start_somewhere(propose: impl Fn() -> u16, arguments: &[&str]) -> Self {
        for _ in 0..20 {
            let mut server = Self::spawn(propose(), arguments);
            let (own, mut ended) = (format!("process_id:{}\r", server.child.id()), false);
            wait_until("redis-server starts", || {
                ended = server.child.try_wait().unwrap().is_some();
                ended || server.execute(&["INFO", "server"]).contains(&own)
            });
            if !ended {
                return server;
            }
        }
        panic!("redis-server ended on twenty ports");
    }

    /// Starts a server on a given port, with more arguments.
    pub(crate) fn start_with(port: u16, arguments: &[&str]) -> Self {
        let mut server = Self::spawn(port, arguments);
        wait_until("redis-server starts", || {
            assert!(server.child.try_wait().unwrap().is_none(), "redis-server ended");
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        server
    }

    fn spawn(port: u16, arguments: &[&str]) -> Self {
        let dir = std::env::temp_dir().join(format!("paddlegate-{}-{port}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"])
            .arg(&dir)
            .args(arguments)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server");
        Self { child, port, dir }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn process(&self) -> Process {
        Process(self.child.id())
    }

    /// Returns the reply to a command in the form that `redis-cli` prints.
    pub(crate) fn execute(&self, words: &[&str]) -> String {
        execute(self.port, words)
    }

    /// Makes this server a replica of another and that one a primary.
    pub(crate) fn follow(&self, primary: &Self) {
        assert_eq!(primary.execute(&["REPLICAOF", "NO", "ONE"]), "OK");
        // By default the primary waits five seconds for more replicas.
        primary.execute(&["CONFIG", "SET", "repl-diskless-sync-delay", "0"]);
        assert_eq!(self.execute(&["REPLICAOF", "127.0.0.1", &primary.port.to_string()]), "OK");
        wait_until("the replica is connected", || {
            self.execute(&["INFO", "replication"]).contains("master_link_status:up")
        });
    }

    /// Waits until this server has all writes of the primary.
    pub(crate) fn catch_up_with(&self, primary: &Self) {
        let offset = |server: &Self| {
            let text = server.execute(&["INFO", "replication"]);
            text.lines().find(|line| line.starts_with("master_repl_offset:")).map(str::to_owned).expect("an offset")
        };
        wait_until("the replica has all writes", || offset(self) == offset(primary));
    }

    pub(crate) fn role(&self) -> String {
        self.execute(&["ROLE"]).lines().next().unwrap_or_default().to_owned()
    }

    /// Returns the only key whose name contains `part`.
    pub(crate) fn key(&self, part: &str) -> String {
        let keys = self.execute(&["KEYS", &format!("*{part}*")]);
        assert_eq!(keys.lines().count(), 1, "keys with {part}: {keys}");
        keys
    }

    pub(crate) fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// The process of a server.
pub(crate) struct Process(u32);

impl Process {
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([format!("-{name}"), self.0.to_string()]).status().expect("kill");
        assert!(status.success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

pub(crate) fn execute(port: u16, words: &[&str]) -> String {
    if !words[0].starts_with('-') {
        return execute_once(port, words).unwrap_or_default();
    }
    let output = Command::new("redis-cli").args(["-p", &port.to_string()]).args(words).output().expect("redis-cli");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Sends a command over TCP, which is faster than a `redis-cli` process.
fn execute_once(port: u16, words: &[&str]) -> io::Result<String> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut stream = BufReader::new(stream);
    let mut command = format!("*{}\r\n", words.len());
    for word in words {
        command.extend(["$", &word.len().to_string(), "\r\n", word, "\r\n"]);
    }
    stream.get_mut().write_all(command.as_bytes())?;
    let mut text = Vec::new();
    read_reply(&mut stream, &mut text)?;
    Ok(String::from_utf8_lossy(&text).trim().to_owned())
}

/// Appends one line for each value of a reply.
fn read_reply(stream: &mut impl BufRead, text: &mut Vec<u8>) -> io::Result<()> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let (kind, rest) = line.trim_end().split_at_checked(1).ok_or(io::ErrorKind::UnexpectedEof)?;
    match (kind, rest) {
        ("$" | "*", "-1") => {}
        ("*", count) => return (0..count.parse().unwrap_or(0)).try_for_each(|_| read_reply(stream, text)),
        ("$", size) => {
            let mut bulk = vec![0; size.parse::<usize>().unwrap_or(0) + 2];
            stream.read_exact(&mut bulk)?;
            text.extend(&bulk[..bulk.len() - 2]);
        }
        _ => text.extend(rest.as_bytes()),
    }
    text.push(b'\n');
    Ok(())
}

#[allow(clippy::disallowed_methods)]
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
}
