//! `FAMILIES`: what is exported, whatever the format.

use paddlegate::{Durations, Micros};
use paddlegate_ojs::KeyMetrics;

use super::{Measured, Own};
use crate::histogram::{BOUNDS, Counted};

/// One metric of each limiter, of the server, or of each key of Open Job Spec.
pub(crate) struct Family {
    /// The name without `paddlegate_`, or that of a key's metric in the text.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) kind: Kind,
    pub(crate) values: Values,
}

/// How values of a metric are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// Where values come from: what has labels passes each to a function.
#[derive(Clone, Copy)]
pub(crate) enum Values {
    Server(fn(&Own) -> Value<'_>),
    Limiter(fn(&Measured, Add<'_>)),
    Key(fn(&KeyMetrics, Add<'_>)),
}

/// Takes the labels besides those of the limiter, and a value.
pub(crate) type Add<'a> = &'a mut dyn FnMut(&[(&str, &str)], Value<'_>);

/// One value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Whole(u64),
    Times(Times<'a>),
}

/// A histogram of times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times<'a> {
    /// The upper bounds in microseconds.
    pub(crate) bounds: &'static [u64],
    /// One more than bounds, each without the shorter ones; empty for nothing but zeros.
    pub(crate) counts: &'a [u64],
    pub(crate) sum: Micros,
}

/// The metrics of the server and of limiters.
const FAMILIES: &[Family] = &[
    own("up", "Whether the store could be read.", Kind::Gauge, |own| Value::Whole(own.is_up.into())),
    counter(
        "requests_total",
        "Calls by what became of them; waited ones were granted after a wait, degraded ones decided without the store.",
        |one, add| {
            let counted = &one.counted;
            let results = [
                ("granted", counted.granted.saturating_sub(counted.waited)),
                ("waited", counted.waited),
                ("refused", counted.refused),
                ("shadow_refused", counted.shadow_refused),
                ("degraded", counted.degraded),
                ("error", counted.errors),
            ];
            for (result, count) in results {
                add(&[("result", result)], Value::Whole(count));
            }
        },
    ),
    counter("refused_total", "Refused calls by the limit that refused them.", |one, add| {
        one.counted.refused_by.iter().for_each(|(label, count)| add(&[("limit", label)], Value::Whole(*count)));
    }),
    counter("near_limit_total", "Granted calls that left at most a fifth of a limit.", |one, add| {
        add(&[], Value::Whole(one.counted.near_limit));
    }),
    counter(
        "units_total",
        "Charged units: estimated as they were granted, actual after corrections, which may lower it.",
        |one, add| {
            add(&[("phase", "estimated")], Value::Whole(one.counted.estimated_units));
            add(&[("phase", "actual")], Value::Whole(one.counted.units));
        },
    ),
    counter("reclaimed_total", "Leases that ended without a release.", |one, add| {
        add(&[], Value::Whole(one.counted.reclaimed));
    }),
    counter("lapsed_total", "Tickets that were not claimed in time.", |one, add| {
        add(&[], Value::Whole(one.counted.lapsed));
    }),
    counter("overages_total", "Leases that were released after their end.", |one, add| {
        add(&[], Value::Whole(one.counted.overages));
    }),
    counter("corrections_total", "Settled permits.", |one, add| add(&[], Value::Whole(one.counted.corrections))),
    gauge("limit", "The amount that rules.", |one, add| {
        let limits = one.state.iter().flat_map(|state| &state.limits);
        limits.for_each(|(label, limit, _)| add(&[("limit", label)], Value::Whole(*limit)));
    }),
    gauge("remaining", "The units that are left.", |one, add| {
        let limits = one.state.iter().flat_map(|state| &state.limits);
        limits.for_each(|(label, _, remaining)| add(&[("limit", label)], Value::Whole(*remaining)));
    }),
    // The leases and tickets of a keyed limiter are not counted.
    gauge("waiting", "Tickets in the queue.", |one, add| {
        one.state.iter().for_each(|state| add(&[], Value::Whole(state.waiting)));
    }),
    gauge("active_leases", "Leases that are held.", |one, add| {
        one.state.iter().for_each(|state| add(&[], Value::Whole(state.leases)));
    }),
    gauge("paused", "Whether a pause or a block is in force.", |one, add| {
        one.state.iter().for_each(|state| add(&[], Value::Whole(state.is_paused.into())));
    }),
    gauge("override_info", "Overrides in force; the amount is a label.", |one, add| {
        for (label, amount) in one.state.iter().flat_map(|state| &state.overrides) {
            add(&[("limit", label), ("amount", &amount.to_string())], Value::Whole(1));
        }
    }),
    of_limiter("wait_seconds", "How long the grants that waited have waited.", Kind::Histogram, |one, add| {
        add(&[], durations(one.counted.waits.as_deref(), one.counted.wait_time));
    }),
    of_limiter("lease_seconds", "For how long released leases were held.", Kind::Histogram, |one, add| {
        add(&[], durations(one.counted.holds.as_deref(), one.counted.held_time));
    }),
    own("store_seconds", "How long the decisions of this server took in the store.", Kind::Histogram, |own| {
        times(&own.store)
    }),
    own(
        "request_seconds",
        "How long this server took for requests of verbs, with the store, without those held for a limit.",
        Kind::Histogram,
        |own| times(&own.requests),
    ),
    own("server_errors_total", "Decisions of this server that failed.", Kind::Counter, |own| Value::Whole(own.errors)),
    own("server_wakeups_total", "Wake-ups that reached a request held by this server.", Kind::Counter, |own| {
        Value::Whole(own.wakeups)
    }),
];

/// The metrics that Open Job Spec names, of each key.
const OF_KEYS: &[Family] = &[
    of_key("ojs_rate_limit_active", "Jobs that have a slot of the key.", Kind::Gauge, |key, add| {
        add(&[], Value::Whole(key.active));
    }),
    of_key("ojs_rate_limit_waiting", "Jobs of the key that wait.", Kind::Gauge, |key, add| {
        add(&[], Value::Whole(key.waiting));
    }),
    of_key("ojs_rate_limit_exceeded_total", "How often a limit began to be exceeded.", Kind::Counter, |key, add| {
        key.exceeded.iter().for_each(|(strategy, count)| add(&[("strategy", strategy)], Value::Whole(*count)));
    }),
    of_key(
        "ojs_rate_limit_wait_duration_seconds",
        "How long a limit held jobs up until their start.",
        Kind::Histogram,
        |key, add| {
            let counts = if key.waits.iter().any(|count| *count > 0) { &key.waits[..] } else { &[] };
            add(&[], Value::Times(Times { bounds: &Durations::BOUNDS, counts, sum: Micros(key.waited) }));
        },
    ),
];

/// Returns all metrics, in the order of their export.
pub(crate) fn families() -> impl Iterator<Item = &'static Family> {
    FAMILIES.iter().chain(OF_KEYS)
}

const fn own(name: &'static str, help: &'static str, kind: Kind, value: fn(&Own) -> Value<'_>) -> Family {
    Family { name, help, kind, values: Values::Server(value) }
}

const fn of_limiter(name: &'static str, help: &'static str, kind: Kind, values: fn(&Measured, Add<'_>)) -> Family {
    Family { name, help, kind, values: Values::Limiter(values) }
}

const fn of_key(name: &'static str, help: &'static str, kind: Kind, values: fn(&KeyMetrics, Add<'_>)) -> Family {
    Family { name, help, kind, values: Values::Key(values) }
}

const fn counter(name: &'static str, help: &'static str, values: fn(&Measured, Add<'_>)) -> Family {
    of_limiter(name, help, Kind::Counter, values)
}

const fn gauge(name: &'static str, help: &'static str, values: fn(&Measured, Add<'_>)) -> Family {
    of_limiter(name, help, Kind::Gauge, values)
}

fn durations(counts: Option<&[u64; Durations::BUCKETS]>, sum: Micros) -> Value<'_> {
    Value::Times(Times { bounds: &Durations::BOUNDS, counts: counts.map_or(&[], |counts| &counts[..]), sum })
}

const fn times(counted: &Counted) -> Value<'_> {
    Value::Times(Times { bounds: &BOUNDS, counts: &counted.counts, sum: Micros(counted.sum) })
}

impl Family {
    /// Returns what stands before the name in the text.
    pub(crate) const fn prefix(&self) -> &'static str {
        if matches!(self.values, Values::Key(_)) { "" } else { "paddlegate_" }
    }

    /// Returns the name in messages of OTLP.
    pub(crate) fn otlp_name(&self) -> String {
        let name = format!("{}{}", self.prefix(), self.name);
        let of_key = name
            .strip_prefix("ojs_rate_limit_")
            .map(|rest| format!("ojs.rate_limit.{}", rest.trim_end_matches("_seconds")));
        of_key.unwrap_or(name)
    }

    /// Returns whether its sums may fall without being counted anew.
    pub(crate) fn may_fall(&self) -> bool {
        self.name == "units_total"
    }
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Measured {
    /// Passes the labels of the limiter. A group and keys are told, because such a limiter is another one of the same name.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let keyed = self.keyed.then_some(("keyed", "true"));
        let group = self.group.as_deref().map(|group| ("group", group));
        [("limiter", &*self.name)].into_iter().chain(group).chain(keyed)
    }
}
