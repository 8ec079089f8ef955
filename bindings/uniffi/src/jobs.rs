//! Jobs: admissions, and the queued jobs whose turn has come.

use paddlegate_core::{
    Admission, Answer, JOB_CLAIM_TIMEOUT, MAX_SPAN, MultiStep, OnLimit, Operation, QueuePosition, SignalHandling,
    TurnsHost, Wait,
};

use crate::decision::{NativeDecision, unexpected};
use crate::error::Result;
use crate::limiter::NativeLimiter;
use crate::number::{micros, some, some_us, us, whole};
use crate::request::{NativeRequest, NativeWait};

/// What to do with a job.
#[derive(uniffi::Record)]
pub struct NativeAdmission {
    pub action: String,
    pub after_us: Option<i64>,
    pub decision: NativeDecision,
}

/// The queued jobs whose turn has come, and for how long a host may sleep.
#[derive(uniffi::Record)]
pub struct NativeReady {
    pub ids: Vec<String>,
    pub after_us: i64,
}

#[uniffi::export]
impl NativeLimiter {
    pub fn admit(
        &self,
        id: String,
        on_limit: String,
        claim_timeout_us: Option<i64>,
        request: Option<NativeRequest>,
    ) -> Result<NativeAdmission> {
        let on_limit = OnLimit::from_name(&on_limit)?;
        let claim_timeout = some("claim_timeout", claim_timeout_us, micros)?;
        let admitted =
            NativeRequest::with(request.as_ref(), |request| self.0.admit_within(&id, request, on_limit, claim_timeout));
        Ok(admitted?.into())
    }

    pub fn admit_all(&self, ids: Vec<String>, on_limit: String, partial: bool) -> Result<Vec<NativeAdmission>> {
        let jobs: Vec<&str> = ids.iter().map(String::as_str).collect();
        let batch = self.0.batch(&jobs, OnLimit::from_name(&on_limit)?, partial);
        Ok(batch.run(SignalHandling::Ignore)?.into_iter().map(NativeAdmission::from).collect())
    }

    /// Returns how the ticket of a job waits. A job that claims has its existing ticket.
    pub fn job_wait(
        &self,
        claims: bool,
        wait_timeout_us: Option<i64>,
        claim_timeout_us: Option<i64>,
    ) -> Result<NativeWait> {
        let max_wait = some("wait_timeout", wait_timeout_us, micros)?.unwrap_or(MAX_SPAN);
        let claim_timeout = some("claim_timeout", claim_timeout_us, micros)?.unwrap_or(JOB_CLAIM_TIMEOUT);
        let position = if claims { QueuePosition::Existing } else { QueuePosition::End };
        Ok(Wait { claim_timeout, position, ..Wait::up_to(max_wait) }.into())
    }

    /// Returns queued jobs whose turn has come, for a host with an id and a channel, or for none.
    pub fn ready(&self, count: i64, host: String, channel: String) -> Result<NativeReady> {
        let host = (!channel.is_empty()).then_some(TurnsHost { id: &host, channel: &channel });
        match self.0.run(Operation::Ready { count: whole("count", count)?, host }, SignalHandling::Ignore)? {
            Answer::Ready(ready) => Ok(NativeReady { ids: ready.ids, after_us: us(ready.after) }),
            other => Err(unexpected(&other)),
        }
    }
}

impl From<Admission> for NativeAdmission {
    fn from(it: Admission) -> Self {
        Self { action: it.action.name().to_owned(), after_us: some_us(it.after), decision: it.decision.into() }
    }
}
