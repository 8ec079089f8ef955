//! A Redis Sentinel of the name `main`.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::server::{Server, execute, free_port, wait_until};

pub(crate) struct Sentinel {
    child: Child,
    pub(crate) port: u16,
    dir: PathBuf,
}

impl Sentinel {
    /// Starts a sentinel that watches a primary, whose replicas are connected. It fails over only when it is told to.
    pub(crate) fn of(primary: &Server) -> Self {
        let port = free_port();
        let dir = std::env::temp_dir().join(format!("paddlegate-sentinel-{}-{port}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("sentinel.conf");
        let text = format!(
            "port {port}\nbind 127.0.0.1\nsentinel monitor main 127.0.0.1 {} 1\n\
             sentinel down-after-milliseconds main 600000\n",
            primary.port
        );
        fs::write(&file, text).unwrap();
        let mut command = Command::new("redis-server");
        let child = command.arg(&file).arg("--sentinel").stdout(Stdio::null()).spawn().expect("redis-server");
        let sentinel = Self { child, port, dir };
        wait_until("the sentinel knows the replica", || sentinel.execute(&["INFO", "sentinel"]).contains("slaves=1"));
        sentinel
    }

    pub(crate) fn execute(&self, words: &[&str]) -> String {
        execute(self.port, words)
    }

    pub(crate) fn fail_over(&self, primary: &Server, replica: &Server) {
        wait_until("the failover begins", || self.execute(&["SENTINEL", "FAILOVER", "main"]) == "OK");
        let port = replica.port.to_string();
        wait_until("the sentinel names the replica", || {
            let address = self.execute(&["SENTINEL", "get-master-addr-by-name", "main"]);
            address.lines().nth(1) == Some(&port)
        });
        // Until then the old primary takes calls.
        wait_until("the roles are exchanged", || replica.role() == "master" && primary.role() == "slave");
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}
