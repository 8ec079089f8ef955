//! `Cost`: the units of a call, as its caller writes them.

use crate::base::charge::Charge;
use crate::base::error::{Error, Result};
use crate::model::kind::Kind;
use crate::model::label::Label;
use crate::model::limit::{Limit, MAX_UNITS};
use crate::model::policy::Policy;

/// The units of a call: one number for every limit that counts units, or a number for each label.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{Limit, Paddlegate, Policy, Request};
/// let minute = Duration::from_secs(60);
/// let limits = [Limit::window(500, minute)?.labelled("rpm")?, Limit::points(150_000, minute)?.labelled("tpm")?];
/// let llm = Paddlegate::memory().limiter("llm", Policy::new(limits)?)?;
/// assert!(llm.try_acquire(Request::cost(&[("tpm", 2_000)]))?.allowed(), "one call of two thousand tokens");
/// let unknown = llm.try_acquire(Request::cost(&[("tokens", 2_000)]));
/// assert_eq!(unknown.unwrap_err().argument(), Some("cost"));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost<'a> {
    /// From 0 to 10^12 units of every limit that counts units. A cost of 0 checks without taking.
    Units(u64),
    /// From 0 to 10^12 units of each label.
    ///
    /// A limit that is not named counts one, the call; a `points` limit must be named. Concurrency and throttle count
    /// calls, also one whose units are all 0, and may not be named.
    ByLabel(&'a [(&'a str, u64)]),
    /// As `ByLabel`, with labels of limits.
    Labelled(&'a [(Label, u64)]),
    /// For several limiters that decide together, from 0 to 10^12 units of each limiter or of its labels.
    ///
    /// Without the name of a limiter the label is that of every limiter which has it, or itself the name of a limiter. A limiter
    /// that is not named counts one.
    ByLimiter(&'a [LimiterUnits<'a>]),
}

/// Units of one limiter of several that decide together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimiterUnits<'a> {
    /// The name of the limiter; `None` for every limiter that has the label.
    pub limiter: Option<&'a str>,
    /// The label of a limit; `None` for every limit of the limiter that counts units.
    pub label: Option<&'a str>,
    /// From 0 to 10^12 units.
    pub units: u64,
}

impl From<u64> for Cost<'_> {
    fn from(units: u64) -> Self {
        Self::Units(units)
    }
}

impl<'a> From<&'a [(&'a str, u64)]> for Cost<'a> {
    fn from(units: &'a [(&'a str, u64)]) -> Self {
        Self::ByLabel(units)
    }
}

impl<'a, const N: usize> From<&'a [(&'a str, u64); N]> for Cost<'a> {
    fn from(units: &'a [(&'a str, u64); N]) -> Self {
        Self::ByLabel(units)
    }
}

impl<'a> From<&'a [LimiterUnits<'a>]> for Cost<'a> {
    fn from(units: &'a [LimiterUnits<'a>]) -> Self {
        Self::ByLimiter(units)
    }
}

impl<'a> Cost<'a> {
    /// Returns the units of each limit of the policy. Errors name the argument of the caller.
    #[inline]
    pub(crate) fn charge(&self, argument: &'static str, policy: &Policy) -> Result<Charge> {
        match *self {
            Cost::Units(units) => {
                check_units(argument, units)?;
                Ok(Charge::All(units))
            }
            Cost::ByLabel(units) => by_label(argument, &units.iter().copied(), policy),
            Cost::Labelled(units) => by_label(argument, &units.iter().map(|(label, units)| (&**label, *units)), policy),
            Cost::ByLimiter(_) => {
                Err(Error::invalid(argument, "names limiters, but only one decides; give a number or labels"))
            }
        }
    }

    /// Returns the units of a call that takes them: a map or an estimate is one also when all its units are zero, and limits that
    /// count calls count it.
    #[inline]
    pub(crate) fn charge_of_call(&self, argument: &'static str, policy: &Policy) -> Result<Charge> {
        let charge = self.charge(argument, policy)?;
        Ok(if self.looks(argument) { charge } else { counting_calls(charge, policy) })
    }

    /// Returns whether a call of these units only looks.
    #[inline]
    fn looks(&self, argument: &'static str) -> bool {
        argument != "estimate" && *self == Cost::Units(0)
    }

    /// Returns the units that an extension adds to each limit of the policy: a map takes nothing of a limit that it does not
    /// name, nor of those that count calls.
    pub(crate) fn extension(&self, argument: &'static str, policy: &Policy) -> Result<Charge> {
        let charge = match *self {
            Cost::ByLabel(units) => more_by_label(argument, &units.iter().copied(), policy)?,
            Cost::Labelled(units) => {
                more_by_label(argument, &units.iter().map(|(label, units)| (&**label, *units)), policy)?
            }
            cost => cost.charge(argument, policy)?,
        };
        if charge.most() == 0 {
            return Err(Error::invalid(argument, format!("must be at least 1 of one limit: {argument}=0")));
        }
        Ok(charge)
    }

