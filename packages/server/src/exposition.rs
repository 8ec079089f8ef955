//! `Exposition`: numbers in the text format of Prometheus.

use std::fmt::{Display, Write};

use paddlegate::{Inspection, LimiterInfo, Micros, RuntimeState, Statistics, Waits};

use crate::app::App;
use crate::histogram::{BOUNDS, Counted};
use crate::json::seconds;

/// A counter: its name, its description, and where its value is.
type Counter = (&'static str, &'static str, fn(&Statistics) -> u64);

/// What is exported of one limiter.
pub(crate) struct Measured {
    pub(crate) info: LimiterInfo,
    pub(crate) statistics: Statistics,
    /// `None` of a keyed limiter, which has no state of its own.
    pub(crate) inspection: Option<Inspection>,
    pub(crate) state: RuntimeState,
}

/// What one server alone has counted.
pub(crate) struct Own {
    store: Counted,
    requests: Counted,
    errors: u64,
    wakeups: u64,
}

impl Own {
    pub(crate) fn of(app: &App) -> Self {
        Self {
            store: app.store_times().counted(),
            requests: app.request_times().counted(),
            errors: app.store_times().errors(),
            wakeups: app.wakeups(),
        }
    }
}

/// The text of an export.
#[derive(Default)]
pub(crate) struct Exposition {
    text: String,
}

impl Exposition {
    /// Writes all metrics.
    pub(crate) fn of(all: &[Measured]) -> Self {
        let mut this = Self::default();
        this.head("up", "gauge", "Whether the store could be read.");
        this.sample("up", "", 1);
        this.counters(all);
        this.gauges(all);
        this.waits(all);
        this
    }

    /// Writes that the store cannot be read.
    pub(crate) fn down() -> Self {
        let mut this = Self::default();
        this.head("up", "gauge", "Whether the store could be read.");
        this.sample("up", "", 0);
        this
    }

    /// Returns the text, with what this server alone has counted.
    pub(crate) fn text(mut self, own: &Own) -> String {
        self.histogram("store_seconds", "How long the decisions of this server took in the store.", &own.store);
        let help = "How long this server took for requests of verbs, with the store, without those held for a limit.";
        self.histogram("request_seconds", help, &own.requests);
        self.head("server_errors_total", "counter", "Decisions of this server that failed.");
        self.sample("server_errors_total", "", own.errors);
        self.head("server_wakeups_total", "counter", "Wake-ups that reached a request held by this server.");
        self.sample("server_wakeups_total", "", own.wakeups);
        self.text
    }

