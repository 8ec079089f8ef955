//! `watch` in a pseudo-terminal and in a pipe; completions and manual pages.

#![allow(clippy::disallowed_methods, reason = "tests wait for a program")]

use crate::support;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::{cluster_url, name, operate, operate_on, operator, store, url};
use paddlegate::{AdminCommand, Deadline, Micros, Paddlegate, Request};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

const HOUR: Duration = Duration::from_secs(3_600);

/// Makes calls, and waits until the server has counted all of them.
fn calls(store: &Paddlegate, name: &str, count: u64) {
    let limiter = store.window(name, 5, HOUR).unwrap();
    for _ in 0..count {
        limiter.try_acquire(Request::cost(1)).unwrap();
    }
    limiter.statistics().unwrap();
}

#[test]
fn frames_in_a_pipe_are_printed_one_below_the_other() {
    let (store, prefix) = (store(), name("watch"));
    calls(&store, &format!("{prefix}-a"), 2);
    calls(&store, &format!("{prefix}-b"), 9);
    store
        .window(&format!("{prefix}-b"), 5, HOUR)
        .unwrap()
        .admin(AdminCommand::Pause(Deadline::After(Micros(3_600_000_000))))
        .unwrap();
    let keyed = store.window(&format!("{prefix}-c"), 5, HOUR).unwrap().keyed().unwrap();
    keyed.with_key("u").unwrap().try_acquire(Request::cost(1)).unwrap();

    let said = operate(&["watch", &prefix, "--frames", "2", "--every", "100ms"]);
    let lines: Vec<&str> = said.text().lines().collect();
    assert_eq!(lines.len(), 12, "{}", said.out);
    assert!(!said.out.contains('\u{1b}') && lines.iter().all(|line| line.width() <= 80), "{}", said.out);
    assert_eq!(
        (lines[0], lines[5], lines[11]),
        ("Now: 1 paused, 1 full, 1 refusing", "3 of 3 limiters", "3 of 3 limiters")
    );
    let rows: Vec<Vec<&str>> = lines[2..5].iter().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0][1..], ["2", "5", "40%", "-", "-", "0", "0"], "{}", said.out);
    assert_eq!(rows[1][1..], ["5", "5", "100%", "-", "-", "0", "0", "paused"], "{}", said.out);
    assert_eq!(rows[2][1..], ["-", "-", "-", "-", "-", "0", "0", "keyed"], "{}", said.out);
    assert_eq!(lines[8].split_whitespace().collect::<Vec<_>>()[4..6], ["0", "0"], "{}", said.out);

    // One name in two groups is two limiters.
    for group in ["acme", "zeta"] {
        let grouped = store.window(&format!("{prefix}-a"), 5, HOUR).unwrap().with_group(group).unwrap();
        grouped.try_acquire(Request::cost(1)).unwrap();
        grouped.statistics().unwrap();
    }
    let said = operate(&["watch", &format!("{prefix}-a"), "--frames", "1"]);
    let marks: Vec<&str> = said
        .text()
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(" 0       0"))
        .map(|(_, marks)| marks.trim())
        .collect();
    assert_eq!(marks, ["", "group=acme", "group=zeta"], "{}", said.out);

    let said = operate(&["watch", &prefix, "--frames", "1", "--top", "1"]);
    assert!(said.text().ends_with("\n1 of 5 limiters\n") && said.out.lines().count() == 4, "{}", said.out);
}

#[test]
fn all_limiters_are_watched_also_those_used_long_ago() {
    let (store, prefix) = (store(), name("watch-all"));
    let limiters: Vec<_> = (0..1_100).map(|i| store.bucket(&format!("{prefix}-{i:04}"), 5, HOUR).unwrap()).collect();
    let calls: Vec<_> = limiters.iter().map(|limiter| (limiter, Request::cost(1))).collect();
    for calls in calls.chunks(100) {
        let decided = paddlegate::Limiter::acquire_each(calls, paddlegate::SignalHandling::Ignore);
        assert!(decided.into_iter().all(|decision| decision.unwrap().allowed()));
    }
    for limiter in [&limiters[0], &limiters[1_099]] {
        limiter.admin(AdminCommand::Pause(Deadline::After(Micros(3_600_000_000)))).unwrap();
    }
    let said = operate(&["watch", &prefix, "--frames", "1"]);
    assert!(said.text().starts_with("Now: 2 paused\n"), "{}", said.out);
    assert!(said.text().ends_with("\n20 of 1,100 limiters\n"), "{}", said.out);
}

#[test]
fn json_frames_have_what_was_counted_meanwhile() {
    let (store, name) = (store(), name("watch-json"));
    calls(&store, &name, 4);
    let mut watch =
        Running::start(operator(&url(), &["watch", &name, "--json", "--every", "100ms"]).stdout(Stdio::piped()));
    let first = watch.line();
    let limits = json!([{ "label": "window", "limit": 5, "taken": 4, "remaining": 1 }]);
    assert_eq!((&first["after"], &first["limiters"][0]["limits"]), (&Value::Null, &limits));
    assert_eq!(first["limiters"][0]["granted"], Value::Null);
    calls(&store, &name, 3);
    let (mut granted, mut refused) = (0, 0);
    while (granted, refused) != (1, 2) {
        let frame = watch.line();
        granted += frame["limiters"][0]["granted"].as_u64().unwrap();
        refused += frame["limiters"][0]["refused"].as_u64().unwrap();
        assert!(granted <= 1 && refused <= 2 && frame["after"].as_f64().is_some_and(|after| after > 0.0), "{frame}");
    }
}

