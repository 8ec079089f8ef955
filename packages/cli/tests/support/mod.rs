//! Runs the built command.

#![allow(dead_code, reason = "every test program is compiled with its own copy")]

pub(crate) mod redis_server;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use paddlegate::Paddlegate;
use serde_json::Value;

/// What the command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The totals that `--json` printed.
    pub(crate) fn totals(&self) -> Vec<Value> {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""));
        serde_json::from_str(&self.out).expect("a JSON array")
    }

    /// What a verb printed without a complaint.
    pub(crate) fn text(&self) -> &str {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.out);
        &self.out
    }

    /// What a verb printed with `--json`.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.text()).unwrap_or_else(|error| panic!("{error} {}", self.out))
    }

    /// The only line of an error.
    pub(crate) fn error(&self, code: i32) -> &str {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{}", self.err);
        let line = self.err.strip_prefix("error: ").unwrap_or_else(|| panic!("{}", self.err));
        line.lines().next().unwrap_or_default()
    }
}

pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paddlegate"));
    command.arg("simulate");
    command
}

/// The address of the Redis for tests.
pub(crate) fn url() -> String {
    std::env::var("PADDLEGATE_TEST_URL")
        .unwrap_or_else(|_| panic!("PADDLEGATE_TEST_URL is not set; run the tests under scripts/with-redis.sh"))
}

/// The address of the cluster for tests.
pub(crate) fn cluster_url() -> String {
    std::env::var("PADDLEGATE_TEST_CLUSTER_URL").unwrap_or_else(|_| {
        panic!("PADDLEGATE_TEST_CLUSTER_URL is not set; run the tests under scripts/with-cluster.sh")
    })
}

/// The store of another program.
pub(crate) fn store() -> Paddlegate {
    Paddlegate::open(&url(), Some(PATIENCE)).expect("a store")
}

/// Machines with two cores may stop for seconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A verb on a store, not yet run.
pub(crate) fn operator(url: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paddlegate"));
    command.args(args).env("PADDLEGATE_URL", url).stdin(Stdio::null());
    if !matches!(args.first(), Some(&("completions" | "man" | "plan"))) {
        command.args(["--timeout", "30s"]);
    }
    command
}

/// Runs a verb on the Redis for tests.
pub(crate) fn operate(args: &[&str]) -> Said {
    operate_on(&url(), args)
}

pub(crate) fn operate_on(url: &str, args: &[&str]) -> Said {
    Said::of(operator(url, args).output().expect("the command runs"))
}

/// A name of no other test.
pub(crate) fn name(about: &str) -> String {
    format!("cli-{about}-{}", paddlegate::new_id().expect("random bytes"))
}

pub(crate) fn simulate(args: &[&str]) -> Said {
    Said::of(command().args(args).stdin(Stdio::null()).output().expect("the command runs"))
}

pub(crate) fn simulate_with_input(args: &[&str], input: &str) -> Said {
    let mut command = command();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command runs");
    child.stdin.take().expect("its input").write_all(input.as_bytes()).expect("it reads");
    Said::of(child.wait_with_output().expect("it ends"))
}

/// A file that is there as long as the test.
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    pub(crate) fn new(text: impl AsRef<[u8]>) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("paddlegate-cli-{}-{number}", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&path, text).expect("a file");
        Self(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }

    pub(crate) fn text(&self) -> String {
        fs::read_to_string(&self.0).expect("a file")
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Five in any second, and five in each second.
pub(crate) const POLICY: &str = r#"{"limiters": {
    "a": {"window": {"limit": 5, "per": "1s"}},
    "b": {"bucket": {"limit": 5, "per": "1s"}}
}}"#;
