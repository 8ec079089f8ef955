//! Replays test vectors on a limiter of the library.

use paddlegate::upstream::{LimiterUpdate, Response};
use paddlegate::{
    AdminCommand, CLAIM_TIMEOUT, Calendar, Deadline, Decision, Durations, Error, ErrorKind, Extension, Feedback,
    History, HistoryEntry, Kind, Label, Learned, Limit, LimitOverride, Limiter, MAX_PAUSE, Micros, Mode, Operation,
    Paddlegate, Page, Policy, Provider, Refund, Request, RuntimeState, Statistics, Status, StreamUsage, Wait,
};
use serde_json::Value;

use super::inspection::{inspection_text, tickets_text};
use super::units::Units;
use super::vectors::{Answer, Entry, Step, Subject};
use super::{calls, set_clock};

pub struct Named {
    store: Paddlegate,
    name: String,
    limiter: Limiter,
}

impl Named {
    pub fn new(store: &Paddlegate, name: String, limits: &[Value]) -> Self {
        let limiter = store.limiter(&name, policy(limits).expect("a policy")).expect("a limiter");
        Self { store: store.clone(), name, limiter }
    }
}

impl Named {
    /// Replays steps on a limiter that was made before.
    pub fn of(store: &Paddlegate, limiter: Limiter) -> Self {
        Self { store: store.clone(), name: limiter.name().to_owned(), limiter }
    }
}

impl Subject for Named {
    fn limits(&mut self, limits: &[Value]) {
        *self = Self::new(&self.store, self.name.clone(), limits);
    }

    fn acquire(&mut self, step: &Step) -> Result<Answer, String> {
        set_clock(step.at);
        answer(with_request(step, |request| self.limiter.try_acquire(request)))
    }

    fn peek(&mut self, step: &Step) -> Result<Answer, String> {
        set_clock(step.at);
        answer(with_request(step, |request| self.limiter.peek(request)))
    }

    fn debit(&mut self, step: &Step) -> Result<Answer, String> {
        set_clock(step.at);
        answer(step.cost.as_ref().expect("cost").with(|cost| self.limiter.debit(cost)))
    }

    fn refund(&mut self, step: &Step) -> Result<Answer, String> {
        set_clock(step.at);
        answer(step.cost.as_ref().expect("units").with(|units| self.limiter.refund(units)))
    }

    fn correct(&mut self, permit: &str, actual: &Units, at: u64) -> Result<String, String> {
        set_clock(at);
        let settlement = actual.with(|actual| self.limiter.correct(permit, actual));
        settlement.map(|settlement| settlement.name().to_owned()).map_err(|error| argument(&error))
    }

    fn extend(&mut self, permit: &str, units: &Units, at: u64) -> Result<Answer, String> {
        set_clock(at);
        match units.with(|units| self.limiter.extend(permit, units)) {
            Ok(Extension::Decided(decision)) => answer(Ok(decision)),
            Ok(Extension::Closed(settlement)) => Ok(Answer { text: settlement.name().to_owned(), permit: None }),
            Err(error) => Err(argument(&error)),
        }
    }

    fn reset(&mut self) {
        self.limiter.reset().expect("a reset");
    }

    fn enter(&mut self, entry: &Entry<'_>) -> Result<Answer, String> {
        let wait = entry.max_wait.map(|max_wait| Wait {
            claim_timeout: entry.claim_timeout.map_or(CLAIM_TIMEOUT, Micros),
            position: entry.position,
            ..Wait::up_to(Micros(max_wait))
        });
        set_clock(entry.step.at);
        let Step { priority, share, weight, .. } = &entry.step;
        let decision = with_request(&entry.step, |request| {
            self.limiter.acquire_with_id(request.in_queue(*priority, share.as_deref(), *weight)?, entry.id, wait)
        });
        let decision = decision.map_err(|error| argument(&error))?;
        Ok(Answer { text: entered(&decision), permit: decision.permit })
    }

    fn release(&mut self, permit: &str, at: u64) -> String {
        calls::release(&self.limiter, permit, at).name().to_owned()
    }

    fn renew(&mut self, permit: &str, at: u64) -> String {
        number(calls::renew(&self.limiter, permit, at).map(|lease| lease.0))
    }

    fn cancel(&mut self, id: &str, gave_up: bool, at: u64) -> String {
        calls::settlement(&self.limiter, Operation::Cancel { id, gave_up }, at).name().to_owned()
    }

    fn ready(&mut self, count: u64, at: u64) -> Result<String, String> {
        set_clock(at);
        let ids = self.limiter.ready(count).map_err(|error| argument(&error))?;
        Ok(serde_json::to_string(&ids).expect("a list"))
    }

