//! `RedisStore`: the jobs that all servers on one Redis share.

use paddlegate::store::redis::{Guard, GuardInput, Guarded};
use paddlegate::{Answer, Limiter, Operation, TestClock};
use redis::aio::ConnectionManager;
use redis::{AsyncCommands, Script, pipe};

use super::{Assigned, Change, Place, Question, Record};
use crate::definition::Definition;
use crate::event::{Event, MAX_EVENTS};
use crate::fault::Fault;

/// The beginning of all keys. The version is that of the layout.
const PREFIX: &str = "pgojs1:{ojs}:";

/// The most jobs of a place that are read because their time has come.
const MAX_OVER: isize = 100;

const BEFORE: &str = include_str!("before.lua");
const AFTER: &str = include_str!("after.lua");
const FORGET: &str = include_str!("forget.lua");
const DEFINE: &str = include_str!("define.lua");
const ENQUEUE: &str = include_str!("enqueue.lua");
const PAGE: &str = include_str!("page.lua");

/// Jobs in Redis.
pub(crate) struct RedisStore {
    connection: ConnectionManager,
    clock: Option<TestClock>,
    guard: Guard,
    script: Script,
    forget: Script,
    enqueue: Script,
    page: Script,
    define: Script,
}

/// The words of a change for its script.
struct Words {
    keys: [String; 5],
    arguments: Vec<String>,
}

impl RedisStore {
    pub(crate) fn new(connection: ConnectionManager, clock: Option<TestClock>) -> Self {
        Self {
            connection,
            clock,
            guard: Guard::new(BEFORE, AFTER),
            script: unless_changed(AFTER),
            forget: unless_changed(FORGET),
            enqueue: Script::new(ENQUEUE),
            page: Script::new(PAGE),
            define: Script::new(DEFINE),
        }
    }

    fn connection(&self) -> ConnectionManager {
        self.connection.clone()
    }

    pub(super) async fn now(&self) -> Result<u64, Fault> {
        if let Some(clock) = &self.clock {
            return Ok(clock.now().0);
        }
        let (seconds, micros): (u64, u64) = redis::cmd("TIME").query_async(&mut self.connection()).await?;
        Ok(seconds * 1_000_000 + micros)
    }

    pub(super) async fn next_number(&self, count: u64) -> Result<u64, Fault> {
        let last: u64 = self.connection().incr(key("number"), count).await?;
        Ok(last + 1 - count)
    }

    pub(super) async fn enqueue(&self, changes: &[Change]) -> Result<Option<usize>, Fault> {
        let mut call = self.enqueue.key(key("jobs"));
        call.key(key("events")).key(key("waiting")).arg(MAX_EVENTS);
        for change in changes {
            let Words { keys: [.., place], arguments } = Words::of(change)?;
            call.key(place).arg(arguments);
        }
        Ok(call.invoke_async(&mut self.connection()).await?)
    }

    pub(super) async fn get(&self, id: &str) -> Result<Option<Record>, Fault> {
        let text: Option<String> = self.connection().hget(key("jobs"), id).await?;
        text.map(|text| record(&text)).transpose()
    }

    pub(super) async fn apply(&self, change: &Change) -> Result<bool, Fault> {
        let words = Words::of(change)?;
        let mut call = self.script.prepare_invoke();
        for key in &words.keys {
            call.key(key);
        }
        for argument in &words.arguments {
            call.arg(argument);
        }
        let stopped: Option<String> = call.invoke_async(&mut self.connection()).await?;
        Ok(stopped.is_none())
    }

    pub(super) async fn assign(&self, change: &Change, question: Question<'_>) -> Result<Assigned, Fault> {
        match self.guarded(change, question.limiter, question.acquire()).await? {
            Guarded::Stopped(_) => Ok(Assigned::Changed),
            Guarded::Answered(answer) => match *answer {
                Answer::Decision(decision) => Ok(Assigned::Decided(Box::new(decision))),
                _ => Err(Fault::internal("an acquisition is a decision")),
            },
        }
    }

