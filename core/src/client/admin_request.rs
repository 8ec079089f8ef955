//! `AdminRequest`: a change of a running limiter as a caller writes it. All bindings build their operations with it.

use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::client::limiter::Limiter;
use crate::model::budget::UpstreamReport;
use crate::model::label::Label;
use crate::model::limit::Limit;
use crate::model::mode::Mode;
use crate::model::operation::Operation;
use crate::model::overrides::{AdminCommand, Deadline, LimitOverride};
#[cfg(feature = "providers")]
use crate::upstream::{Feedback, MAX_PAUSE, Provider, Response};

/// A change of a running limiter, or a report of its upstream, before the limiter is known.
///
/// A label names a limit of the policy; without one the request is about its only limit.
#[derive(Clone, Debug)]
pub enum AdminRequest {
    /// Returns the runtime state and changes nothing.
    Get,
    /// Refuses every call until this time.
    Pause(Deadline),
    /// Refuses every call until this time, with the reason `blocked`.
    Block(Deadline),
    /// Ends the pause and the block.
    Resume,
    /// Overrides the mode.
    OverrideMode {
        /// The mode.
        mode: Mode,
        /// The end of all overrides; `None` when they last until they are removed.
        expires: Option<Deadline>,
    },
    /// Ends the override of the mode.
    RestoreMode,
    /// Overrides a limit of the policy.
    Override {
        /// The label of the limit.
        label: Option<String>,
        /// Its numbers.
        numbers: LimitNumbers,
        /// The end of all overrides; `None` when they last until they are removed.
        expires: Option<Deadline>,
    },
    /// Overrides limits by their labels, also such that the policy does not have.
    OverrideLimits {
        /// The limits.
        limits: Vec<Limit>,
        /// The end of all overrides; `None` when they last until they are removed.
        expires: Option<Deadline>,
    },
    /// Ends the overrides of a label, or all without one.
    Restore(Option<String>),
    /// Applies the budget that the upstream reports for one limit.
    ReportBudget {
        /// The label of the limit.
        label: Option<String>,
        /// The units that are left at the upstream.
        remaining: Option<u64>,
        /// The numbers of the limit at the upstream.
        numbers: LimitNumbers,
        /// The end of a bucket's interval.
        reset: Option<Deadline>,
        /// The permit of the call that the upstream answered.
        permit: Option<String>,
    },
    /// Applies a response of the upstream.
    #[cfg(feature = "providers")]
    Learn {
        /// The contents of the response.
        feedback: Feedback,
        /// The longest pause after a refusal.
        max_pause: Micros,
        /// The highest limit; `None` for ten times the limit of the policy.
        max_learned: Option<u64>,
        /// The permit of the call that the upstream answered.
        permit: Option<String>,
    },
}

/// The given numbers of a limit. A number that is not given stays as in the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimitNumbers {
    /// The limit or the capacity.
    pub amount: Option<u64>,
    /// The interval; a throttle's distance of two starts, a meter's time to drain.
    pub interval: Option<Micros>,
    /// Units per second in place of the interval.
    pub rate: Option<f64>,
}

/// The options of [`AdminRequest::learn`]. By default each option has its own default.
#[cfg(feature = "providers")]
#[derive(Clone, Debug, Default)]
pub struct LearnOptions<'a> {
    /// The name of a [`Provider`]; `auto` by default.
    pub provider: Option<&'a str>,
    /// The longest pause after a refusal; [`MAX_PAUSE`] by default.
    pub max_pause: Option<Micros>,
    /// The pause after a refusal that names no time; none by default.
    pub default_pause: Option<Micros>,
    /// The highest limit; ten times the limit of the policy by default.
    pub max_learned: Option<u64>,
    /// The permit of the call that the upstream answered.
    pub permit: Option<String>,
}

impl AdminRequest {
    /// Reads a response of an upstream. `status` is its HTTP status code, if known.
    ///
    /// `Invalid` for an unknown provider and for a status above 65,535; whatever else the response contains is no
    /// error.
    #[cfg(feature = "providers")]
    pub fn learn(status: Option<u64>, headers: &[(&str, &str)], body: &str, options: LearnOptions<'_>) -> Result<Self> {
        let provider = options.provider.map_or(Ok(Provider::Auto), Provider::from_name)?;
        let status = status.map(|status| {
            let wrong = |_| Error::invalid("status", format!("must be an http status code: status={status}"));
            u16::try_from(status).map_err(wrong)
        });
        let max_pause = options.max_pause.unwrap_or(MAX_PAUSE);
        let feedback = Feedback::read(provider, &Response { status: status.transpose()?, headers, body }, max_pause);
        let feedback = feedback.with_default_pause(options.default_pause.unwrap_or_default());
        Ok(Self::Learn { feedback, max_pause, max_learned: options.max_learned, permit: options.permit })
    }

