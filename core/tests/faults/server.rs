//! A private Redis server, and a way to ask it directly.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server of one test alone, ended with it.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    pub(crate) dir: PathBuf,
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
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
            wait_until("redis-server comes up", || {
                ended = server.child.try_wait().unwrap().is_some();
                ended || server.ask(&["INFO", "server"]).contains(&own)
            });
            if !ended {
                return server;
            }
        }
        panic!("redis-server ended on twenty ports");
    }

    /// A server on a given port, with more arguments.
    pub(crate) fn start_with(port: u16, arguments: &[&str]) -> Self {
        let server = Self::spawn(port, arguments);
        wait_until("redis-server comes up", || TcpStream::connect(("127.0.0.1", port)).is_ok());
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

    /// The answer to a command, as `redis-cli` writes it.
    pub(crate) fn ask(&self, words: &[&str]) -> String {
        ask(self.port, words)
    }

    /// The one key whose name has this in it.
    pub(crate) fn key(&self, part: &str) -> String {
        let keys = self.ask(&["KEYS", &format!("*{part}*")]);
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

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

pub(crate) fn ask(port: u16, words: &[&str]) -> String {
    let output = Command::new("redis-cli").args(["-p", &port.to_string()]).args(words).output().expect("redis-cli");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[allow(clippy::disallowed_methods)]
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(10), "{what}: not within ten seconds");
        std::thread::yield_now();
    }
}
