//! `Samples`: how much was left of each limit and how many calls waited, read once a minute, because the store counts calls alone.

mod kept;

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream::{StreamExt, iter};
use paddlegate::{Answer, Inspection, Limiter, LimiterInfo, Operation, Page, Result};
use tokio::time::sleep;

use self::kept::Kept;
pub(crate) use self::kept::{Sample, Sampled};
use crate::app::App;

/// The most limiters that are sampled.
pub(crate) const MAX_LIMITERS: usize = 2_000;

/// How many are read at the same time, so that decisions hardly wait for them.
const AT_ONCE: usize = 32;

const MINUTE: u64 = 60_000_000;

/// The time since the last use that the list knows, of a limiter that was used within the last minute: a program renews its
/// entry once a minute.
const USED_WITHIN: u64 = 2 * MINUTE;

/// How often a clock that only requests move is looked at.
const PERIOD_OF_TEST: Duration = Duration::from_millis(20);

/// What was read of limiters without keys in the last hour and in the last two days.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    kept: Mutex<Kept>,
}

impl Samples {
    /// Returns the samples up to this minute; `None` of a limiter that was not sampled.
    pub(crate) fn of(&self, limiter: &Limiter, minute: u64) -> Option<Sampled> {
        if limiter.is_keyed() {
            return None;
        }
        self.kept().sampled(limiter.name(), limiter.group(), minute)
    }

    /// Returns the number of the minute of now.
    pub(crate) fn minute(app: &App) -> u64 {
        app.now().0 / MINUTE
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads samples each minute until the server stops.
pub(crate) async fn run(app: App) {
    let (mut last, phase) = (None, phase(std::process::id()));
    loop {
        let minute = Samples::minute(&app);
        let due = async {
            if last.replace(minute) != Some(minute) {
                // What cannot be read now is a gap.
                let _ = sample(&app).await;
            }
            // Not a minute, because reading takes time, and now and then a minute would have no sample.
            let left = until_next(app.now().0, phase);
            sleep(app.clock().map_or(left, |_| PERIOD_OF_TEST)).await;
        };
        tokio::select! {
            () = app.stopping().cancelled() => return,
            () = due => {}
        }
    }
}

/// Returns when in a minute a process reads samples. Most of the units of a bucket are left when its interval has just begun, and
/// those of a minute begin with it, of ten seconds with each ten; other servers read at other times.
fn phase(process: u32) -> u64 {
    let seconds = [13, 17, 23, 27, 33, 37, 43, 47];
    seconds[process as usize % seconds.len()] * 1_000_000 + 500_000
}

/// Returns the time until then.
fn until_next(now: u64, phase: u64) -> Duration {
    Duration::from_micros(MINUTE - (now + MINUTE - phase) % MINUTE)
}

/// Reads the limiters that are in use.
async fn sample(app: &App) -> Result<()> {
    app.samples().kept().begin(app.now());
    let chosen = chosen(app).await?;
    // Any of them tells the time of the store, unless it has a time of its own that is ahead, since a clock was set back.
    let Some((_, first)) = chosen.first() else { return Ok(()) };
    let now = inspected(app, first).await?.at.0.min(app.now().0);
    let is_in_use = |(is_busy, info): &&(bool, LimiterInfo)| {
        *is_busy || info.last_used.0 == 0 || info.last_used.0.saturating_add(USED_WITHIN) > now
    };
    let read = iter(chosen.iter().filter(is_in_use)).for_each_concurrent(AT_ONCE, async |(_, info)| {
        if let Ok(inspection) = inspected(app, info).await {
            app.samples().kept().add(&info.name, info.group.as_deref(), &inspection);
        }
    });
    read.await;
    app.samples().kept().forget(now / MINUTE);
    Ok(())
}

/// Returns the limiters to read, and whether it is because the last sample found something taken; these and then the last used
/// come first.
async fn chosen(app: &App) -> Result<Vec<(bool, LimiterInfo)>> {
    let busy: HashSet<_> = app.samples().kept().busy().collect();
    let (mut chosen, mut newest, mut cursor) = (Vec::new(), 0, None);
    loop {
        let page = app.paddlegate().limiter_page_async("", cursor.as_deref()).await?;
        for info in page.limiters.into_iter().filter(|info| !info.keyed && !info.limits.is_empty()) {
            newest = newest.max(info.last_used.0);
            let keep = busy.contains(&(info.name.as_str().into(), info.group.as_deref().map(Into::into)));
            chosen.push((keep, info));
        }
        // All of a long list would need much memory. One that is ahead says nothing of when others were used.
        let now = newest.min(app.now().0);
        chosen.retain(|(keep, info)| *keep || info.last_used.0.saturating_add(USED_WITHIN) > now);
        if chosen.len() > 2 * MAX_LIMITERS || page.cursor.is_none() {
            chosen.sort_by_key(|(keep, info)| std::cmp::Reverse((*keep, info.last_used)));
            chosen.truncate(MAX_LIMITERS);
        }
        cursor = page.cursor;
        if cursor.is_none() {
            return Ok(chosen);
        }
    }
}

async fn inspected(app: &App, info: &LimiterInfo) -> Result<Inspection> {
    match app.of_info(info)?.run_async(Operation::Inspect { page: Page { offset: 0, count: 0 } }).await? {
        Answer::Inspection(inspection) => Ok(*inspection),
        other => Err(paddlegate::Error::internal(format!("unexpected reply type: {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_minute_is_read_once_and_not_as_it_begins() {
        for process in 0..20 {
            let phase = phase(process);
            for now in (0..3 * MINUTE).step_by(777_777) {
                let next = now + u64::try_from(until_next(now, phase).as_micros()).expect("a time");
                assert_eq!(next % MINUTE, phase);
                assert!(next > now && next - now <= MINUTE);
                assert!(next % 10_000_000 >= 3_000_000 && next % 10_000_000 <= 8_000_000);
            }
        }
    }
}
