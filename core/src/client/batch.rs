//! `Batch`: several jobs that are admitted together.

use crate::base::error::{Error, Result};
use crate::client::admission::{Action, Admission};
use crate::client::limiter::Limiter;
use crate::client::multi_step::{MultiStep, decided};
use crate::model::cost::Cost;
use crate::model::decision::{Decision, Status};
use crate::model::limit::Kind;
use crate::model::on_limit::OnLimit;
use crate::model::operation::{Answer, Operation};
use crate::model::permit::{JointPermit, Permit};
use crate::model::request::Request;
use crate::store::signal_handling::SignalHandling;

/// Several jobs of one unit each, decided in their order. See [`Limiter::admit_all`].
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{Action, MultiStep, OnLimit, Paddlegate, SignalHandling};
/// let api = Paddlegate::memory().window("api", 3, Duration::from_secs(60))?;
/// let mut batch = api.batch(&["a", "b"], OnLimit::Raise, false);
/// while let Some((limiter, operation)) = batch.step() {
///     let reply = limiter.run(operation, SignalHandling::Ignore); // or the I/O of the host
///     batch.on_reply(reply);
/// }
/// assert!(batch.outcome()?.iter().all(|admission| admission.action == Action::Run));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Batch {
    limiter: Limiter,
    jobs: Vec<String>,
    on_limit: OnLimit,
    partial: bool,
    admitted: Vec<Admission>,
    /// The permits to give back, the next one last; `is_corrected` refers to the next one.
    returned: Vec<String>,
    is_corrected: bool,
    end: Option<Result<Vec<Admission>>>,
}

impl Limiter {
    /// Decides on several jobs of one unit each, in their order.
    ///
    /// With `partial` each job is decided by itself. Otherwise all jobs run or none: when one cannot run, the units of
    /// the jobs before it are refunded, and no job takes a ticket. A throttle allows one start at a time, so with a
    /// throttle several jobs are always refused together.
    ///
    /// Unless `partial`, the permits are of estimates and can be corrected. Until then, for at most five minutes,
    /// [`apply_report`](Self::apply_report) counts their calls as open.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Action, OnLimit, Paddlegate};
    /// let api = Paddlegate::memory().window("api", 3, Duration::from_secs(60))?;
    /// let actions = |jobs: &[&str], partial| {
    ///     let admitted = api.admit_all(jobs, OnLimit::Drop, partial)?;
    ///     Ok::<_, paddlegate::Error>(admitted.iter().map(|admission| admission.action).collect::<Vec<_>>())
    /// };
    /// assert_eq!(actions(&["a", "b", "c", "d"], false)?, [Action::Drop; 4], "all or none");
    /// assert_eq!(actions(&["a", "b", "c", "d"], true)?, [Action::Run, Action::Run, Action::Run, Action::Drop]);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn admit_all(&self, jobs: &[&str], on_limit: OnLimit, partial: bool) -> Result<Vec<Admission>> {
        self.batch(jobs, on_limit, partial).run(SignalHandling::Ignore)
    }

    /// Returns the steps of [`admit_all`](Self::admit_all), for hosts that perform the I/O themselves.
    pub fn batch(&self, jobs: &[&str], on_limit: OnLimit, partial: bool) -> Batch {
        Batch {
            limiter: self.clone(),
            jobs: jobs.iter().map(|&job| job.to_owned()).collect(),
            on_limit,
            partial,
            admitted: Vec::with_capacity(jobs.len()),
            returned: Vec::new(),
            is_corrected: false,
            end: None,
        }
    }
}

impl MultiStep for Batch {
    type Output = Vec<Admission>;

    fn step(&self) -> Option<(&Limiter, Operation<'_>)> {
        if let Some(permit) = self.returned.last() {
            let release = Operation::Release { permit };
            let correct = Operation::Correct { permit, actual: Cost::Units(0) };
            return Some((&self.limiter, if self.is_corrected { release } else { correct }));
        }
        if self.end.is_some() {
            return None;
        }
        let id = self.jobs.get(self.admitted.len())?;
        let (request, wait) = match self.partial {
            true => (Request::cost(1), Admission::wait(self.on_limit, None)),
            false if self.is_throttled() => (Request::cost(0), None),
            // Only an estimate can be refunded.
            false => (Request::estimate(1), None),
        };
        Some((&self.limiter, Operation::AcquireWithId { request, id, wait }))
    }

    fn on_reply(&mut self, outcome: Result<Answer>) {
        if !self.returned.is_empty() {
            return self.gave_back(outcome.err());
        }
        match decided(outcome) {
            Ok(decision) => self.take(decision),
            Err(error) => self.stop(Err(error)),
        }
    }

    fn outcome(self) -> Result<Vec<Admission>> {
        match self.end {
            _ if !self.returned.is_empty() => Err(unfinished()),
            Some(end) => end,
            None if self.admitted.len() == self.jobs.len() => Ok(self.admitted),
            None => Err(unfinished()),
        }
    }
}

impl Batch {
    fn is_throttled(&self) -> bool {
        let throttles =
            |limiter: &Limiter| limiter.policy().limits().iter().any(|limit| limit.kind() == Kind::Throttle);
        self.jobs.len() > 1 && (throttles(&self.limiter) || self.limiter.limiters().iter().any(throttles))
    }

    /// Returns whether a permit is of a grant of this time.
    fn is_of(&self, at: u64, permit: &str) -> bool {
        match self.limiter.limiters().len() {
            0 => Permit::parse(permit).is_none_or(|permit| permit.granted_at == at),
            limiters => JointPermit::parse(permit, limiters)
                .is_none_or(|joint| joint.permits.iter().flatten().all(|permit| permit.granted_at == at)),
        }
    }

    fn take(&mut self, decision: Decision) {
        let decision = if !self.partial && self.is_throttled() {
            Decision { status: Status::Refused, retry_after: None, ..decision }
        } else {
            decision
        };
        let admission = Admission::of(decision, self.on_limit);
        if self.partial || admission.action == Action::Run {
            self.admitted.push(admission);
        } else {
            self.stop(Ok(vec![admission; self.jobs.len()]));
        }
    }

    /// Ends the batch. The permits that it was granted are given back first; a lease from an earlier call stays.
    fn stop(&mut self, end: Result<Vec<Admission>>) {
        self.end = Some(end);
        if self.partial {
            return;
        }
        let new = self
            .admitted
            .iter()
            .map(|admission| &admission.decision)
            .filter(|decision| decision.permit.as_deref().is_none_or(|permit| self.is_of(decision.at.0, permit)));
        self.returned = new.rev().filter_map(|decision| decision.permit.clone()).collect();
    }

    /// Keeps the first error; the other permits are given back nevertheless.
    fn gave_back(&mut self, error: Option<Error>) {
        if let (Some(error), Some(Ok(_))) = (error, &self.end) {
            self.end = Some(Err(error));
        }
        if self.is_corrected {
            self.returned.pop();
        }
        self.is_corrected = !self.is_corrected;
    }
}

fn unfinished() -> Error {
    Error::internal("the batch has steps left; run them before its outcome")
}
