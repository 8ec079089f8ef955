//! Computes the amount in use, the wait and the remaining units of one limit.

use num_rational::Ratio;

use super::super::units::Units;
use super::calendar::period;

/// What a meter holds.
pub type Level = Ratio<i128>;

/// A wait without an end.
pub const FOREVER: i128 = 1 << 52;

/// The largest numerator of a full meter, as the documentation says.
const MAX_LEVEL: i128 = 1 << 51;

/// One limit as the user writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub kind: &'static str,
    pub label: String,
    /// The limit or the capacity; one start of a throttle.
    pub amount: i128,
    /// The same of the policy, in whose place this limit may rule.
    pub own: i128,
    /// What the upstream says, zero if it says nothing.
    pub learned: i128,
    /// The starts of a throttle per interval.
    pub starts: i128,
    pub interval: i128,
    /// Of a quota the number of its calendar, of a meter 1 for a refund of undrained units.
    pub offset: i128,
}

/// The amount in use of a limit.
#[derive(Clone, Debug)]
pub enum Amount {
    /// For a meter: units, including fractions.
    Level(Level),
    /// For a bucket or a quota: units in the current interval.
    Count(i128),
    /// For a window: the time of each unit.
    Times(Vec<i128>),
}

/// The answer to `acquire` and `peek`. `None` is "no limit" or "no time known".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub allowed: bool,
    pub limit: Option<i128>,
    pub remaining: Option<i128>,
    pub retry_after: Option<i128>,
    pub reset_after: Option<i128>,
    pub reason: Option<&'static str>,
    pub label: Option<String>,
    pub at: i128,
}

impl Rule {
    pub fn new(kind: &'static str, amount: i128, interval: i128, offset: i128) -> Self {
        let (label, starts) = (kind.to_owned(), amount);
        let amount = if kind == "throttle" { 1 } else { amount };
        Self { kind, label, amount, own: amount, learned: 0, starts, interval, offset }
    }

    /// Level per microsecond, or starts of a throttle.
    pub fn rate(&self) -> Level {
        if self.kind == "throttle" {
            return Ratio::new(self.starts, self.interval);
        }
        // The interval that the lower rate takes also gives that rate.
        let rate = largest_below(Ratio::new(self.amount, self.interval), MAX_LEVEL / self.amount);
        let interval = (Level::from(self.amount) / rate).floor();
        largest_below(Level::from(self.amount) / interval, MAX_LEVEL / self.amount)
    }

    /// Returns the difference by which a correction changes a meter, of a charge that was taken some time ago.
    pub fn refunded(&self, difference: i128, charged: i128, ago: i128) -> i128 {
        if self.offset != 1 || !matches!(self.kind, "leaky" | "points") {
            return difference;
        }
        let drained = (self.rate() * ago).ceil().to_integer();
        difference.max(-(charged.min(self.most()) - drained).max(0))
    }

    /// Returns the most units that can be taken: up to one whole limit of debt, also while another limit rules in the place of
    /// the policy's. A meter counts up to twice its largest numerator.
    pub fn most(&self) -> i128 {
        self.countable(2 * self.largest())
    }

    /// Returns what stays taken of what was taken under another rule: all while the policy is the same, and as much as fits when
    /// another policy comes. What a policy can never have was taken while another limit ruled.
    pub fn kept(&self, taken: Level, under: &Self) -> Level {
        let is_of_other =
            taken > (2 * under.own).into() || self.is_meter() && under.own >= 2 * MAX_LEVEL / under.scale();
        let is_same_policy = under.own == self.own || is_of_other;
        taken.min(if is_same_policy { self.most() } else { self.countable(self.largest()) }.into())
    }

    fn largest(&self) -> i128 {
        self.amount.max(self.own).max(self.learned)
    }

    fn countable(&self, units: i128) -> i128 {
        if self.is_meter() { units.min(2 * MAX_LEVEL / self.scale()) } else { units }
    }

    fn is_meter(&self) -> bool {
        matches!(self.kind, "leaky" | "points" | "throttle")
    }

    /// Returns the fraction of a unit in which the library counts.
    pub fn scale(&self) -> i128 {
        if self.kind == "throttle" { self.interval } else { *self.rate().denom() }
    }

    /// Returns the units that a throttle earned within the last microsecond, which count for its next start.
    pub fn early(&self, level: Level) -> Level {
        if self.kind == "throttle" && level < 0.into() && -level < self.rate() { level } else { 0.into() }
    }

    /// Returns whether it is the same limit, perhaps with other numbers.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.label) == (other.kind, &other.label)
    }

    /// Returns the number of the bucket's interval that contains `time`, or the start of the quota's period.
    pub fn window_of(&self, time: i128) -> i128 {
        if self.kind == "quota" {
            return period(self.offset, time).0;
        }
        (time + self.offset).div_euclid(self.interval)
    }

    /// Returns the times that have not expired.
    pub fn live(&self, times: &[i128], now: i128) -> Vec<i128> {
        times.iter().copied().filter(|time| time + self.interval > now).collect()
    }

    /// Returns the microseconds until the next interval or period starts.
    fn rest(&self, now: i128) -> i128 {
        if self.kind == "quota" {
            return period(self.offset, now).1 - now;
        }
        (self.window_of(now) + 1) * self.interval - self.offset - now
    }
}