#[test]
fn a_terminal_shows_each_frame_in_the_place_of_the_one_before() {
    let (store, name) = (store(), name("watch-live"));
    calls(&store, &name, 1);
    let mut terminal = Terminal::open(&["watch", &name, "--every", "100ms"], 80);
    terminal.until("1      5   20%");
    terminal.until("1 of 1 limiters");
    calls(&store, &name, 2);
    terminal.until("3      5   60%");
    // Cursor up and line cleared.
    assert!(terminal.shown.contains("\u{1b}[4A") && terminal.shown.contains("\u{1b}[2K"), "{:?}", terminal.shown);
    terminal.signal_end();

    // In a narrow one no line wraps.
    let mut narrow = Terminal::open(&["watch", &name, "--every", "100ms"], 30);
    narrow.until("1 of 1 limiters");
    assert!(narrow.shown.lines().all(|line| line.width() <= 30), "{:?}", narrow.shown);
}

#[test]
fn a_reader_that_goes_ends_the_watch_without_a_complaint() {
    let name = name("watch-head");
    calls(&store(), &name, 1);
    let mut command = operator(&url(), &["watch", &name, "--json", "--every", "100ms"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 1];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &[][..]));
}

#[test]
fn bad_arguments_of_watch_and_a_store_that_is_down() {
    for (args, message) in [
        (&["watch", "--every", "10ms"][..], "--every: must be from 100ms to 1h"),
        (&["watch", "--every", "2h"], "--every: must be from 100ms to 1h"),
        (&["watch", "--every", "x"], "invalid value 'x' for '--every <SPAN>'"),
        (&["watch", "--frames", "0"], "invalid value '0' for '--frames <N>'"),
        (&["watch", "--top", "201"], "invalid value '201' for '--top <N>'"),
    ] {
        assert!(operate(args).error(2).starts_with(message), "{args:?}");
    }
    assert!(operate_on("redis://127.0.0.1:1", &["watch"]).error(3).starts_with("cannot connect to redis"));
}

#[test]
fn limiters_of_a_cluster_are_watched() {
    let url = cluster_url();
    let store = Paddlegate::open(&url, Some(support::PATIENCE)).unwrap();
    let prefix = name("watch-cluster");
    (0..4).for_each(|i| calls(&store, &format!("{prefix}-{i}"), 1));
    let said = operate_on(&url, &["watch", &prefix, "--frames", "1"]);
    assert!(said.text().ends_with("\n4 of 4 limiters\n"), "{}", said.out);
}

#[test]
fn completions_and_manual_pages_know_every_verb() {
    let verbs = [
        "list", "inspect", "watch", "pause", "resume", "override", "restore", "reset", "record", "plan", "doctor",
        "simulate",
    ];
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = operate(&["completions", shell]);
        assert!(verbs.iter().all(|verb| said.text().contains(verb)) && said.out.contains("expires-in"), "{shell}");
    }
    assert!(operate(&["completions", "tcsh"]).error(2).starts_with("invalid value 'tcsh' for '<SHELL>'"));
    assert!(operate(&["man"]).text().contains(".TH paddlegate 1"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name("man"));
    operate(&["man", folder.to_str().unwrap()]).text();
    for verb in verbs {
        let page = fs::read_to_string(folder.join(format!("paddlegate-{verb}.1"))).unwrap();
        assert!(page.contains(".SH OPTIONS") && !page.contains("PADDLEGATE_TEST"), "{page}");
    }
    fs::remove_dir_all(folder).unwrap();
    assert!(operate(&["man", "/dev/null/man"]).error(1).starts_with("cannot write /dev/null/man"));
}

/// A program whose lines are read while it runs.
struct Running {
    child: Child,
    read: Vec<u8>,
}

impl Running {
    fn start(command: &mut std::process::Command) -> Self {
        Self { child: command.spawn().unwrap(), read: Vec::new() }
    }

    fn line(&mut self) -> Value {
        let out = self.child.stdout.as_mut().unwrap();
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return serde_json::from_slice(&line).unwrap();
            }
            let mut buffer = [0; 4_096];
            let size = out.read(&mut buffer).unwrap();
            assert!(size > 0, "it ended");
            self.read.extend_from_slice(&buffer[..size]);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A verb in a pseudo-terminal of 24 lines.
struct Terminal {
    child: Child,
    screen: File,
    shown: String,
}

impl Terminal {
    fn open(args: &[&str], ws_col: u16) -> Self {
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        tcsetwinsize(&screen, Winsize { ws_row: 24, ws_col, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let path = ptsname(&screen, Vec::new()).unwrap();
        let side = OpenOptions::new().read(true).write(true).open(path.to_str().unwrap()).unwrap();
        let mut command = operator(&url(), args);
        command.env("TERM", "xterm").stdout(side.try_clone().unwrap()).stderr(side);
        Self { child: command.spawn().unwrap(), screen: File::from(screen), shown: String::new() }
    }

    /// Reads until a text is shown.
    fn until(&mut self, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(120);
        while !self.shown.contains(text) {
            assert!(Instant::now() < deadline, "{text:?} is not in {:?}", self.shown);
            let mut buffer = [0; 4_096];
            match self.screen.read(&mut buffer) {
                Ok(size) => self.shown.push_str(&String::from_utf8_lossy(&buffer[..size])),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("{error} {:?}", self.shown),
            }
        }
    }

    fn signal_end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