    /// Returns the units of a call to several limiters as [`charge_of_call`](Self::charge_of_call) does.
    pub(crate) fn charges_of_call(&self, argument: &'static str, limiters: &[(&str, &Policy)]) -> Result<Vec<Charge>> {
        let mut charges = self.charges(argument, limiters)?;
        for (charge, (_, policy)) in charges.iter_mut().zip(limiters).filter(|_| !self.looks(argument)) {
            *charge = counting_calls(*charge, policy);
        }
        Ok(charges)
    }

    /// Returns the units of each limit of several limiters, which are given by name.
    pub(crate) fn charges(&self, argument: &'static str, limiters: &[(&str, &Policy)]) -> Result<Vec<Charge>> {
        let has = |name: &str| limiters.iter().any(|(other, _)| *other == name);
        // A key is the name of a limiter before it is a label.
        let keyed = |key: &'a str, units| {
            if has(key) {
                LimiterUnits { limiter: Some(key), label: None, units }
            } else {
                LimiterUnits { limiter: None, label: Some(key), units }
            }
        };
        let each: Vec<LimiterUnits<'a>> = match *self {
            Cost::Units(_) => return limiters.iter().map(|(_, policy)| self.charge(argument, policy)).collect(),
            Cost::ByLabel(units) => units.iter().map(|(key, units)| keyed(key, *units)).collect(),
            Cost::Labelled(units) => units.iter().map(|(key, units)| keyed(key, *units)).collect(),
            Cost::ByLimiter(units) => {
                let named = |units: &LimiterUnits<'a>| match (units.limiter, units.label) {
                    (None, Some(key)) => keyed(key, units.units),
                    _ => *units,
                };
                units.iter().map(named).collect()
            }
        };
        let names = || limiters.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        for LimiterUnits { limiter, label, .. } in &each {
            let is_known = match (limiter, label) {
                (Some(limiter), _) => has(limiter),
                (None, Some(label)) => limiters.iter().any(|(_, policy)| policy.limit(Some(label)).is_ok()),
                (None, None) => false,
            };
            if !is_known {
                let shown: String = limiter.or(*label).unwrap_or_default().chars().take(40).collect();
                let message = format!("must name a limiter or a label of {}: name={shown:?}", names());
                return Err(Error::invalid(argument, message));
            }
        }
        limiters.iter().map(|(name, policy)| of_limiter(argument, &each, name, policy)).collect()
    }
}

/// Returns the charge of a call that may take nothing, which limits that count calls count.
#[inline]
fn counting_calls(charge: Charge, policy: &Policy) -> Charge {
    if charge.is_call() || policy.limits().is_empty() {
        return charge;
    }
    let call = Charge::each(policy.limits().iter().map(|limit| u64::from(limit.counts_starts())));
    if call.most() > 0 { call.simplest() } else { call }
}

fn of_limiter(argument: &'static str, each: &[LimiterUnits<'_>], name: &str, policy: &Policy) -> Result<Charge> {
    let own = each.iter().filter(|units| units.limiter == Some(name));
    let whole: Vec<u64> = own.clone().filter(|units| units.label.is_none()).map(|units| units.units).collect();
    let mut labels: Vec<(&str, u64)> = own.clone().filter_map(|units| Some((units.label?, units.units))).collect();
    match whole[..] {
        [] => {}
        [units] if labels.is_empty() => return Cost::Units(units).charge(argument, policy),
        _ => return Err(Error::invalid(argument, format!("names a limiter twice: limiter={name}"))),
    }
    for units in each.iter().filter(|units| units.limiter.is_none()) {
        let Some(label) = units.label.filter(|label| policy.limit(Some(label)).is_ok()) else { continue };
        if own.clone().all(|own| own.label != Some(label)) {
            labels.push((label, units.units));
        }
    }
    Cost::ByLabel(&labels).charge(argument, policy)
}

