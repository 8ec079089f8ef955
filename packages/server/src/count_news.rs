//! `CountNews`: tells those who listen what was refused and which leases were lost, by the statistics of all programs. While there
//! are any listeners, one task reads for all.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use futures_util::stream::{StreamExt, iter};
use paddlegate::{Label, LimiterInfo, Micros, Result, Statistics};
use serde::Serialize;
use tokio::sync::{Mutex, broadcast};
use tokio::time::{Instant, sleep};

use crate::app::App;
use crate::wall_clock::since_1970;

/// The least time between two looks at a limiter, and between two lists.
const PERIOD: Duration = Duration::from_secs(1);
const LIST_PERIOD: Duration = Duration::from_secs(2);

/// How many times as long the pauses are as the reading before them took, so that Redis has most of its time for others.
const TIMES: u32 = 10;

/// The maximum number of limiters that are looked at, those used last; ten times as many in memory.
const MAX_WATCHED: usize = 1_000;

/// The maximum number of limiters whose counts are remembered.
const MAX_KNOWN: usize = 10 * MAX_WATCHED;

/// How long after its last use a limiter is looked at; the list has the minute.
const RECENT: Micros = Micros(120_000_000);

/// How many limiters are read at the same time, over one connection.
const AT_ONCE: usize = 64;

/// The number of events that a slow reader may be behind; what is beyond it is not told.
const BEHIND: usize = 1_024;

/// What the statistics tell of a limiter since the last look.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CountEvent {
    /// Seconds since 1970 by the clock of the server.
    at: f64,
    pub(crate) limiter: String,
    group: Option<String>,
    keyed: bool,
    #[serde(flatten)]
    pub(crate) counted: Counted,
}

/// What was counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Counted {
    /// Refused calls, in all and by the label of the limit that refused.
    Refused { count: u64, limits: BTreeMap<String, u64> },
    /// Leases that ended without a release, and tickets of waiting calls that lapsed.
    LeaseLost { reclaimed: u64, lapsed: u64 },
}

/// The listeners of this server.
pub(crate) struct CountNews {
    /// Whether the task runs. It ends under this lock, so that no listener is without one.
    is_read: Mutex<bool>,
    sender: broadcast::Sender<CountEvent>,
}

/// What the task knows.
#[derive(Default)]
struct Watch {
    /// All limiters of the last list by their hashes: when they were last used, and when that was seen to change.
    listed: HashMap<u64, (Micros, Option<Instant>)>,
    watched: Vec<LimiterInfo>,
    known: HashMap<Identity, Known>,
}

/// The name, the group, and whether it has keys.
type Identity = (String, Option<String>, bool);

/// The counts of the last look.
#[derive(Clone, Default)]
struct Known {
    refused: u64,
    refused_by: Vec<(Label, u64)>,
    reclaimed: u64,
    lapsed: u64,
}

impl Default for CountNews {
    fn default() -> Self {
        Self { is_read: Mutex::default(), sender: broadcast::channel(BEHIND).0 }
    }
}

impl CountNews {
    /// Returns what is counted from now on.
    pub(crate) async fn listen(&self, app: &App) -> Result<broadcast::Receiver<CountEvent>> {
        let mut is_read = self.is_read.lock().await;
        if !*is_read {
            let mut watch = Watch::default();
            watch.list(app, true).await?;
            // What cannot be read now is looked at for the first time later.
            let _ = watch.look(app).await;
            tokio::spawn(read(app.clone(), watch));
            *is_read = true;
        }
        Ok(self.sender.subscribe())
    }
}

async fn read(app: App, mut watch: Watch) {
    let (news, stopping) = (app.count_news(), app.stopping());
    let (mut pause, mut list_at) = (PERIOD, Instant::now() + LIST_PERIOD);
    loop {
        tokio::select! {
            () = stopping.cancelled() => return,
            () = sleep(pause) => {}
        }
        {
            let mut is_read = news.is_read.lock().await;
            if news.sender.receiver_count() == 0 {
                *is_read = false;
                return;
            }
        }
        let begun = Instant::now();
        // A store that is away is read again later; the counts go on from the last look.
        if begun >= list_at && watch.list(&app, false).await.is_ok() {
            list_at = Instant::now() + LIST_PERIOD.max(begun.elapsed() * TIMES);
        }
        let looked = Instant::now();
        for event in watch.look(&app).await.unwrap_or_default() {
            let _ = news.sender.send(event);
        }
        pause = PERIOD.max(looked.elapsed() * TIMES);
    }
}

