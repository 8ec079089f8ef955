//! The request for a job: what it must have, and the job that it makes.

use paddlegate::formats::ojs::RateLimit;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::fault::Fault;
use crate::job::{Job, JobLimit, State};
use crate::request::Members;
use crate::retry::Retry;
use crate::time;

/// The members that the server knows, besides its options; others are kept as they are.
const KNOWN: [&str; 8] = ["id", "type", "args", "meta", "options", "specversion", "state", "attempt"];

/// The options, which stand in `options` or in the job itself.
const OPTIONS: [&str; 10] = [
    "queue",
    "priority",
    "rate_limit",
    "tags",
    "retry",
    "delay_until",
    "scheduled_at",
    "expires_at",
    "timeout_ms",
    "visibility_timeout_ms",
];

/// Members that would decide when, or how often, a job runs, and that the server cannot obey.
const UNSUPPORTED: [&str; 5] = ["unique", "unique_policy", "workflow", "depends_on", "cron"];

/// The most bytes of a queue's or a type's name.
const MAX_NAME: usize = 255;

/// A job that is to be written, and the definition of its limits.
#[derive(Debug)]
pub(crate) struct Enqueue {
    pub(crate) job: Job,
    /// The name of the limiter and its definition.
    pub(crate) definition: Option<(String, String)>,
}

impl Enqueue {
    /// Reads a request. The job gets its number later, which is its place behind all others of its priority.
    pub(crate) fn read(body: &Map<String, Value>, now: u64) -> Result<Self, Fault> {
        let members = Members::of(body, "");
        let empty = Map::new();
        let inner = members.object("options")?.unwrap_or(&empty);
        let options = Members::of(inner, "options");
        options.only(&OPTIONS)?;
        if let Some(name) = UNSUPPORTED.iter().find(|name| members.get(name).is_some()) {
            return Err(Fault::unsupported(name, "is not supported"));
        }
        let kind =
            members.text("type")?.ok_or_else(|| Fault::invalid("type", "is missing; name the type of the job"))?;
        check_type(kind)?;
        let args = body.get("args").filter(|args| args.is_array());
        let args = args.ok_or_else(|| Fault::invalid("args", "must be a list, which may be empty"))?;
        let queue = options.text("queue")?.or(members.text("queue")?).unwrap_or("default");
        check_queue(queue)?;
        let priority = options.number("priority", -100, 100)?.or(members.number("priority", -100, 100)?).unwrap_or(0);
        let retry = options.object("retry")?.or(members.object("retry")?);
        let retry = retry.map(Retry::read).transpose()?.unwrap_or_default();
        let milliseconds = |name: &str| {
            let most = 10 * 365 * 86_400 * 1_000;
            let number = options.number(name, 1, most)?.or(members.number(name, 1, most)?);
            Ok::<_, Fault>(number.map(i64::unsigned_abs))
        };
        let time = |name: &str| {
            let text = options.text(name)?.or(members.text(name)?);
            text.map(|text| time::parse(name, text)).transpose()
        };
        let scheduled_at = match time("delay_until")? {
            None => time("scheduled_at")?,
            delay_until => delay_until,
        };
        let scheduled_at = scheduled_at.filter(|at| *at > now);
        let definition = definition(body, queue)?;
        let limit = definition
            .as_ref()
            .map(|(limiter, _, on_limit)| JobLimit { limiter: limiter.clone(), on_limit: (*on_limit).to_owned() });
        let is_known = |name: &str| KNOWN.contains(&name) || OPTIONS.contains(&name) || UNSUPPORTED.contains(&name);
        let more = body.iter().filter(|(name, _)| !is_known(name));
        let job = Job {
            id: id(members.text("id")?)?,
            kind: kind.to_owned(),
            args: args.clone(),
            queue: queue.to_owned(),
            priority,
            state: if scheduled_at.is_some() { State::Scheduled } else { State::Available },
            attempt: 0,
            retry,
            number: 0,
            created_at: now,
            enqueued_at: now,
            scheduled_at,
            expires_at: time("expires_at")?,
            started_at: None,
            visible_at: None,
            times_out_at: None,
            completed_at: None,
            cancelled_at: None,
            discarded_at: None,
            retry_delay_ms: None,
            timeout_ms: milliseconds("timeout_ms")?,
            visibility_ms: milliseconds("visibility_timeout_ms")?,
            limit,
            worker: None,
            held_by: None,
            held_since: None,
            is_dead_letter: false,
            error: None,
            errors: Vec::new(),
            result: None,
            meta: members.object("meta")?.cloned().map(Value::Object),
            tags: options.list("tags")?.or(members.list("tags")?).cloned().map(Value::Array),
            more: more.map(|(name, value)| (name.clone(), value.clone())).collect(),
        };
        Ok(Self { job, definition: definition.map(|(limiter, document, _)| (limiter, document)) })
    }
}

/// Returns the limiter of a job, its definition, and what becomes of refused jobs.
fn definition(body: &Map<String, Value>, queue: &str) -> Result<Option<(String, String, &'static str)>, Fault> {
    let options = body.get("options").and_then(Value::as_object);
    let inner = options.and_then(|options| options.get("rate_limit"));
    let outer = body.get("rate_limit");
    if inner.is_none() && outer.is_none() {
        return Ok(None);
    }
    let mut document = json!({"options": {"queue": queue}});
    if let Some(policy) = outer {
        document["rate_limit"] = policy.clone();
    }
    if let Some(policy) = inner {
        document["options"]["rate_limit"] = policy.clone();
    }
    let document = document.to_string();
    let policy = RateLimit::parse(&document)?;
    Ok(Some((policy.limiter_name(None)?, document, policy.on_limit.name())))
}

fn id(given: Option<&str>) -> Result<String, Fault> {
    let Some(given) = given else { return Ok(Uuid::now_v7().to_string()) };
    let uuid = Uuid::try_parse(given).ok().filter(|uuid| uuid.get_version_num() == 7 && uuid.to_string() == given);
    let uuid = uuid.ok_or_else(|| Fault::invalid("id", "must be a UUID of version 7 in lower case"))?;
    Ok(uuid.to_string())
}

fn check_type(kind: &str) -> Result<(), Fault> {
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_lowercase())
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte))
    };
    if kind.len() <= MAX_NAME && kind.split('.').all(is_part) {
        return Ok(());
    }
    let message =
        "must be words of a-z, 0-9, '_' and '-' with '.' between, each beginning with a letter, as in \"mail.send\"";
    Err(Fault::invalid("type", message))
}

/// Checks the name of a queue.
pub(crate) fn check_queue(queue: &str) -> Result<(), Fault> {
    let is_name = queue.len() <= MAX_NAME
        && queue.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
        && queue.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte));
    let message = "must begin with a-z or 0-9 and go on with these, '.' or '-'";
    if is_name { Ok(()) } else { Err(Fault::invalid("queue", message)) }
}
