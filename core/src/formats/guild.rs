//! `guild`: limits in the notation of guild-queues, a job queue for Discord.

use serde_json::Value;

use super::field::Field;
use super::{Definition, room};
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::micros::{MAX_SPAN, Micros};
use crate::client::limiter::MAX_NAME;
use crate::model::limit::{Limit, MAX_UNITS};
use crate::model::on_limit::OnLimit;
use crate::model::policy::Policy;

/// A number of calls per time window, for each group of a queue.
///
/// # Examples
///
/// ```
/// # use paddlegate::formats::guild::Reservoir;
/// let roles = Reservoir::parse(r#"{ "name": "discord", "reservoir": 10, "timeWindow": 10000 }"#)?;
/// assert_eq!(roles.in_group("81384788765712384").limiter_name(), "guild/discord:81384788765712384");
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservoir {
    /// `name`: the name of the queue.
    pub name: String,
    /// `reservoir`: calls per window, from 1 to 10^12.
    pub reservoir: u64,
    /// `timeWindow`, `interval` or `intervalMs`: milliseconds in the document, at most ten years.
    pub interval: Micros,
    /// `group`: the entity with its own limit, such as a Discord server. Default `default`; must not contain a colon.
    pub group: String,
}

impl Reservoir {
    /// Parses a document; errors start with the JSON path of the fault.
    pub fn parse(text: &str) -> Result<Self> {
        Self::read(&json::parse(text)?)
    }

    pub(crate) fn read(value: &Value) -> Result<Self> {
        let field = Field::root(value);
        field.object(&["name", "reservoir", "timeWindow", "interval", "intervalMs", "group"])?;
        let reservoir = positive(&field.need("reservoir")?, MAX_UNITS, "calls")?;
        let mut intervals = ["timeWindow", "interval", "intervalMs"].into_iter().filter(|name| field.has(name));
        let Some(interval) = intervals.next() else {
            return Err(field.fault("has no timeWindow; add one in milliseconds"));
        };
        if let Some(second) = intervals.next() {
            return Err(field.need(second)?.fault("is given twice; keep timeWindow"));
        }
        let interval = positive(&field.need(interval)?, MAX_SPAN.0 / 1_000, "ms")?;
        let group = match field.get("group") {
            Some(group) => text(&group)?,
            None => "default".to_owned(),
        };
        let read = Self { name: text(&field.need("name")?)?, reservoir, interval: Micros(interval * 1_000), group };
        read.check().map_err(|error| field.fault(error.message()))?;
        Ok(read)
    }

    /// Returns a copy for another group.
    #[must_use]
    pub fn in_group(&self, group: &str) -> Self {
        Self { group: group.to_owned(), ..self.clone() }
    }

    /// Returns `guild/name:group`.
    pub fn limiter_name(&self) -> String {
        format!("guild/{}:{}", self.name, self.group)
    }

    /// Returns one limiter: a bucket for this group. A job over the limit is rescheduled. Queues of one name share the
    /// calls of a group, whatever numbers each has.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{Kind, Micros, OnLimit};
    /// # use paddlegate::formats::guild::Reservoir;
    /// let mail = Reservoir::parse(r#"{ "name": "mail", "reservoir": 10, "timeWindow": 10000 }"#)?;
    /// let definitions = mail.definitions()?;
    /// let limit = &definitions[0].policy.limits()[0];
    /// assert_eq!((limit.kind(), limit.amount(), limit.interval()), (Kind::Bucket, 10, Micros(10_000_000)));
    /// assert_eq!(definitions[0].on_limit, OnLimit::Reschedule);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn definitions(&self) -> Result<Vec<Definition>> {
        self.check()?;
        Ok(vec![Definition {
            name: self.limiter_name(),
            policy: Policy::new([Limit::bucket(self.reservoir, self.interval.duration())?])?,
            wait_timeout: None,
            ttl: None,
            group: None,
            keyed: false,
            statistics: true,
            on_limit: OnLimit::Reschedule,
        }])
    }

    /// Queue names may contain colons, groups must not, so two queues and groups never share a limiter.
    fn check(&self) -> Result<()> {
        if self.name.is_empty() || self.group.is_empty() || self.limiter_name().len() > MAX_NAME {
            return Err(Error::invalid(
                "name",
                format!("name and group must not be empty, and have at most {} bytes together", room("guild/:")),
            ));
        }
        if self.group.contains(':') {
            return Err(Error::invalid("group", "must not contain a colon, which ends the name of the queue"));
        }
        Ok(())
    }
}

/// Returns the time at which a job may run with `waiting` jobs of its group before it, by the formula of guild-queues:
/// `nextTimeWindowStart + floor(waiting / reservoir) * timeWindow`.
///
/// `now` and the result are times since the Unix epoch. A limiter gives the same in
/// [`ready_after`](crate::Ticket::ready_after), from its own queue and clock. An interval or reservoir of 0 counts as
/// 1, and the result saturates.
///
/// # Examples
///
/// ```
/// # use paddlegate::Micros;
/// # use paddlegate::formats::guild::ready_at;
/// let seconds = |seconds: u64| Micros(seconds * 1_000_000);
/// assert_eq!(ready_at(seconds(12), seconds(10), 5, 4), seconds(20), "in the next window");
/// assert_eq!(ready_at(seconds(12), seconds(10), 5, 5), seconds(30), "five others fill that one");
/// ```
pub fn ready_at(now: Micros, interval: Micros, reservoir: u64, waiting: u64) -> Micros {
    let interval = interval.0.max(1);
    let next = (now.0 / interval).saturating_add(1).saturating_mul(interval);
    Micros(next.saturating_add((waiting / reservoir.max(1)).saturating_mul(interval)))
}

fn positive(field: &Field<'_>, most: u64, unit: &str) -> Result<u64> {
    let number = field.integer()?;
    if !(1..=most).contains(&number) {
        return Err(field.fault(format!("must be from 1 to {most}: {unit}={number}")));
    }
    Ok(number)
}

fn text(field: &Field<'_>) -> Result<String> {
    field.text().map(str::to_owned)
}