    pub(super) async fn settle(&self, change: &Change, question: Question<'_>) -> Result<bool, Fault> {
        let settled = self.guarded(change, question.limiter, question.cancel()).await?;
        Ok(matches!(settled, Guarded::Answered(_)))
    }

    async fn guarded(&self, change: &Change, limiter: &Limiter, operation: Operation<'_>) -> Result<Guarded, Fault> {
        let words = Words::of(change)?;
        let keys: Vec<&[u8]> = words.keys.iter().map(String::as_bytes).collect();
        let arguments: Vec<&[u8]> = words.arguments.iter().map(String::as_bytes).collect();
        let input = GuardInput { keys: &keys, arguments: &arguments };
        Ok(limiter.run_guarded(&mut self.connection(), operation, (self.guard, input)).await?)
    }

    pub(super) async fn page(&self, place: &Place, offset: usize, count: usize) -> Result<Vec<Record>, Fault> {
        let mut call = self.page.key(key("jobs"));
        call.key(key(&place.name())).arg(offset).arg(offset.saturating_add(count) - 1);
        let texts: Vec<String> = call.invoke_async(&mut self.connection()).await?;
        let records = texts.iter().map(|text| record(text)).collect::<Result<Vec<_>, _>>()?;
        Ok(records.into_iter().filter(|record| Place::of(&record.job).0 == *place).collect())
    }

    pub(super) async fn over(&self, place: &Place, now: u64) -> Result<Vec<Record>, Fault> {
        let ids: Vec<String> = self.connection().zrangebyscore_limit(key(&place.name()), 0, now, 0, MAX_OVER).await?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let texts: Vec<Option<String>> = self.connection().hmget(key("jobs"), ids).await?;
        let records = texts.iter().flatten().map(|text| record(text)).collect::<Result<Vec<_>, _>>()?;
        // One may have left the place since.
        let is_there = |record: &Record| {
            let (at, rank) = Place::of(&record.job);
            at == *place && rank <= now
        };
        Ok(records.into_iter().filter(is_there).collect())
    }

    pub(super) async fn forget(&self, record: &Record) -> Result<bool, Fault> {
        let (place, _) = Place::of(&record.job);
        let mut call = self.forget.key(key("jobs"));
        call.key(key(&place.name())).arg(&record.job.id).arg(record.version);
        let stopped: Option<String> = call.invoke_async(&mut self.connection()).await?;
        Ok(stopped.is_none())
    }

    pub(super) async fn define(&self, limiter: &str, definition: &Definition) -> Result<(), Fault> {
        self.write_definition(limiter, definition, "").await
    }

    pub(super) async fn add_strategies(&self, limiter: &str, definition: &Definition) -> Result<(), Fault> {
        self.write_definition(limiter, definition, "1").await
    }

    async fn write_definition(&self, limiter: &str, definition: &Definition, keeps_policy: &str) -> Result<(), Fault> {
        let mut call = self.define.key(key("limits"));
        call.arg(limiter).arg(json(definition)?).arg(keeps_policy);
        Ok(call.invoke_async(&mut self.connection()).await?)
    }

    pub(super) async fn definitions(&self, limiters: &[&str]) -> Result<Vec<Option<Definition>>, Fault> {
        if limiters.is_empty() {
            return Ok(Vec::new());
        }
        let texts: Vec<Option<String>> = self.connection().hmget(key("limits"), limiters).await?;
        let read = |text: Option<String>| text.map(|text| serde_json::from_str(&text)).transpose();
        texts.into_iter().map(read).collect::<Result<_, _>>().map_err(|error| damaged(&error))
    }

    pub(super) async fn limiters(&self) -> Result<Vec<String>, Fault> {
        let mut names: Vec<String> = self.connection().hkeys(key("limits")).await?;
        names.sort();
        Ok(names)
    }