    /// Builds the operation for a limiter and passes it to `run`, which runs or prepares it.
    ///
    /// ```
    /// use paddlegate::{AdminRequest, Deadline, Micros, Paddlegate, SignalHandling};
    ///
    /// let limiter = Paddlegate::memory().bucket("api", 5, std::time::Duration::from_secs(60))?;
    /// let pause = AdminRequest::Pause(Deadline::After(Micros(1_000_000)));
    /// pause.operation(&limiter, |operation| limiter.run(operation, SignalHandling::Ignore))?;
    /// assert_eq!(limiter.try_acquire(paddlegate::Request::cost(1))?.reason, Some(paddlegate::Reason::Paused));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn operation<T, E: From<Error>>(
        &self,
        limiter: &Limiter,
        run: impl FnOnce(Operation<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let admin = |command| Operation::Admin { command };
        match self {
            Self::Get => run(admin(AdminCommand::Get)),
            Self::Pause(deadline) => run(admin(AdminCommand::Pause(*deadline))),
            Self::Block(deadline) => run(admin(AdminCommand::Block(*deadline))),
            Self::OverrideMode { mode, expires } => {
                let changes = [LimitOverride::Mode(*mode)];
                run(admin(AdminCommand::Override { changes: &changes, expires: *expires }))
            }
            Self::RestoreMode => {
                let changes = [LimitOverride::RemoveMode];
                run(admin(AdminCommand::Override { changes: &changes, expires: None }))
            }
            Self::Resume => run(admin(AdminCommand::Resume)),
            Self::Override { label, numbers, expires } => {
                let label = label.as_deref();
                let interval = numbers.interval(limiter.single_policy("override")?.limit(label)?)?;
                let changes = limiter.override_changes(label, numbers.amount, interval)?;
                run(admin(AdminCommand::Override { changes: &changes, expires: *expires }))
            }
            Self::OverrideLimits { limits, expires } => {
                let changes: Vec<LimitOverride> = limits.iter().cloned().map(LimitOverride::Set).collect();
                run(admin(AdminCommand::Override { changes: &changes, expires: *expires }))
            }
            Self::Restore(label) => {
                let change = label.as_deref().map(Label::new).transpose()?;
                let changes = [change.map_or(LimitOverride::RemoveAll, LimitOverride::Remove)];
                run(admin(AdminCommand::Override { changes: &changes, expires: None }))
            }
            Self::ReportBudget { label, remaining, numbers, reset, permit } => {
                let label = label.as_deref();
                let interval = numbers.interval(limiter.single_policy("learn")?.limit(label)?)?;
                let budgets = limiter.budget_updates(label, *remaining, numbers.amount, interval, *reset)?;
                let permit = permit.as_deref();
                let report = UpstreamReport { permit, budgets: &budgets, ..UpstreamReport::default() };
                run(Operation::ApplyReport { report })
            }
            #[cfg(feature = "providers")]
            Self::Learn { feedback, max_pause, max_learned, permit } => {
                let update = feedback.update_for(limiter.policy(), *max_pause, *max_learned);
                run(Operation::ApplyReport { report: update.report(permit.as_deref()) })
            }
        }
    }
}

impl LimitNumbers {
    /// Returns the interval, which may be given as a rate.
    fn interval(self, limit: &Limit) -> Result<Option<Micros>> {
        match (self.rate, self.interval) {
            (None, interval) => Ok(interval),
            (Some(_), Some(_)) => Err(Error::invalid("restore_rate", "give an interval or a rate, not both")),
            (Some(rate), None) => {
                Micros::of_rate("restore_rate", self.amount.unwrap_or(limit.amount()), rate).map(Some)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::client::paddlegate::Paddlegate;
    use crate::model::kind::Kind;
    use crate::store::signal_handling::SignalHandling;

    fn result(request: &AdminRequest) -> std::result::Result<(), Option<&'static str>> {
        let limiter = Paddlegate::memory().leaky("api", 10, Duration::from_secs(60)).unwrap();
        let run = |operation: Operation<'_>| limiter.run(operation, SignalHandling::Ignore);
        request.operation(&limiter, run).map(|_| ()).map_err(|error| error.argument())
    }

    #[test]
    fn an_interval_is_given_once_and_for_a_limit_of_the_policy() {
        let report = |label: Option<&str>, numbers| {
            let label = label.map(str::to_owned);
            result(&AdminRequest::ReportBudget { label, remaining: Some(1), numbers, reset: None, permit: None })
        };
        let rate = LimitNumbers { rate: Some(2.0), ..LimitNumbers::default() };
        assert_eq!(report(None, rate), Ok(()));
        assert_eq!(report(Some("leaky"), rate), Ok(()));
        assert_eq!(report(Some("window"), rate), Err(Some("label")));
        assert_eq!(report(None, LimitNumbers { interval: Some(Micros(1)), ..rate }), Err(Some("restore_rate")));
        assert_eq!(report(None, LimitNumbers { rate: Some(0.0), ..rate }), Err(Some("restore_rate")));
    }

    #[test]
    fn limits_are_overridden_by_their_labels() {
        let window = |label| Limit::of_kind(Kind::Window, 1, Micros(1), Micros(0)).unwrap().labelled(label).unwrap();
        let overridden =
            |limits: &[Limit]| result(&AdminRequest::OverrideLimits { limits: limits.to_vec(), expires: None });
        assert_eq!(overridden(&[window("rpm"), window("rpd")]), Ok(()));
        assert_eq!(overridden(&[]), Err(Some("limits")));
        assert_eq!(overridden(&[window("leaky")]), Err(Some("limits")));
        let restored = |label: Option<&str>| result(&AdminRequest::Restore(label.map(str::to_owned)));
        assert_eq!((restored(None), restored(Some("rpm"))), (Ok(()), Ok(())));
        assert_eq!(restored(Some("RPM")), Err(Some("label")));
    }

    #[cfg(feature = "providers")]
    #[test]
    fn a_response_is_read_with_the_default_of_every_option() {
        let learn = |status, provider| {
            let options = LearnOptions { provider, ..LearnOptions::default() };
            AdminRequest::learn(status, &[("retry-after", "3")], "", options)
        };
        assert_eq!(result(&learn(Some(429), None).unwrap()), Ok(()));
        assert_eq!(result(&learn(None, Some("github")).unwrap()), Ok(()));
        assert_eq!(learn(Some(70_000), None).unwrap_err().argument(), Some("status"));
        assert_eq!(learn(None, Some("nobody")).unwrap_err().argument(), Some("provider"));
    }
}
