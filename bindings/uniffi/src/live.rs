//! Changes of a running limiter.

use paddlegate_core::{
    AdminRequest, Answer, Deadline, Error, LOCK_TIMEOUT, LimitNumbers, Micros, Mode, Policy, Result as CoreResult,
    RuntimeState, SignalHandling,
};

use crate::decision::unexpected;
use crate::error::Result;
use crate::limit::NativeLimit;
use crate::limiter::NativeLimiter;
use crate::number::{micros, number, some, some_us, whole};

/// The pause, the block, the overrides and the learned limits in force.
#[derive(uniffi::Record)]
pub struct NativeRuntimeState {
    pub version: i64,
    pub in_use: bool,
    pub paused_for_us: Option<i64>,
    pub blocked_for_us: Option<i64>,
    pub mode: Option<String>,
    pub overrides: Vec<NativeLimit>,
    pub expires_in_us: Option<i64>,
    pub learned: Vec<NativeLimit>,
}

/// A change of overrides: of one limit, of several, or of the mode.
#[derive(uniffi::Record)]
pub struct NativeOverride {
    pub limit: Option<i64>,
    pub interval_us: Option<i64>,
    pub label: Option<String>,
    pub limits: Option<Vec<NativeLimit>>,
    pub mode: Option<String>,
    pub expires_in_us: Option<i64>,
    pub expires_at_us: Option<i64>,
}

#[uniffi::export]
impl NativeLimiter {
    pub fn runtime_state(&self) -> Result<NativeRuntimeState> {
        self.state(AdminRequest::Get)
    }

    pub fn pause(&self, for_us: Option<i64>, until_us: Option<i64>) -> Result<NativeRuntimeState> {
        self.state(AdminRequest::Pause(moment(("for", for_us), ("until", until_us))?))
    }

    pub fn block(&self, for_us: Option<i64>, until_us: Option<i64>) -> Result<NativeRuntimeState> {
        self.state(AdminRequest::Block(moment(("for", for_us), ("until", until_us))?))
    }

    pub fn resume(&self) -> Result<NativeRuntimeState> {
        self.state(AdminRequest::Resume)
    }

    pub fn override_limits(&self, change: NativeOverride) -> Result<NativeRuntimeState> {
        self.state(change.request()?)
    }

    pub fn restore(&self, label: Option<String>) -> Result<NativeRuntimeState> {
        self.state(AdminRequest::Restore(label))
    }

    pub fn restore_mode(&self) -> Result<NativeRuntimeState> {
        self.state(AdminRequest::RestoreMode)
    }

    pub fn apply_ojs_override(&self, document: String) -> Result<NativeRuntimeState> {
        Ok((&self.0.apply_ojs_override(&document)?).into())
    }

    pub fn apply_ojs_signal(&self, document: String) -> Result<bool> {
        Ok(self.0.apply_ojs_signal(&document)?)
    }
}

impl NativeLimiter {
    fn state(&self, request: AdminRequest) -> Result<NativeRuntimeState> {
        match self.admin(&request)? {
            Answer::RuntimeState(state) => Ok((&*state).into()),
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) fn admin(&self, request: &AdminRequest) -> CoreResult<Answer> {
        request.operation(&self.0, |operation| self.0.run(operation, SignalHandling::Ignore))
    }
}

impl NativeOverride {
    fn request(self) -> CoreResult<AdminRequest> {
        let is_of_one = self.limit.is_some() || self.interval_us.is_some() || self.label.is_some();
        let expires = deadline(("expires_in", self.expires_in_us), ("expires_at", self.expires_at_us))?;
        match (self.limits, self.mode) {
            (None, None) => {
                let interval = some("interval", self.interval_us, micros)?;
                let numbers = LimitNumbers { amount: some("limit", self.limit, whole)?, interval, rate: None };
                Ok(AdminRequest::Override { label: self.label, numbers, expires })
            }
            (Some(_), None) if is_of_one => {
                Err(Error::invalid("limits", "give limits or the numbers of one limit, not both"))
            }
            (Some(limits), None) => {
                let limits: Vec<_> = limits.iter().map(|limit| limit.read(LOCK_TIMEOUT)).collect::<CoreResult<_>>()?;
                Policy::new(limits.iter().cloned())?;
                Ok(AdminRequest::OverrideLimits { limits, expires })
            }
            (None, Some(mode)) if !is_of_one => {
                Ok(AdminRequest::OverrideMode { mode: Mode::from_name(&mode)?, expires })
            }
            (_, Some(_)) => Err(Error::invalid("mode", "give the mode or limits, not both")),
        }
    }
}

impl From<&RuntimeState> for NativeRuntimeState {
    fn from(it: &RuntimeState) -> Self {
        Self {
            version: number(it.version),
            in_use: it.in_use,
            paused_for_us: some_us(it.paused_for),
            blocked_for_us: some_us(it.blocked_for),
            mode: it.mode.map(|mode| mode.name().to_owned()),
            overrides: NativeLimit::shown_all(&it.overrides),
            expires_in_us: some_us(it.expires_after),
            learned: NativeLimit::shown_all(&it.learned),
        }
    }
}

type Named<T> = (&'static str, Option<T>);

fn read((argument, value): Named<i64>) -> CoreResult<Named<Micros>> {
    Ok((argument, some(argument, value, micros)?))
}

/// Returns the end of a span or a time.
pub(crate) fn deadline(span: Named<i64>, time: Named<i64>) -> CoreResult<Option<Deadline>> {
    Deadline::either(read(span)?, read(time)?)
}

fn moment(span: Named<i64>, time: Named<i64>) -> CoreResult<Deadline> {
    Deadline::one_of(read(span)?, read(time)?)
}
