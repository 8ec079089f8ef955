//! `Host`: the JavaScript object that builds results, so that one call passes a whole answer.

use paddlegate::{
    Calendar, Decision, Error, ErrorKind, History, HistoryEntry, Inspection, Kind, Learned, Limit, LimiterInfo, Micros,
    Mode, Reason, RuntimeState, Statistics,
};
use wasm_bindgen::prelude::*;

/// A value, or the JavaScript error to throw.
pub(crate) type Thrown<T> = Result<T, JsValue>;

#[wasm_bindgen]
extern "C" {
    /// Creates JavaScript objects for decisions and errors from flat values.
    #[derive(Clone)]
    pub type Host;

    #[wasm_bindgen(method)]
    #[allow(clippy::too_many_arguments)]
    fn decision(
        this: &Host,
        status: u8,
        limit: Option<f64>,
        remaining: Option<f64>,
        retry_after_us: Option<f64>,
        reset_after_us: Option<f64>,
        reason: Option<&str>,
        would_refuse: Option<&str>,
        label: Option<&str>,
        limiter: Option<&str>,
        at_us: f64,
        permit: Option<&str>,
        lease_us: Option<f64>,
        fencing_token: Option<f64>,
        ticket: Option<f64>,
        position: Option<f64>,
        ready_after_us: Option<f64>,
        limits: JsValue,
        is_lowered: bool,
    ) -> JsValue;

    /// `numbers`: for each limit its amount, its interval, what remains, its wait and its reset, -1 for unknown, and the place of
    /// its kind in `kinds`. `texts`: its label and its limiter.
    #[wasm_bindgen(method)]
    fn limits(this: &Host, numbers: &[f64], texts: Vec<String>) -> JsValue;

    /// `numbers`: for each label the position of the limit's kind in the list of kinds, its amount, interval and offset;
    /// then the ttl. Durations in microseconds. `calendars`: period, time zone and start of each quota.
    #[wasm_bindgen(method)]
    #[allow(clippy::too_many_arguments)]
    fn listed(
        this: &Host,
        name: &str,
        group: Option<&str>,
        keyed: bool,
        mode: &str,
        labels: Vec<String>,
        numbers: &[f64],
        calendars: Vec<String>,
    ) -> JsValue;

    /// `labels`: of the first `overrides` limits, which are overrides, and of the others, which are learned. `numbers`: as
    /// in `listed`, without the ttl.
    #[wasm_bindgen(method, js_name = runtimeState)]
    #[allow(clippy::too_many_arguments)]
    fn runtime_state(
        this: &Host,
        version: f64,
        in_use: bool,
        paused_for_us: Option<f64>,
        blocked_for_us: Option<f64>,
        mode: Option<&str>,
        expires_in_us: Option<f64>,
        overrides: usize,
        labels: Vec<String>,
        numbers: &[f64],
    ) -> JsValue;

    /// The numbers of the statistics, then the waits, then the refusals by label.
    #[wasm_bindgen(method)]
    fn statistics(this: &Host, numbers: &[f64], labels: Vec<String>) -> JsValue;

    /// For each entry its start in seconds, granted, refused, waited, units.
    #[wasm_bindgen(method)]
    fn history(this: &Host, minutes: &[f64], hours: &[f64]) -> JsValue;

    /// `numbers` and `texts` in the order in which `bind.mjs` reads them; -1 stands for nothing.
    #[wasm_bindgen(method)]
    fn inspection(this: &Host, numbers: &[f64], texts: Vec<String>) -> JsValue;

    #[wasm_bindgen(method)]
    #[allow(clippy::too_many_arguments)]
    fn learned(
        this: &Host,
        settlement: Option<&str>,
        learned: Vec<String>,
        ignored: Vec<String>,
        cost: Option<f64>,
        pause_us: Option<f64>,
        scope: Option<&str>,
        bucket: Option<&str>,
    ) -> JsValue;

    #[wasm_bindgen(method, js_name = overLimit)]
    fn over_limit(this: &Host, message: &str) -> JsValue;

    #[wasm_bindgen(method)]
    fn invalid(this: &Host, message: &str, argument: Option<&str>) -> JsValue;

    #[wasm_bindgen(method)]
    fn unavailable(this: &Host, message: &str, may_have_counted: bool) -> JsValue;

    #[wasm_bindgen(method)]
    fn data(this: &Host, message: &str) -> JsValue;

    #[wasm_bindgen(method)]
    fn internal(this: &Host, message: &str) -> JsValue;
}

impl Host {
    pub(crate) fn decided(&self, decision: &Decision) -> JsValue {
        let micros = |span: Option<Micros>| span.map(|span| number(span.0));
        self.decision(
            decision.status as u8,
            decision.limit.map(number),
            decision.remaining.map(number),
            micros(decision.retry_after),
            micros(decision.reset_after),
            decision.reason.map(Reason::name),
            decision.would_refuse.map(Reason::name),
            decision.label.as_deref(),
            decision.limiter.as_deref(),
            number(decision.at.0),
            decision.permit.as_deref(),
            micros(decision.lease),
            decision.fencing_token.map(number),
            decision.ticket.map(|ticket| number(ticket.number)),
            decision.ticket.map(|ticket| number(ticket.position)),
            micros(decision.ticket.and_then(|ticket| ticket.ready_after)),
            if decision.limits.is_empty() { JsValue::UNDEFINED } else { self.limits_of(decision) },
            decision.is_lowered,
        )
    }

