//! `AdminRequest`: changes to the runtime state of a limiter. Rare and with texts, so it is passed as an object in
//! addition to the shared buffer.

use napi_derive::napi;
use paddlegate::{
    AdminRequest as Request, Deadline, Error, LearnOptions, Learned, Limit, LimitNumbers, Limiter, Mode, OnLimit,
    Prepared, Procedure, Result, RuntimeState, Settlement,
};

use crate::convert::{LimitSpec, limits, millis, number, time, to_millis, whole};
use crate::opcode::Opcode;

/// The arguments of an admin command. Absent arguments are `None`; JavaScript passes NaN for values that are not
/// numbers.
#[napi(object, object_to_js = false)]
pub(crate) struct AdminRequest {
    /// The label of a limit of the policy.
    pub label: Option<String>,
    /// Whole limits for an override.
    pub limits: Option<Vec<LimitSpec>>,
    /// The mode of an override.
    pub mode: Option<String>,
    /// Whether to restore the mode alone.
    pub of_mode: Option<bool>,
    pub limit: Option<f64>,
    pub interval_ms: Option<f64>,
    /// A deadline or the end of an interval: milliseconds from now, or since 1970.
    pub after_ms: Option<f64>,
    pub at_ms: Option<f64>,
    pub remaining: Option<f64>,
    pub restore_rate: Option<f64>,
    pub permit: Option<String>,
    pub provider: Option<String>,
    pub max_pause_ms: Option<f64>,
    pub default_pause_ms: Option<f64>,
    pub max_learned: Option<f64>,
    pub status: Option<f64>,
    /// Names and values alternately.
    pub headers: Option<Vec<String>>,
    pub body: Option<String>,
    /// JSON.
    pub document: Option<String>,
    pub jobs: Option<Vec<String>>,
    pub on_limit: Option<String>,
    pub partial: Option<bool>,
}

impl AdminRequest {
    pub(crate) fn prepare(&self, limiter: &Limiter, opcode: Opcode) -> Result<Prepared> {
        self.request(opcode)?.operation(limiter, |operation| limiter.prepare(operation))
    }

    fn request(&self, opcode: Opcode) -> Result<Request> {
        let whole_of = |name, value: Option<f64>| value.map(|value| whole(name, value)).transpose();
        let (after, at) = (self.after_ms, self.at_ms);
        let deadline = |span, time_name| {
            let after = after.map(|value| millis(span, value)).transpose()?;
            Ok::<_, Error>(((span, after), (time_name, at.map(|value| time(time_name, value)).transpose()?)))
        };
        let either = |span, time| deadline(span, time).and_then(|(span, time)| Deadline::either(span, time));
        Ok(match opcode {
            Opcode::Pause => {
                let (span, time) = deadline("for", "until")?;
                Request::Pause(Deadline::one_of(span, time)?)
            }
            Opcode::Block => {
                let (span, time) = deadline("for", "until")?;
                Request::Block(Deadline::one_of(span, time)?)
            }
            Opcode::Resume => Request::Resume,
            Opcode::Override => {
                let expires = either("expires_in", "expires_at")?;
                if let Some(mode) = &self.mode {
                    return Ok(Request::OverrideMode { mode: Mode::from_name(mode)?, expires });
                }
                match &self.limits {
                    Some(specs) => Request::OverrideLimits { limits: limits(specs)?, expires },
                    None => Request::Override { label: self.label.clone(), numbers: self.numbers()?, expires },
                }
            }
            Opcode::Restore if self.of_mode == Some(true) => Request::RestoreMode,
            Opcode::Restore => Request::Restore(self.label.clone()),
            Opcode::RuntimeState => Request::Get,
            Opcode::ReportBudget => Request::ReportBudget {
                label: self.label.clone(),
                remaining: whole_of("remaining", self.remaining)?,
                numbers: self.numbers()?,
                reset: either("reset_in", "reset_at")?,
                permit: self.permit.clone(),
            },
            Opcode::Learn => {
                let headers: Vec<_> = self.headers.iter().flat_map(|flat| flat.as_chunks().0).map(pair).collect();
                let options = LearnOptions {
                    provider: self.provider.as_deref(),
                    max_pause: self.max_pause_ms.map(|longest| millis("max_pause", longest)).transpose()?,
                    default_pause: self.default_pause_ms.map(|pause| millis("default_pause", pause)).transpose()?,
                    max_learned: whole_of("max_learned", self.max_learned)?,
                    permit: self.permit.clone(),
                };
                let status = whole_of("status", self.status)?;
                Request::learn(status, &headers, self.body.as_deref().unwrap_or_default(), options)?
            }
            _ => return Err(Error::internal("the operation has no admin request")),
        })
    }

