//! `AdminRequest`: changes to the runtime state of a limiter. Rare and with texts, so it is passed as an object in
//! addition to the shared buffer.

use napi_derive::napi;
use paddlegate::upstream::Response;
use paddlegate::{
    AdminCommand, Deadline, Error, Feedback, Learned, Limit, Limiter, MAX_PAUSE, Micros, OnLimit, Operation, Prepared,
    Provider, RuntimeState, Settlement, UpstreamReport,
};

use crate::convert::{millis, number, time, to_millis, whole};
use crate::course::Procedure;

/// The operations of `lib/area.js` that need an admin request.
const PAUSE: usize = 13;
const RESUME: usize = 14;
const OVERRIDE: usize = 15;
const RESTORE: usize = 16;
const CONTROLS: usize = 17;
const SYNC: usize = 18;
const LEARN: usize = 19;

/// The operations that are procedures of several steps.
const OVERRIDE_FROM: usize = 21;
const SIGNAL: usize = 22;
const ADMIT_ALL: usize = 23;

/// What is not given is left out; JavaScript passes NaN for what is no number.
#[napi(object, object_to_js = false)]
pub(crate) struct AdminRequest {
    /// Which limit of the policy.
    pub index: Option<f64>,
    pub limit: Option<f64>,
    pub interval_ms: Option<f64>,
    /// Until when, or when: from now, or since 1970.
    pub after_ms: Option<f64>,
    pub at_ms: Option<f64>,
    pub remaining: Option<f64>,
    pub restore_rate: Option<f64>,
    pub permit: Option<String>,
    pub provider: Option<String>,
    pub max_pause_ms: Option<f64>,
    pub max_learned: Option<f64>,
    pub status: Option<f64>,
    /// Names and values in turn.
    pub headers: Option<Vec<String>>,
    pub body: Option<String>,
    /// JSON.
    pub document: Option<String>,
    pub jobs: Option<Vec<String>>,
    pub on_limit: Option<String>,
    pub partial: Option<bool>,
}

impl AdminRequest {
    pub(crate) fn prepare(
        &self,
        limiter: &Limiter,
        operation: usize,
        at: Option<Micros>,
    ) -> paddlegate::Result<Prepared> {
        let admin = |command| limiter.prepare(Operation::Admin { command, at });
        let index = || self.index.map(|index| whole("index", index).map(place)).transpose();
        match operation {
            PAUSE => admin(AdminCommand::Pause(self.moment("for", "until")?.ok_or_else(endless)?)),
            RESUME => admin(AdminCommand::Resume),
            OVERRIDE => {
                let index = index()?.unwrap_or_default();
                let changes = limiter.override_changes(index, self.amount()?, self.interval()?)?;
                admin(AdminCommand::Override { changes: &changes, expires: self.moment("expires_in", "expires_at")? })
            }
            RESTORE => admin(AdminCommand::Override { changes: &limiter.override_removals(index()?)?, expires: None }),
            CONTROLS => admin(AdminCommand::Get),
            SYNC => {
                let index = index()?.unwrap_or_default();
                let remaining = self.remaining.map(|units| whole("remaining", units)).transpose()?;
                let (amount, interval) = (self.amount()?, self.refill(limiter, index)?);
                let budgets =
                    limiter.budget_updates(index, remaining, amount, interval, self.moment("reset_in", "reset_at")?)?;
                let report =
                    UpstreamReport { permit: self.permit.as_deref(), budgets: &budgets, ..UpstreamReport::default() };
                limiter.prepare(Operation::ApplyReport { report, at })
            }
            LEARN => self.learn(limiter, at),
            other => {
                Err(Error::internal(format!("the package and its addon are of different versions: order={other}")))
            }
        }
    }

    /// Returns the procedure for an operation with several steps; `None` for a single operation.
    pub(crate) fn course(
        &self,
        limiter: &Limiter,
        operation: usize,
        at: Option<Micros>,
    ) -> paddlegate::Result<Option<Procedure>> {
        let document = self.document.as_deref().unwrap_or_default();
        Ok(Some(match operation {
            OVERRIDE_FROM => Procedure::Override(limiter.amendment(document, at)?),
            SIGNAL => Procedure::Signal(limiter.signalling(document, at)?),
            ADMIT_ALL => {
                let on_limit = self.on_limit.as_deref().map_or(Ok(OnLimit::Wait), OnLimit::from_name)?;
                let jobs: Vec<&str> = self.jobs.iter().flatten().map(String::as_str).collect();
                Procedure::Jobs(limiter.batch(&jobs, on_limit, self.partial.unwrap_or_default()))
            }
            _ => return Ok(None),
        }))
    }

