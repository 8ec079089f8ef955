//! `Answer`: what Envoy is told of the decisions on its descriptors.

use axum::http::HeaderMap;
use axum::http::header::RETRY_AFTER;
use paddlegate::{CalendarPeriod, Decision, Limit, Limiter, Micros};

use super::messages::{Code, CurrentLimit, DescriptorStatus, Duration, Header, RateLimitResponse, Unit};
use crate::refusal::{fields, policy_name, whole_seconds};

/// The statuses of the descriptors, and the headers of the response.
pub(super) struct Answer {
    statuses: Vec<DescriptorStatus>,
    fields: HeaderMap,
    retry_after: Option<u64>,
    is_over: bool,
}

impl Answer {
    /// Creates the answer of descriptors that all pass.
    pub(super) fn new(descriptors: usize) -> Self {
        let passes = DescriptorStatus { code: Code::Ok.into(), ..DescriptorStatus::default() };
        Self { statuses: vec![passes; descriptors], fields: HeaderMap::new(), retry_after: None, is_over: false }
    }

    /// Returns whether a descriptor is over its limit.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Adds the decision of one limiter on a descriptor.
    pub(super) fn add(&mut self, descriptor: usize, limiter: &Limiter, decision: &Decision, has_fields: bool) {
        let reset = decision.retry_after.filter(|after| after.0 > 0).or(decision.reset_after);
        let shown = decision.limit.zip(decision.label.as_deref());
        self.set(
            descriptor,
            !decision.allowed(),
            shown.map(|shown| current(limiter, shown)),
            decision.remaining,
            reset,
        );
        self.add_headers(limiter, decision, has_fields);
    }

    /// Adds the decision of several limiters, each with its descriptor and whether it has fields.
    pub(super) fn add_together(&mut self, descriptors: &[(usize, bool)], several: &Limiter, decision: &mut Decision) {
        for ((descriptor, _), limiter) in descriptors.iter().zip(several.limiters()) {
            let own = decision.limits.iter().filter(|limit| limit.limiter.as_deref() == Some(limiter.name()));
            let least = own.min_by_key(|limit| limit.remaining);
            let refuses = decision.limiter.as_deref().is_none_or(|name| name == limiter.name());
            let reset = least.and_then(|limit| limit.retry_after.filter(|after| after.0 > 0).or(limit.reset_after));
            let shown = least.map(|limit| current(limiter, (limit.limit, &limit.label)));
            let remaining = least.map(|limit| limit.remaining);
            self.set(*descriptor, !decision.allowed() && refuses, shown, remaining, reset);
        }
        let mut named = descriptors.iter().zip(several.limiters()).filter(|((_, has_fields), _)| *has_fields);
        let has_fields = |name: Option<&str>| named.clone().any(|(_, limiter)| Some(limiter.name()) == name);
        decision.limits.retain(|limit| has_fields(limit.limiter.as_deref()));
        self.add_headers(several, decision, named.next().is_some());
    }

    /// Marks a descriptor as over its limit.
    pub(super) fn refuse(&mut self, descriptor: usize) {
        self.statuses[descriptor].code = Code::OverLimit.into();
        self.is_over = true;
    }

    fn set(
        &mut self,
        descriptor: usize,
        is_over: bool,
        current_limit: Option<CurrentLimit>,
        remaining: Option<u64>,
        reset: Option<Micros>,
    ) {
        self.statuses[descriptor] = DescriptorStatus {
            code: if is_over { Code::OverLimit } else { Code::Ok }.into(),
            limit_remaining: remaining.map_or(0, to_u32),
            duration_until_reset: reset.filter(|_| current_limit.is_some()).map(duration),
            current_limit,
        };
    }

    fn add_headers(&mut self, limiter: &Limiter, decision: &Decision, has_fields: bool) {
        if has_fields {
            for (name, value) in fields(limiter, decision) {
                // The answer has one `Retry-After`, of the longest wait.
                if let Some(name) = name.filter(|name| *name != RETRY_AFTER) {
                    self.fields.append(name, value);
                }
            }
        }
        if !decision.allowed() {
            self.is_over = true;
            let after = decision.retry_after.map(|after| whole_seconds(after).max(1));
            self.retry_after = self.retry_after.max(after);
        }
    }

    /// Returns the message.
    pub(super) fn into_response(self) -> RateLimitResponse {
        let header = |key: &str, value: String| Header { key: key.to_owned(), value };
        let mut headers: Vec<Header> =
            self.retry_after.map(|after| header("retry-after", after.to_string())).into_iter().collect();
        for name in self.fields.keys() {
            let values = self.fields.get_all(name).iter().filter_map(|value| value.to_str().ok());
            headers.push(header(name.as_str(), values.collect::<Vec<_>>().join(", ")));
        }
        RateLimitResponse {
            overall_code: if self.is_over { Code::OverLimit } else { Code::Ok }.into(),
            statuses: self.statuses,
            response_headers_to_add: headers,
        }
    }
}

fn current(limiter: &Limiter, (amount, label): (u64, &str)) -> CurrentLimit {
    let known = limiter.policy().limits().iter().find(|limit| &**limit.label() == label);
    CurrentLimit {
        requests_per_unit: to_u32(amount),
        unit: known.map_or(Unit::Unknown, unit).into(),
        name: policy_name(limiter, label),
    }
}

/// Returns the unit of a limit. Envoy shows no interval of another one.
fn unit(limit: &Limit) -> Unit {
    if let Some(calendar) = limit.calendar() {
        return match calendar.per() {
            CalendarPeriod::Day => Unit::Day,
            CalendarPeriod::Week => Unit::Week,
            CalendarPeriod::Month => Unit::Month,
            CalendarPeriod::Year => Unit::Year,
            CalendarPeriod::Quarter => Unit::Unknown,
        };
    }
    match limit.interval().0 {
        1_000_000 => Unit::Second,
        60_000_000 => Unit::Minute,
        3_600_000_000 => Unit::Hour,
        86_400_000_000 => Unit::Day,
        604_800_000_000 => Unit::Week,
        _ => Unit::Unknown,
    }
}

fn duration(micros: Micros) -> Duration {
    Duration {
        seconds: i64::try_from(micros.0 / 1_000_000).unwrap_or(i64::MAX),
        nanos: i32::try_from(micros.0 % 1_000_000 * 1_000).unwrap_or_default(),
    }
}

fn to_u32(units: u64) -> u32 {
    u32::try_from(units).unwrap_or(u32::MAX)
}