    pub(super) async fn waiting(&self, limiter: &str) -> Result<u64, Fault> {
        let waiting: Option<i64> = self.connection().hget(key("waiting"), limiter).await?;
        Ok(u64::try_from(waiting.unwrap_or_default()).unwrap_or_default())
    }

    pub(super) async fn note_exceeded(&self, limiter: &str, strategy: Option<&str>) -> Result<bool, Fault> {
        let mut both = pipe();
        both.atomic().hget(key("exceeded"), limiter);
        match strategy {
            Some(strategy) => both.hset(key("exceeded"), limiter, strategy).ignore(),
            None => both.hdel(key("exceeded"), limiter).ignore(),
        };
        let (before,): (Option<String>,) = both.query_async(&mut self.connection()).await?;
        Ok(before.as_deref() != strategy)
    }

    pub(super) async fn count(&self, fields: &[(String, u64)]) -> Result<(), Fault> {
        let mut all = pipe();
        for (field, more) in fields {
            all.hincr(key("counted"), field, *more).ignore();
        }
        Ok(all.query_async(&mut self.connection()).await?)
    }

    pub(super) async fn counted(&self) -> Result<Vec<(String, u64)>, Fault> {
        Ok(self.connection().hgetall(key("counted")).await?)
    }

    pub(super) async fn write_event(&self, event: &Event) -> Result<(), Fault> {
        let most = redis::streams::StreamMaxlen::Approx(MAX_EVENTS);
        let text = json(event)?;
        Ok(self.connection().xadd_maxlen(key("events"), most, "*", &[("event", text)]).await?)
    }

    pub(super) async fn events(&self) -> Result<Vec<Event>, Fault> {
        // The stream may hold more events than are returned; those left out are the oldest.
        let range: redis::streams::StreamRangeReply =
            self.connection().xrevrange_count(key("events"), "+", "-", MAX_EVENTS).await?;
        let texts = range.ids.iter().rev().filter_map(|entry| entry.get::<String>("event"));
        texts.map(|text| serde_json::from_str(&text).map_err(|error| damaged(&error))).collect()
    }
}

impl Words {
    fn of(change: &Change) -> Result<Self, Fault> {
        let (to, rank) = Place::of(&change.after);
        let from = change.before.as_ref().map(|record| Place::of(&record.job).0);
        let (limiter, by) = change.waiting().unwrap_or_default();
        let job = format!("{} {}", change.version() + 1, json(&change.after)?);
        let mut arguments = vec![
            change.after.id.clone(),
            change.version().to_string(),
            job,
            if from.is_some() { "1" } else { "" }.to_owned(),
            rank.to_string(),
            limiter.to_owned(),
            by.to_string(),
            MAX_EVENTS.to_string(),
        ];
        arguments.extend(change.events.iter().map(json).collect::<Result<Vec<_>, _>>()?);
        let places = [from.as_ref().unwrap_or(&to), &to].map(|place| key(&place.name()));
        let [from, to] = places;
        Ok(Self { keys: [key("jobs"), key("events"), key("waiting"), from, to], arguments })
    }
}

/// Returns a script that stops when another request has changed the job.
fn unless_changed(script: &str) -> Script {
    Script::new(&format!(
        "local function before()\n{BEFORE}\nend\nlocal stopped = before()\nif stopped then return stopped end\n{script}"
    ))
}

fn key(name: &str) -> String {
    format!("{PREFIX}{name}")
}

fn record(text: &str) -> Result<Record, Fault> {
    let (version, job) = text.split_once(' ').unwrap_or_default();
    let version = version.parse().map_err(|_| Fault::internal("a stored job was not written by this server"))?;
    Ok(Record { version, job: serde_json::from_str(job).map_err(|error| damaged(&error))? })
}

fn json(value: &impl serde::Serialize) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|error| damaged(&error))
}

fn damaged(error: &serde_json::Error) -> Fault {
    Fault::internal(format!("a stored value was not written by this server: {error}"))
}