impl Watch {
    /// Lists the limiters, and watches those that were used last.
    async fn list(&mut self, app: &App, is_first: bool) -> Result<()> {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let page = app.paddlegate().limiter_page_async("", cursor.as_deref()).await?;
            all.extend(page.limiters);
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        if !is_first {
            // What was not in the list before had counted nothing.
            for info in all.iter().filter(|info| !self.listed.contains_key(&hash(info))) {
                self.known.entry(identity(info)).or_default();
            }
        }
        let now = Instant::now();
        let seen = |info: &LimiterInfo| match self.listed.get(&hash(info)) {
            Some((last_used, seen)) if *last_used == info.last_used => *seen,
            _ => (!is_first).then_some(now),
        };
        let mut all: Vec<_> = all.into_iter().map(|info| (seen(&info), info)).collect();
        self.listed = all.iter().map(|(seen, info)| (hash(info), (info.last_used, *seen))).collect();
        // Of the clocks of nodes, and of one that was set back, one tells nothing of another: what changes is in use.
        all.sort_by(|(seen, a), (other_seen, b)| {
            (other_seen, b.last_used).cmp(&(seen, a.last_used)).then_with(|| a.name.cmp(&b.name))
        });
        // In memory nothing tells of the last use, and a look costs little.
        all.truncate(if app.paddlegate().is_in_memory() { MAX_KNOWN } else { MAX_WATCHED });
        if !is_first {
            let newest = all.iter().map(|(_, info)| info.last_used).max().unwrap_or_default().min(app.now());
            all.retain(|(seen, info)| {
                seen.is_some_and(|seen| now - seen < Duration::from_micros(RECENT.0))
                    || info.last_used.0.saturating_add(RECENT.0) >= newest.0
            });
        }
        self.watched = all.into_iter().map(|(_, info)| info).collect();
        if self.known.len() > MAX_KNOWN {
            let watched: HashSet<Identity> = self.watched.iter().map(identity).collect();
            self.known.retain(|identity, _| watched.contains(identity));
        }
        Ok(())
    }

    /// Reads the counts, and returns what is new.
    async fn look(&mut self, app: &App) -> Result<Vec<CountEvent>> {
        let at = since_1970().as_secs_f64();
        let read = iter(self.watched.clone()).map(|info| counts(app, info)).buffered(AT_ONCE).collect::<Vec<_>>().await;
        let mut events = Vec::new();
        let mut failed = None;
        for each in read {
            let (info, counted) = match each {
                Ok(read) => read,
                Err(error) => {
                    failed = Some(error);
                    continue;
                }
            };
            let now = Known::from(counted);
            if let Some(before) = self.known.insert(identity(&info), now.clone()) {
                let event = |counted| CountEvent {
                    at,
                    limiter: info.name.clone(),
                    group: info.group.clone(),
                    keyed: info.keyed,
                    counted,
                };
                events.extend(now.since(&before).into_iter().map(event));
            }
        }
        // Of the others nothing is lost: the next look tells it.
        match failed {
            Some(error) if events.is_empty() => Err(error),
            _ => Ok(events),
        }
    }
}

impl Known {
    /// Returns what was counted since; statistics that were forgotten meanwhile begin anew.
    fn since(&self, before: &Self) -> Vec<Counted> {
        let mut events = Vec::new();
        let count = self.refused.saturating_sub(before.refused);
        if count > 0 {
            let of = |label: &Label| {
                before.refused_by.iter().find(|(other, _)| other == label).map_or(0, |(_, count)| *count)
            };
            let by = self.refused_by.iter().map(|(label, count)| (label.to_string(), count.saturating_sub(of(label))));
            events.push(Counted::Refused { count, limits: by.filter(|(_, count)| *count > 0).collect() });
        }
        let reclaimed = self.reclaimed.saturating_sub(before.reclaimed);
        let lapsed = self.lapsed.saturating_sub(before.lapsed);
        if reclaimed + lapsed > 0 {
            events.push(Counted::LeaseLost { reclaimed, lapsed });
        }
        events
    }
}

impl From<Statistics> for Known {
    fn from(counted: Statistics) -> Self {
        let Statistics { refused, refused_by, reclaimed, lapsed, .. } = counted;
        Self { refused, refused_by, reclaimed, lapsed }
    }
}

async fn counts(app: &App, info: LimiterInfo) -> Result<(LimiterInfo, Statistics)> {
    let counted = app.of_info(&info)?.counters_async().await?;
    Ok((info, counted))
}

fn identity(info: &LimiterInfo) -> Identity {
    (info.name.clone(), info.group.clone(), info.keyed)
}

fn hash(info: &LimiterInfo) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&info.name, &info.group, info.keyed).hash(&mut hasher);
    hasher.finish()
}