    fn limits_of(&self, decision: &Decision) -> JsValue {
        let span = |span: Option<Micros>| span.map_or(-1.0, |span| number(span.0));
        let (mut numbers, mut texts) = (Vec::new(), Vec::new());
        for it in &decision.limits {
            numbers.extend([number(it.limit), number(it.interval.0), number(it.remaining)]);
            numbers.extend([span(it.retry_after), span(it.reset_after), kind_code(it.kind)]);
            texts.extend([it.label.to_string(), it.limiter.clone().unwrap_or_default()]);
        }
        self.limits(&numbers, texts)
    }

    pub(crate) fn limiter(&self, listed: &LimiterInfo) -> JsValue {
        let (labels, mut numbers) = flat(listed.limits.iter());
        numbers.push(number(listed.ttl.0));
        let calendars = listed.limits.iter().filter_map(Limit::calendar);
        let texts = |it: &Calendar| [it.per().name().to_owned(), it.timezone().to_owned(), it.starts()];
        let calendars = calendars.flat_map(texts).collect();
        let (group, mode) = (listed.group.as_deref(), listed.mode.name());
        self.listed(&listed.name, group, listed.keyed, mode, labels, &numbers, calendars)
    }

    pub(crate) fn in_force(&self, runtime_state: &RuntimeState) -> JsValue {
        let micros = |span: Option<Micros>| span.map(|span| number(span.0));
        let (labels, numbers) = flat(runtime_state.overrides.iter().chain(&runtime_state.learned));
        self.runtime_state(
            number(runtime_state.version),
            runtime_state.in_use,
            micros(runtime_state.paused_for),
            micros(runtime_state.blocked_for),
            runtime_state.mode.map(Mode::name),
            micros(runtime_state.expires_after),
            runtime_state.overrides.len(),
            labels,
            &numbers,
        )
    }

    pub(crate) fn counted(&self, it: &Statistics) -> JsValue {
        let mut numbers = it.values().map(number).to_vec();
        numbers.extend([it.shadow_refused, it.near_limit, it.estimated_units].map(number));
        for times in [&it.waits, &it.holds] {
            numbers.extend(times.counts().map(number));
        }
        numbers.extend(it.refused_by.iter().map(|(_, count)| number(*count)));
        self.statistics(&numbers, it.refused_by.iter().map(|(label, _)| label.to_string()).collect())
    }

    pub(crate) fn recorded(&self, it: &History) -> JsValue {
        let numbers = |it: &HistoryEntry| {
            [
                number(it.start.0 / 1_000_000),
                number(it.granted),
                number(it.refused),
                number(it.waited),
                number(it.units),
            ]
        };
        let [minutes, hours] = [&it.minutes, &it.hours].map(|list| list.iter().flat_map(numbers).collect::<Vec<_>>());
        self.history(&minutes, &hours)
    }

    pub(crate) fn inspected(&self, it: Inspection) -> JsValue {
        let known = |value: Option<u64>| value.map_or(-1.0, number);
        let span = |span: Option<Micros>| known(span.map(|span| span.0));
        let mut texts = vec![it.mode.name().to_owned()];
        let mut numbers = vec![number(it.at.0), span(it.paused_for), span(it.blocked_for)];
        numbers.extend([it.lease_count, it.ticket_count, it.limits.len() as u64].map(number));
        for limit in &it.limits {
            texts.extend([limit.label.to_string(), limit.source.name().to_owned()]);
            numbers.extend([kind_code(limit.kind), number(limit.limit), number(limit.interval.0)]);
            numbers.extend([number(limit.taken), number(limit.remaining)]);
            numbers.extend([span(limit.next_after), number(limit.reset_after.0)]);
        }
        numbers.push(number(it.leases.len() as u64));
        for lease in it.leases {
            texts.push(lease.id);
            numbers.extend([span(lease.held_for), number(lease.ends_in.0), known(lease.fencing_token)]);
        }
        numbers.push(number(it.tickets.len() as u64));
        for ticket in it.tickets {
            texts.extend([ticket.id, ticket.share.unwrap_or_default()]);
            numbers.extend([f64::from(ticket.priority), number(ticket.waited.0), f64::from(u8::from(ticket.ready))]);
        }
        self.inspection(&numbers, texts)
    }

    pub(crate) fn report(&self, learned: Learned) -> JsValue {
        self.learned(
            learned.settlement.map(paddlegate::Settlement::name),
            learned.learned,
            learned.ignored,
            learned.cost.map(number),
            learned.pause.map(|pause| number(pause.0)),
            learned.scope,
            learned.bucket.as_deref(),
        )
    }

    /// Converts an error to the JavaScript error to throw.
    #[allow(clippy::needless_pass_by_value)] // for `map_err`, which passes it by value
    pub(crate) fn error(&self, error: Error) -> JsValue {
        let message = error.message();
        match error.kind() {
            ErrorKind::OverLimit => self.over_limit(message),
            ErrorKind::Invalid => self.invalid(message, error.argument()),
            ErrorKind::Unavailable => self.unavailable(message, error.may_have_counted()),
            ErrorKind::Data => self.data(message),
            ErrorKind::Internal => self.internal(message),
        }
    }
}

/// Returns the place of its name in `kinds`.
fn kind_code(kind: Kind) -> f64 {
    number(Kind::ALL.iter().position(|other| *other == kind).unwrap_or_default() as u64)
}

/// Returns the labels of limits, and for each four numbers.
fn flat<'a>(limits: impl Iterator<Item = &'a Limit>) -> (Vec<String>, Vec<f64>) {
    let numbers = |limit: &Limit| {
        [kind_code(limit.kind()), number(limit.amount()), number(limit.interval().0), number(limit.offset().0)]
    };
    let (labels, numbers): (_, Vec<_>) = limits.map(|limit| (limit.label().to_string(), numbers(limit))).unzip();
    (labels, numbers.concat())
}

/// Converts a value of core; all are below 2^53, where a JavaScript number is exact.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn number(value: u64) -> f64 {
    value as f64
}