fn more_by_label<'a>(
    argument: &'static str,
    units: &(impl Iterator<Item = (&'a str, u64)> + Clone),
    policy: &Policy,
) -> Result<Charge> {
    check_labels(argument, units, policy)?;
    let of = |limit: &Limit| units.clone().find(|(label, _)| *label == &**limit.label()).map_or(0, |(_, units)| units);
    Ok(Charge::each(policy.limits().iter().map(of)))
}

/// Checks that each label is of the policy, once, and of a limit that counts units.
fn check_labels<'a>(
    argument: &'static str,
    units: &(impl Iterator<Item = (&'a str, u64)> + Clone),
    policy: &Policy,
) -> Result<()> {
    for (i, (label, of_label)) in units.clone().enumerate() {
        let shown: String = label.chars().take(40).collect();
        let Some(limit) = policy.limits().iter().find(|limit| **limit.label() == *label) else {
            let labels: Vec<&str> = policy.limits().iter().map(|limit| &**limit.label()).collect();
            let rule = match labels[..] {
                [] => "must be a number, since the policy has no limit".to_owned(),
                _ => format!("must name labels of the policy, {}", labels.join(", ")),
            };
            return Err(Error::invalid(argument, format!("{rule}: label={shown:?}")));
        };
        if limit.counts_starts() {
            let message = format!("counts calls, not units; leave it out: label={label}");
            return Err(Error::invalid(argument, message));
        }
        if units.clone().take(i).any(|(other, _)| other == label) {
            return Err(Error::invalid(argument, format!("names a label twice: label={label}")));
        }
        if of_label > MAX_UNITS {
            let message = format!("must be from 0 to {MAX_UNITS}: {label}={of_label}");
            return Err(Error::invalid(argument, message));
        }
    }
    Ok(())
}

fn by_label<'a>(
    argument: &'static str,
    units: &(impl Iterator<Item = (&'a str, u64)> + Clone),
    policy: &Policy,
) -> Result<Charge> {
    check_labels(argument, units, policy)?;
    let of = |limit: &Limit| units.clone().find(|(label, _)| *label == &**limit.label()).map(|(_, units)| units);
    if let Some(limit) = policy.limits().iter().find(|limit| limit.kind() == Kind::Points && of(limit).is_none()) {
        let message = format!("must name the limit that counts points: label={}", limit.label());
        return Err(Error::invalid(argument, message));
    }
    let counted = || policy.limits().iter().filter(|limit| !limit.counts_starts()).map(|limit| of(limit).unwrap_or(1));
    let most = counted().max().unwrap_or(1);
    if counted().all(|units| units == most) {
        return Ok(Charge::All(most));
    }
    let units = |limit: &Limit| if limit.counts_starts() { most.min(1) } else { of(limit).unwrap_or(1) };
    Ok(Charge::each(policy.limits().iter().map(units)))
}

pub(crate) fn check_units(argument: &'static str, units: u64) -> Result<()> {
    if units > MAX_UNITS {
        return Err(Error::invalid(argument, format!("must be from 0 to {MAX_UNITS}: {argument}={units}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn policy() -> Policy {
        let minute = Duration::from_secs(60);
        let limits = [
            Limit::window(500, minute).unwrap().labelled("rpm").unwrap(),
            Limit::points(150_000, minute).unwrap().labelled("tpm").unwrap(),
            Limit::concurrency(5, minute).unwrap(),
        ];
        Policy::new(limits).unwrap()
    }

    fn charge(units: &[(&str, u64)]) -> Result<Charge> {
        Cost::ByLabel(units).charge("cost", &policy())
    }

    #[test]
    fn a_limit_that_is_not_named_counts_the_call() {
        assert_eq!(charge(&[("tpm", 2_000)]).unwrap().to_string(), "1,2000,1");
        assert_eq!(charge(&[("tpm", 2_000), ("rpm", 0)]).unwrap().to_string(), "0,2000,1");
        assert_eq!(charge(&[("tpm", 0)]).unwrap().to_string(), "1,0,1");
    }

    #[test]
    fn equal_units_are_one_number() {
        assert_eq!(charge(&[("tpm", 1)]).unwrap(), Charge::All(1));
        assert_eq!(charge(&[("tpm", 7), ("rpm", 7)]).unwrap(), Charge::All(7));
    }

    #[test]
    fn only_the_number_zero_of_a_cost_looks() {
        let of = |cost: Cost<'_>, argument, policy: &Policy| cost.charge_of_call(argument, policy).unwrap();
        let zeros = Cost::ByLabel(&[("rpm", 0), ("tpm", 0)]);
        for (cost, argument) in [(zeros, "cost"), (zeros, "estimate"), (Cost::Units(0), "estimate")] {
            assert_eq!(of(cost, argument, &policy()).to_string(), "0,0,1");
        }
        assert_eq!(of(Cost::Units(0), "cost", &policy()), Charge::All(0));
        let throttle = Policy::new([Limit::throttle(Duration::from_secs(1)).unwrap()]).unwrap();
        assert_eq!(of(Cost::Units(0), "estimate", &throttle), Charge::All(1));
        let window = Policy::new([Limit::window(5, Duration::from_secs(1)).unwrap()]).unwrap();
        assert!(of(Cost::ByLabel(&[("window", 0)]), "cost", &window).is_call());
    }

    #[test]
    fn errors_name_the_argument_and_the_label() {
        let cases: [(&[(&str, u64)], &str); 6] = [
            (&[("tokens", 1)], "must name labels of the policy, rpm, tpm, concurrency: label=\"tokens\""),
            (&[("tpm", 1), ("concurrency", 1)], "counts calls, not units; leave it out: label=concurrency"),
            (&[("tpm", 1), ("tpm", 1)], "names a label twice: label=tpm"),
            (&[("rpm", 1)], "must name the limit that counts points: label=tpm"),
            (&[], "must name the limit that counts points: label=tpm"),
            (&[("tpm", MAX_UNITS + 1)], "must be from 0 to 1000000000000: tpm=1000000000001"),
        ];
        for (units, message) in cases {
            let error = charge(units).unwrap_err();
            assert_eq!((error.argument(), error.message()), (Some("cost"), message));
        }
        let unlimited = Policy::new([Limit::unlimited()]).unwrap();
        assert!(Cost::ByLabel(&[("tpm", 1)]).charge("estimate", &unlimited).is_err());
    }
}