    fn statistics(&mut self, at: u64) -> Result<String, String> {
        set_clock(at);
        let statistics = self.limiter.statistics().map_err(|error| argument(&error))?;
        let fields = Statistics::FIELDS.iter().zip(statistics.values()).map(|(name, value)| {
            let unit = if name.ends_with("_time") { "_us" } else { "" };
            format!("\"{name}{unit}\":{value}")
        });
        let mut fields: Vec<String> = fields.collect();
        let shadow_refused = statistics.shadow_refused;
        fields.extend((shadow_refused > 0).then(|| format!(r#""shadow_refused":{shadow_refused}"#)));
        let refused_by = statistics.refused_by.iter().map(|(label, count)| format!(r#""{label}":{count}"#));
        let refused_by = refused_by.collect::<Vec<_>>().join(",");
        fields.extend((!refused_by.is_empty()).then(|| format!(r#""refused_by":{{{refused_by}}}"#)));
        let times = |name: &str, times: &Durations| {
            let counts = times.counts().map(|count| count.to_string());
            let last = counts.iter().rposition(|count| count != "0");
            last.map(|last| format!(r#""{name}":[{}]"#, counts[..=last].join(",")))
        };
        fields.extend(times("waits", &statistics.waits));
        let Statistics { near_limit, units, estimated_units, .. } = statistics;
        fields.extend((near_limit > 0).then(|| format!(r#""near_limit":{near_limit}"#)));
        fields.extend((estimated_units != units).then(|| format!(r#""estimated_units":{estimated_units}"#)));
        fields.extend(times("holds", &statistics.holds));
        Ok(format!("{{{}}}", fields.join(",")))
    }

    fn history(&mut self, at: u64) -> Result<String, String> {
        set_clock(at);
        let history = self.limiter.history().map_err(|error| argument(&error))?;
        assert_eq!((history.minutes.len(), history.hours.len()), (History::MINUTES, History::HOURS));
        let counted = |entry: &&HistoryEntry| **entry != HistoryEntry { start: entry.start, ..HistoryEntry::default() };
        let shown = |HistoryEntry { start, granted, refused, waited, units }: &HistoryEntry| {
            format!(
                r#"{{"start_us":{start},"granted":{granted},"refused":{refused},"waited":{waited},"units":{units}}}"#,
                start = start.0
            )
        };
        let list = |entries: &[HistoryEntry]| entries.iter().filter(counted).map(shown).collect::<Vec<_>>().join(",");
        Ok(format!(r#"{{"minutes":[{}],"hours":[{}]}}"#, list(&history.minutes), list(&history.hours)))
    }

    fn admin(&mut self, step: &Value, at: u64) -> Result<String, String> {
        let given = |key: &str| step[key].as_u64();
        let deadline = |after: &str, at: &str| {
            given(after).map(|span| Deadline::After(Micros(span))).or(given(at).map(|time| Deadline::At(Micros(time))))
        };
        let label = step["label"].as_str();
        let run = || {
            let changes: Vec<LimitOverride>;
            let control = match step["do"].as_str() {
                Some("pause") => AdminCommand::Pause(deadline("for_us", "until_us").expect("a moment")),
                Some("block") => AdminCommand::Block(deadline("for_us", "until_us").expect("a moment")),
                Some("resume") => AdminCommand::Resume,
                Some("mode") => {
                    let mode = step["mode"].as_str().map(Mode::from_name).transpose()?;
                    changes = vec![mode.map_or(LimitOverride::RemoveMode, LimitOverride::Mode)];
                    AdminCommand::Override { changes: &changes, expires: deadline("expires_in_us", "expires_at_us") }
                }
                Some("override") => {
                    let interval = given("interval_us").map(Micros);
                    changes = self.limiter.override_changes(label, given("amount"), interval)?;
                    AdminCommand::Override { changes: &changes, expires: deadline("expires_in_us", "expires_at_us") }
                }
                Some("overrides") => {
                    let limits = step["limits"].as_array().expect("limits").iter().map(limit);
                    changes = limits.map(|limit| limit.map(LimitOverride::Set)).collect::<paddlegate::Result<_>>()?;
                    AdminCommand::Override { changes: &changes, expires: deadline("expires_in_us", "expires_at_us") }
                }
                Some("restore") => {
                    let label = label.map(Label::new).transpose()?;
                    changes = vec![label.map_or(LimitOverride::RemoveAll, LimitOverride::Remove)];
                    AdminCommand::Override { changes: &changes, expires: None }
                }
                _ => AdminCommand::Get,
            };
            set_clock(at);
            self.limiter.admin(control)
        };
        run().map(|runtime_state| runtime_state_text(&runtime_state)).map_err(|error| argument(&error))
    }

    fn inspect(&mut self, step: &Value, at: u64) -> Result<String, String> {
        let page = Page::of(step["offset"].as_u64(), step["count"].as_u64());
        set_clock(at);
        let text = match step["do"].as_str() {
            Some("queue") => self.limiter.queue(page).map(|tickets| tickets_text(&tickets)),
            _ => self.limiter.inspect(page).map(|inspection| inspection_text(&inspection)),
        };
        text.map_err(|error| argument(&error))
    }

    fn report(&mut self, step: &Value, permit: Option<&str>, at: u64) -> String {
        let given = |key: &str| step[key].as_u64();
        let update = if step["do"] == "learn" {
            let headers: Vec<(&str, &str)> = step["headers"]
                .as_array()
                .map(|headers| headers.iter().map(|header| (header[0].as_str().unwrap(), header[1].as_str().unwrap())))
                .into_iter()
                .flatten()
                .collect();
            let text = step["body"].as_str().unwrap_or_default();
            let found = given("chunk_bytes").map(|length| {
                let mut usage = StreamUsage::default();
                for chunk in text.as_bytes().chunks(usize::try_from(length).expect("a length")) {
                    usage.feed(chunk);
                }
                assert_eq!(step["unread"], serde_json::json!(usage.ignored()), "{text}");
                usage.body()
            });
            let response = Response {
                status: given("status").map(|status| u16::try_from(status).expect("a status")),
                headers: &headers,
                body: found.as_deref().unwrap_or(text),
            };
            let provider = Provider::from_name(step["provider"].as_str().unwrap_or("auto")).expect("a provider");
            let feedback = Feedback::read(provider, &response, MAX_PAUSE);
            let feedback = feedback.with_default_pause(Micros(given("default_pause_us").unwrap_or_default()));
            feedback.update_for(self.limiter.policy(), MAX_PAUSE, given("max_learned"))
        } else {
            let label = step["label"].as_str();
            let reset = given("reset_in_us").map(|span| Deadline::After(Micros(span)));
            let reset = reset.or(given("reset_at_us").map(|at| Deadline::At(Micros(at))));
            let interval = given("interval_us").map(Micros);
            let budgets = self.limiter.budget_updates(label, given("remaining"), given("amount"), interval, reset);
            LimiterUpdate { budgets: budgets.expect("budgets"), ..LimiterUpdate::default() }
        };
        set_clock(at);
        learned_text(&self.limiter.apply_report(update.report(permit)).expect("what was learned"))
    }
}

/// Returns the result of a report in the form that the vectors compare.
fn learned_text(learned: &Learned) -> String {
    let words = |words: &[String]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(",");
    let settlement = learned.settlement.map_or_else(|| "null".to_owned(), |name| format!("\"{}\"", name.name()));
    let (learned, ignored) = (words(&learned.learned), words(&learned.ignored));
    format!(r#"{{"settlement":{settlement},"learned":[{learned}],"ignored":[{ignored}]}}"#)
}

/// Returns the runtime state in the form that the vectors compare.
fn runtime_state_text(runtime_state: &RuntimeState) -> String {
    let limits = |limits: &[Limit]| {
        let limits = limits.iter().map(|limit| {
            format!(
                r#"{{"label":"{}","kind":"{}","amount":{},"interval_us":{}}}"#,
                limit.label(),
                limit.kind().name(),
                limit.amount(),
                limit.interval().0
            )
        });
        limits.collect::<Vec<_>>().join(",")
    };
    let blocked = runtime_state.blocked_for.map(|span| format!(r#","blocked_for_us":{}"#, span.0));
    let mode = runtime_state.mode.map(|mode| format!(r#","mode":"{}""#, mode.name()));
    format!(
        r#"{{"version":{},"paused_for_us":{},"overrides":[{}],"expires_in_us":{},"learned":[{}]{}{}}}"#,
        runtime_state.version,
        number(runtime_state.paused_for.map(|micros| micros.0)),
        limits(&runtime_state.overrides),
        number(runtime_state.expires_after.map(|micros| micros.0)),
        limits(&runtime_state.learned),
        blocked.unwrap_or_default(),
        mode.unwrap_or_default(),
    )
}

/// Returns the policy that a vector file describes.
pub fn policy(limits: &[Value]) -> paddlegate::Result<Policy> {
    Policy::new(limits.iter().map(limit).collect::<paddlegate::Result<Vec<_>>>()?)
}

fn limit(limit: &Value) -> paddlegate::Result<Limit> {
    let number = |key: &str| limit[key].as_u64().unwrap_or(0);
    let kind = Kind::from_name(limit["kind"].as_str().expect("kind"))?;
    let amount = match limit["amount"].as_str() {
        Some("$2^53") => 1 << 53,
        _ if kind == Kind::Throttle && limit["amount"].is_null() => 1,
        _ => number("amount"),
    };
    let made = if kind == Kind::Quota {
        let text = |key: &str| limit[key].as_str();
        Limit::quota(amount, Calendar::parse(text("per").unwrap_or_default(), text("timezone"), text("starts"))?)?
    } else {
        Limit::of_kind(kind, amount, Micros(number("interval_us")), Micros(number("offset_us")))?
    };
    let made = limit["refund"].as_str().map_or(Ok(made.clone()), |name| made.with_refund(Refund::from_name(name)?))?;
    limit["label"].as_str().map_or(Ok(made.clone()), |label| made.labelled(label))
}

/// Calls `run` with the request of a step.
pub fn with_request<T>(step: &Step, run: impl FnOnce(Request<'_>) -> T) -> T {
    let settle_within = step.settle_within.map(Micros);
    match (&step.cost, &step.estimate) {
        (Some(cost), None) => cost.with(|cost| run(Request { settle_within, ..Request::cost(cost) })),
        (None, Some(estimate)) => {
            estimate.with(|estimate| run(Request { settle_within, ..Request::estimate(estimate) }))
        }
        (None, None) => run(Request { settle_within, ..Request::default() }),
        (Some(cost), Some(estimate)) => {
            cost.with(|cost| estimate.with(|estimate| run(Request { cost: Some(cost), ..Request::estimate(estimate) })))
        }
    }
}

fn answer(decision: paddlegate::Result<Decision>) -> Result<Answer, String> {
    let decision = decision.map_err(|error| argument(&error))?;
    Ok(Answer { text: text(&decision), permit: decision.permit })
}

fn argument(error: &Error) -> String {
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    error.argument().expect("an argument").to_owned()
}

/// Returns a decision in the form that the vectors compare.
pub fn text(decision: &Decision) -> String {
    format!(r#"{{"allowed":{},{}{}}}"#, decision.allowed(), numbers(decision), more(decision))
}

/// Returns whether the estimate was lowered, why a call in shadow would have been refused, and the limiter.
fn more(decision: &Decision) -> String {
    let lowered = if decision.is_lowered { r#","is_lowered":true"# } else { "" };
    let reason = decision.would_refuse.map(|reason| format!(r#","would_refuse":"{}""#, reason.name()));
    lowered.to_owned() + &reason.unwrap_or_default() + &limiter(decision)
}

/// Returns the name of the limiter that a decision of several describes, which begins behind the last dot.
fn limiter(decision: &Decision) -> String {
    let name = decision.limiter.as_deref().and_then(|name| name.rsplit('.').next());
    name.map_or_else(String::new, |name| format!(r#","limiter":"{name}""#))
}

/// Returns the decision on a call with an id in the form that the vectors compare.
fn entered(decision: &Decision) -> String {
    let ticket = decision.ticket;
    format!(
        r#"{{"status":"{}",{},"lease_us":{},"fence":{},"number":{},"position":{},"ready_after_us":{}{}}}"#,
        if decision.status == Status::NoTicket { "gone" } else { decision.status.name() },
        numbers(decision),
        number(decision.lease.map(|micros| micros.0)),
        number(decision.fencing_token),
        number(ticket.map(|ticket| ticket.number)),
        number(ticket.map(|ticket| ticket.position)),
        number(ticket.and_then(|ticket| ticket.ready_after).map(|micros| micros.0)),
        more(decision),
    )
}

fn numbers(decision: &Decision) -> String {
    format!(
        r#""limit":{},"remaining":{},"retry_after_us":{},"reset_after_us":{},"reason":{},"label":{},"at_us":{}"#,
        number(decision.limit),
        number(decision.remaining),
        number(decision.retry_after.map(|micros| micros.0)),
        number(decision.reset_after.map(|micros| micros.0)),
        decision.reason.map_or_else(|| "null".to_owned(), |kind| format!("\"{}\"", kind.name())),
        decision.label.as_ref().map_or_else(|| "null".to_owned(), |label| format!("\"{label}\"")),
        decision.at.0,
    )
}

fn number(number: Option<u64>) -> String {
    number.map_or_else(|| "null".to_owned(), |number| number.to_string())
}