    fn learn(&self, limiter: &Limiter, at: Option<Micros>) -> paddlegate::Result<Prepared> {
        let provider = self.provider.as_deref().map_or(Ok(Provider::Auto), Provider::from_name)?;
        let max_pause = self.max_pause_ms.map_or(Ok(MAX_PAUSE), |given| millis("max_pause", given))?;
        let max_learned = self.max_learned.map(|most| whole("max_learned", most)).transpose()?;
        let status = self.status.map(|status| whole("status", status)).transpose()?.map(|status| {
            let wrong = |_| Error::invalid("status", format!("must be an http status code: status={status}"));
            u16::try_from(status).map_err(wrong)
        });
        let status = status.transpose()?;
        let headers: Vec<(&str, &str)> = self.headers.iter().flat_map(|flat| flat.as_chunks().0).map(pair).collect();
        let response = Response { status, headers: &headers, body: self.body.as_deref().unwrap_or_default() };
        let lesson = Feedback::read(provider, &response, max_pause).lesson(limiter.policy(), max_pause, max_learned);
        limiter.prepare(Operation::ApplyReport { report: lesson.report(self.permit.as_deref()), at })
    }

    fn amount(&self) -> paddlegate::Result<Option<u64>> {
        self.limit.map(|limit| whole("limit", limit)).transpose()
    }

    fn interval(&self) -> paddlegate::Result<Option<Micros>> {
        self.interval_ms.map(|interval| millis("interval", interval)).transpose()
    }

    /// Returns the interval, which may be given as a rate.
    fn refill(&self, limiter: &Limiter, index: usize) -> paddlegate::Result<Option<Micros>> {
        match (self.restore_rate, self.interval()?) {
            (None, interval) => Ok(interval),
            (Some(_), Some(_)) => Err(Error::invalid("restore_rate", "give an interval or a rate, not both")),
            (Some(rate), None) => {
                let amount = self.amount()?.or_else(|| limiter.policy().limits().get(index).map(Limit::amount));
                Micros::of_rate("restore_rate", amount.unwrap_or_default(), rate).map(Some)
            }
        }
    }

    /// Reads a deadline; the names are those of the arguments for a duration and for a time.
    fn moment(&self, span_name: &'static str, time_name: &'static str) -> paddlegate::Result<Option<Deadline>> {
        let after = self.after_ms.map(|span| millis(span_name, span)).transpose()?;
        let at = self.at_ms.map(|at| time(time_name, at)).transpose()?;
        match (after, at) {
            (Some(_), Some(_)) => Err(Error::invalid(time_name, "give a duration or an end time, not both")),
            (after, at) => Ok(after.map(Deadline::After).or(at.map(Deadline::At))),
        }
    }
}

fn endless() -> Error {
    Error::invalid("for", "is missing; give a duration or an end time")
}

fn pair(pair: &[String; 2]) -> (&str, &str) {
    (&pair[0], &pair[1])
}

/// Converts an index; `usize::MAX` is never a valid index.
fn place(index: u64) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// What is in force beside the policies.
#[napi(object, object_from_js = false)]
pub struct InForce {
    pub version: f64,
    pub in_use: bool,
    pub paused_for_ms: Option<f64>,
    pub overrides: Vec<Option<Numbers>>,
    pub expires_in_ms: Option<f64>,
    pub learned: Vec<Option<Numbers>>,
}

/// What became of a report.
#[napi(object, object_from_js = false)]
pub struct ReportAnswer {
    pub settlement: Option<&'static str>,
    pub learned: Vec<String>,
    pub ignored: Vec<String>,
    pub cost: Option<f64>,
    pub pause_ms: Option<f64>,
    pub scope: Option<&'static str>,
    pub bucket: Option<String>,
}

impl From<Learned> for ReportAnswer {
    fn from(it: Learned) -> Self {
        Self {
            settlement: it.settlement.map(Settlement::name),
            learned: it.learned,
            ignored: it.ignored,
            cost: it.cost.map(number),
            pause_ms: it.pause.map(to_millis),
            scope: it.scope,
            bucket: it.bucket,
        }
    }
}

/// The numbers of one limit.
#[napi(object, object_from_js = false)]
pub struct Numbers {
    pub kind: &'static str,
    pub limit: f64,
    pub interval_ms: f64,
}

impl From<&RuntimeState> for InForce {
    fn from(controls: &RuntimeState) -> Self {
        let numbers = |limits: &[Option<Limit>]| limits.iter().map(|limit| limit.as_ref().map(Numbers::from)).collect();
        Self {
            version: number(controls.version),
            in_use: controls.in_use,
            paused_for_ms: controls.paused_for.map(to_millis),
            overrides: numbers(&controls.overrides),
            expires_in_ms: controls.expires_after.map(to_millis),
            learned: numbers(&controls.learned),
        }
    }
}

impl From<&Limit> for Numbers {
    fn from(limit: &Limit) -> Self {
        Self { kind: limit.kind().name(), limit: number(limit.amount()), interval_ms: to_millis(limit.interval()) }
    }
}