    fn histogram(&mut self, name: &str, help: &str, counted: &Counted) {
        self.head(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        let mut sum = 0;
        for (bound, count) in BOUNDS.iter().zip(counted.counts) {
            sum += count;
            self.sample(&bucket, &format!("{{le=\"{}\"}}", seconds(Micros(*bound))), sum);
        }
        sum += counted.counts[BOUNDS.len()];
        self.sample(&bucket, "{le=\"+Inf\"}", sum);
        self.sample(&format!("{name}_sum"), "", seconds(Micros(counted.sum)));
        self.sample(&format!("{name}_count"), "", sum);
    }

    fn counters(&mut self, all: &[Measured]) {
        self.head("requests_total", "counter", "Calls by what became of them; waited ones were granted after a wait.");
        for one in all {
            let counted = &one.statistics;
            let results = [
                ("granted", counted.granted.saturating_sub(counted.waited)),
                ("waited", counted.waited),
                ("refused", counted.refused),
                ("shadow_refused", counted.shadow_refused),
            ];
            for (result, count) in results {
                self.sample("requests_total", &one.labels(&[("result", result)]), count);
            }
        }
        self.head("refused_total", "counter", "Refused calls by the limit that refused them.");
        for one in all {
            for (label, count) in &one.statistics.refused_by {
                self.sample("refused_total", &one.labels(&[("limit", label)]), count);
            }
        }
        self.head("units_total", "counter", "Charged units, after corrections; a correction may lower it.");
        for one in all {
            self.sample("units_total", &one.labels(&[("phase", "actual")]), one.statistics.units);
        }
        let counters: [Counter; 4] = [
            ("reclaimed_total", "Leases that ended without a release.", |counted| counted.reclaimed),
            ("lapsed_total", "Tickets that were not claimed in time.", |counted| counted.lapsed),
            ("overages_total", "Leases that were released after their end.", |counted| counted.overages),
            ("corrections_total", "Settled permits.", |counted| counted.corrections),
        ];
        for (name, help, value) in counters {
            self.head(name, "counter", help);
            for one in all {
                self.sample(name, &one.labels(&[]), value(&one.statistics));
            }
        }
        self.head("lease_seconds_total", "counter", "The time for which released leases were held.");
        for one in all {
            self.sample("lease_seconds_total", &one.labels(&[]), seconds(one.statistics.held_time));
        }
    }

    fn gauges(&mut self, all: &[Measured]) {
        self.head("limit", "gauge", "The amount that rules.");
        for one in all {
            for limit in one.inspection.iter().flat_map(|inspection| &inspection.limits) {
                self.sample("limit", &one.labels(&[("limit", &limit.label)]), limit.limit);
            }
        }
        self.head("remaining", "gauge", "The units that are left.");
        for one in all {
            for limit in one.inspection.iter().flat_map(|inspection| &inspection.limits) {
                self.sample("remaining", &one.labels(&[("limit", &limit.label)]), limit.remaining);
            }
        }
        // The leases and tickets of a keyed limiter are not counted.
        let looked = || all.iter().filter_map(|one| Some((one, one.inspection.as_ref()?)));
        self.head("waiting", "gauge", "Tickets in the queue.");
        for (one, inspection) in looked() {
            self.sample("waiting", &one.labels(&[]), inspection.ticket_count);
        }
        self.head("active_leases", "gauge", "Leases that are held.");
        for (one, inspection) in looked() {
            self.sample("active_leases", &one.labels(&[]), inspection.lease_count);
        }
        self.head("paused", "gauge", "Whether a pause or a block is in force.");
        for (one, inspection) in looked() {
            let is_paused = inspection.paused_for.is_some() || inspection.blocked_for.is_some();
            self.sample("paused", &one.labels(&[]), u8::from(is_paused));
        }
        self.head("override_info", "gauge", "Overrides in force; the amount is a label.");
        for one in all {
            for limit in &one.state.overrides {
                let amount = limit.amount().to_string();
                self.sample("override_info", &one.labels(&[("limit", limit.label()), ("amount", &amount)]), 1);
            }
        }
    }

    fn waits(&mut self, all: &[Measured]) {
        self.head("wait_seconds", "histogram", "How long the grants that waited have waited.");
        for one in all {
            let counts = one.statistics.waits.counts();
            let mut sum = 0_u64;
            for (i, count) in counts.iter().enumerate().take(Waits::BUCKETS - 1) {
                sum += count;
                // The first count is of waits below 1 ms, the next below 2 ms, and so on.
                let bound = seconds(Micros(1_000 << i)).to_string();
                self.sample("wait_seconds_bucket", &one.labels(&[("le", &bound)]), sum);
            }
            sum += counts[Waits::BUCKETS - 1];
            self.sample("wait_seconds_bucket", &one.labels(&[("le", "+Inf")]), sum);
            self.sample("wait_seconds_sum", &one.labels(&[]), seconds(one.statistics.wait_time));
            self.sample("wait_seconds_count", &one.labels(&[]), sum);
        }
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.text, "# HELP paddlegate_{name} {help}\n# TYPE paddlegate_{name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = writeln!(self.text, "paddlegate_{name}{labels} {value}");
    }
}

impl Measured {
    /// Returns the labels. A group and keys are told, because such a limiter is another one of the same name.
    fn labels(&self, more: &[(&str, &str)]) -> String {
        let keyed = self.info.keyed.then_some(("keyed", "true"));
        let group = self.info.group.as_deref().map(|group| ("group", group));
        let all = [("limiter", self.info.name.as_str())].into_iter().chain(group).chain(keyed);
        let shown = all.chain(more.iter().copied()).map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
        format!("{{{}}}", shown.collect::<Vec<_>>().join(","))
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}