impl Amount {
    pub fn nothing(rule: &Rule) -> Self {
        match rule.kind {
            "bucket" | "quota" => Self::Count(0),
            "window" => Self::Times(Vec::new()),
            _ => Self::Level(0.into()),
        }
    }
}

/// Returns the units that a call charges to each limit: what the cost says of its label, or one. A throttle counts starts.
pub fn charges(rules: &[Rule], cost: &Units, is_call: bool) -> Vec<i128> {
    let units = |rule: &Rule| if rule.kind == "throttle" { i128::from(is_call) } else { cost.of(&rule.label).into() };
    rules.iter().map(units).collect()
}

/// Returns the microseconds until `cost` fits; 0 when it fits now.
pub fn wait(rule: &Rule, taken: &Amount, cost: i128, now: i128) -> i128 {
    match taken {
        _ if cost > rule.amount => FOREVER,
        Amount::Level(level) => {
            let over = level + cost - rule.amount;
            (over / rule.rate()).ceil().to_integer().max(0)
        }
        Amount::Count(count) if count + cost <= rule.amount => 0,
        Amount::Count(_) => rule.rest(now),
        Amount::Times(times) => {
            // The cost can start to fit only now or when a unit expires.
            let mut moments: Vec<i128> = times.iter().map(|time| time + rule.interval).collect();
            moments.push(now);
            moments.sort_unstable();
            let fits = |moment: &&i128| length(&rule.live(times, **moment)) + cost <= rule.amount;
            moments.iter().find(fits).expect("a cost that fits when all has expired") - now
        }
    }
}

/// Returns the remaining units, and the microseconds until the whole limit is available.
pub fn left(rule: &Rule, taken: &Amount, now: i128) -> (i128, i128) {
    let (left, reset) = match taken {
        Amount::Level(level) => {
            ((-level + rule.amount).floor().to_integer(), (level / rule.rate()).ceil().to_integer())
        }
        Amount::Count(0) => (rule.amount, 0),
        Amount::Count(count) => (rule.amount - count, rule.rest(now)),
        Amount::Times(times) => {
            (rule.amount - length(times), times.iter().max().map_or(0, |newest| newest + rule.interval - now))
        }
    };
    (left.max(0), reset)
}

/// Returns a grant with the values of the limit with the fewest remaining units; the first one on a tie.
pub fn describe(rules: &[Rule], amounts: &[Amount], now: i128) -> Verdict {
    let mut verdict: Option<Verdict> = None;
    for (rule, amount) in rules.iter().zip(amounts) {
        let (remaining, reset) = left(rule, amount, now);
        if verdict.as_ref().is_none_or(|verdict| verdict.remaining > Some(remaining)) {
            verdict = Some(Verdict {
                limit: Some(rule.amount),
                remaining: Some(remaining),
                reset_after: Some(reset),
                label: Some(rule.label.clone()),
                at: now,
                ..Verdict::unlimited()
            });
        }
    }
    verdict.expect("a limit")
}

impl Verdict {
    pub fn unlimited() -> Self {
        Self {
            allowed: true,
            limit: None,
            remaining: None,
            retry_after: Some(0),
            reset_after: Some(0),
            reason: None,
            label: None,
            at: 0,
        }
    }

    pub fn paused(label: &str) -> Self {
        Self {
            allowed: false,
            limit: Some(0),
            remaining: Some(0),
            retry_after: None,
            reset_after: None,
            reason: Some("paused"),
            label: Some(label.to_owned()),
            at: 0,
        }
    }

    /// Returns the verdict in the form that the vectors compare.
    pub fn text(&self) -> String {
        let number = |number: Option<i128>| number.map_or_else(|| "null".to_owned(), |number| number.to_string());
        format!(
            r#"{{"allowed":{},"limit":{},"remaining":{},"retry_after_us":{},"reset_after_us":{},"reason":{},"label":{},"at_us":{}}}"#,
            self.allowed,
            number(self.limit),
            number(self.remaining),
            number(self.retry_after),
            number(self.reset_after),
            self.reason.map_or_else(|| "null".to_owned(), |reason| format!("{reason:?}")),
            self.label.as_ref().map_or_else(|| "null".to_owned(), |label| format!("{label:?}")),
            self.at,
        )
    }
}

/// Returns the largest fraction of at most `ratio` whose denominator is at most `most`, from the convergents of its
/// continued fraction: those with an even index are below it.
fn largest_below(ratio: Level, most: i128) -> Level {
    let (mut before, mut convergent, mut rest, mut is_below) = ((0, 1), (1, 0), ratio, true);
    loop {
        let whole = rest.floor().to_integer();
        let next = (whole * convergent.0 + before.0, whole * convergent.1 + before.1);
        if next.1 > most {
            let steps = (most - before.1) / convergent.1;
            let between = (steps * convergent.0 + before.0, steps * convergent.1 + before.1);
            let (numerator, denominator) = if is_below { between } else { convergent };
            return Ratio::new(numerator, denominator);
        }
        (before, convergent, is_below) = (convergent, next, !is_below);
        if rest.is_integer() {
            return ratio;
        }
        rest = (rest - whole).recip();
    }
}

fn length(times: &[i128]) -> i128 {
    i128::try_from(times.len()).expect("a length")
}