    fn numbers(&self) -> Result<LimitNumbers> {
        Ok(LimitNumbers {
            amount: self.limit.map(|limit| whole("limit", limit)).transpose()?,
            interval: self.interval_ms.map(|interval| millis("interval", interval)).transpose()?,
            rate: self.restore_rate,
        })
    }

    /// Returns the procedure for an operation with several steps; `None` for a single operation.
    pub(crate) fn procedure(&self, limiter: &Limiter, opcode: Opcode) -> Result<Option<Procedure>> {
        let document = self.document.as_deref().unwrap_or_default();
        Ok(Some(match opcode {
            Opcode::ApplyOjsOverride => Procedure::Override(limiter.override_procedure(document)?),
            Opcode::ApplyOjsSignal => Procedure::Pause(limiter.pause_procedure(document)?),
            Opcode::AdmitAll => {
                let on_limit = self.on_limit.as_deref().map_or(Ok(OnLimit::Wait), OnLimit::from_name)?;
                let jobs: Vec<&str> = self.jobs.iter().flatten().map(String::as_str).collect();
                Procedure::Jobs(limiter.batch(&jobs, on_limit, self.partial.unwrap_or_default()))
            }
            _ => return Ok(None),
        }))
    }
}

fn pair(pair: &[String; 2]) -> (&str, &str) {
    (&pair[0], &pair[1])
}

/// The runtime state: pause, block, mode, overrides and learned limits.
#[napi(object, object_from_js = false)]
pub struct InForce {
    pub version: f64,
    pub in_use: bool,
    pub paused_for_ms: Option<f64>,
    pub blocked_for_ms: Option<f64>,
    pub mode: Option<&'static str>,
    pub overrides: Vec<LimitSettings>,
    pub expires_in_ms: Option<f64>,
    pub learned: Vec<LimitSettings>,
}

/// The result of a report.
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

/// The settings of one limit.
#[napi(object, object_from_js = false)]
pub struct LimitSettings {
    pub label: String,
    pub kind: &'static str,
    pub limit: f64,
    pub interval_ms: f64,
}

impl From<&RuntimeState> for InForce {
    fn from(runtime_state: &RuntimeState) -> Self {
        let settings = |limits: &[Limit]| limits.iter().map(LimitSettings::from).collect();
        Self {
            version: number(runtime_state.version),
            in_use: runtime_state.in_use,
            paused_for_ms: runtime_state.paused_for.map(to_millis),
            blocked_for_ms: runtime_state.blocked_for.map(to_millis),
            mode: runtime_state.mode.map(Mode::name),
            overrides: settings(&runtime_state.overrides),
            expires_in_ms: runtime_state.expires_after.map(to_millis),
            learned: settings(&runtime_state.learned),
        }
    }
}

impl From<&Limit> for LimitSettings {
    fn from(limit: &Limit) -> Self {
        Self {
            label: limit.label().to_string(),
            kind: limit.kind().name(),
            limit: number(limit.amount()),
            interval_ms: to_millis(limit.interval()),
        }
    }
}
