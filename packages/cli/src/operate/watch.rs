//! `watch`: limiters as they change.

mod frame;

use std::io::{self, IsTerminal};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use console::Term;
use paddlegate::{ErrorKind, LimiterInfo, Micros, Paddlegate};

use self::frame::{Frame, Row};
use super::store::{Store, failure};
use super::{span, target};
use crate::failure::Failure;
use crate::human::cut;
use crate::print;

/// How many limiters are read at the same time.
const AT_ONCE: usize = 8;

/// The arguments of `watch`.
#[derive(Args, Debug)]
pub(crate) struct Watch {
    /// The beginning of the names; all of them are read, and the busiest are shown [default: all]
    #[arg(value_name = "PREFIX", default_value = "", hide_default_value = true)]
    prefix: String,
    /// The time between two frames, from 100ms to 1h
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = span)]
    every: Micros,
    /// How many frames are shown [default: until Ctrl-C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,
    /// How many limiters are shown [default: as fit in the terminal, otherwise 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=200))]
    top: Option<u64>,
    #[command(flatten)]
    store: Store,
}

/// Shows frames: in a terminal each in the place of the one before, otherwise one below the other.
pub(crate) fn run(order: &Watch) -> Result<(), Failure> {
    let every = order.every.duration();
    if !(Duration::from_millis(100)..=Duration::from_secs(3_600)).contains(&every) {
        return Err(Failure::Input("--every: must be from 100ms to 1h".to_owned()));
    }
    let paddlegate = order.store.open()?;
    let mut screen = Screen::new(order);
    let mut before = Frame::default();
    for number in 0.. {
        if order.frames.is_some_and(|frames| number >= frames) {
            break;
        }
        if number > 0 {
            sleep(every);
        }
        match read(&paddlegate, &order.prefix, before.read_at.is_none()) {
            Ok(frame) => {
                screen.show(&frame, &before)?;
                before = frame;
            }
            // The first shows whether the store is there at all; later it may come back.
            Err(error) if number == 0 || !screen.is_live => return Err(failure(&error)),
            Err(error) => screen.replace(&format!("{}\n", crate::hush::hush(error.message())))?,
        }
    }
    Ok(())
}

/// Reads all limiters whose names begin so. The first frame has no other to compare with, and looks at the last minute instead.
fn read(paddlegate: &Paddlegate, prefix: &str, is_first: bool) -> paddlegate::Result<Frame> {
    let infos = paddlegate.limiters_with_prefix(prefix)?;
    let row = |info: &LimiterInfo| {
        let read = target::of_info(paddlegate, info).and_then(|limiter| Row::read(&limiter, is_first));
        match read {
            // Damaged data of one limiter hides no other.
            Err(error) if error.kind() != ErrorKind::Unavailable => Ok(Row::unread(info)),
            read => read,
        }
    };
    let rows = thread::scope(|scope| {
        let parts = infos.chunks(infos.len().div_ceil(AT_ONCE).max(1));
        let reading: Vec<_> = parts.map(|part| scope.spawn(move || part.iter().map(row).collect::<Vec<_>>())).collect();
        reading.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect::<paddlegate::Result<_>>()
    })?;
    Ok(Frame { read_at: Some(now()), rows })
}

/// Where frames are shown.
struct Screen {
    terminal: Term,
    is_live: bool,
    is_json: bool,
    top: Option<usize>,
    /// The lines of the last frame.
    lines: usize,
}

impl Screen {
    fn new(order: &Watch) -> Self {
        let top = order.top.and_then(|top| usize::try_from(top).ok());
        let is_json = order.store.json;
        Self { terminal: Term::stdout(), is_live: io::stdout().is_terminal() && !is_json, is_json, top, lines: 0 }
    }

    fn show(&mut self, frame: &Frame, before: &Frame) -> Result<(), Failure> {
        if self.is_json {
            return print(&format!("{}\n", frame.json(before)));
        }
        // Two lines above, two below, and the line of the cursor.
        let fit = self.terminal.size_checked().map_or(20, |(rows, _)| usize::from(rows).saturating_sub(5).max(1));
        let text = frame.text(before, self.top.unwrap_or(if self.is_live { fit } else { 20 }));
        if self.is_live { self.replace(&text) } else { print(&text) }
    }

    /// Writes a text in the place of the one before, so that the last one stays when the program ends.
    fn replace(&mut self, text: &str) -> Result<(), Failure> {
        let failed = |error| Failure::write("the result", &error);
        self.terminal.clear_last_lines(self.lines).map_err(failed)?;
        self.lines = text.lines().count();
        // A line that wraps would be two, of which one is cleared.
        let columns = self.terminal.size_checked().map_or(usize::MAX, |(_, columns)| usize::from(columns));
        let text: String = text.lines().map(|line| cut(line, columns) + "\n").collect();
        self.terminal.write_str(&text).and_then(|()| self.terminal.flush()).map_err(failed)
    }
}

/// Waits for the next frame.
#[allow(clippy::disallowed_methods)]
fn sleep(time: Duration) {
    thread::sleep(time);
}

/// The clock of rates; no decision depends on it.
#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}
