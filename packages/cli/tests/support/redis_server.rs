//! A server of one test.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct Server {
    child: Child,
    port: u16,
    login: Option<String>,
}

impl Server {
    #[allow(clippy::disallowed_methods, reason = "waits for a server")]
    pub(crate) fn start(options: &[&str]) -> Self {
        let login = options.iter().position(|option| *option == "--requirepass").map(|at| options[at + 1].to_owned());
        // Another process may take the port first.
        for _ in 0..10 {
            let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
            let mut command = Command::new(std::env::var("REDIS_SERVER").unwrap_or("redis-server".to_owned()));
            command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"]);
            command.arg(env!("CARGO_TARGET_TMPDIR")).args(options).stdout(Stdio::null());
            let mut server = Self { child: command.spawn().expect("a redis-server"), port, login: login.clone() };
            let deadline = Instant::now() + Duration::from_secs(60);
            while Instant::now() < deadline && server.child.try_wait().expect("a child").is_none() {
                // The process id shows that it is this server.
                if server.ask(&["INFO", "server"]).contains(&format!("process_id:{}\r", server.child.id())) {
                    return server;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        panic!("no redis-server could be started");
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self, login: &str) -> String {
        format!("redis://{login}127.0.0.1:{}", self.port)
    }

    /// Sends a command and returns the reply as redis-cli prints it.
    pub(crate) fn ask(&self, words: &[&str]) -> String {
        let mut command = Command::new("redis-cli");
        command.args(["-p", &self.port.to_string()]).args(words).stderr(Stdio::null());
        if let Some(login) = &self.login {
            command.env("REDISCLI_AUTH", login);
        }
        String::from_utf8_lossy(&command.output().expect("redis-cli").stdout).trim_end_matches('\n').to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
