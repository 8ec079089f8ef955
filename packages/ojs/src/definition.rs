//! `Definition`: the limits of a key: those of its latest policy, and the strategies that only an override has named.

use std::collections::BTreeMap;

use paddlegate::formats::ojs::RateLimit;
use paddlegate::{Kind, Limit, MAX_CONCURRENCY, MAX_WINDOW, Micros, Policy};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::fault::Fault;

/// The limit of a bucket that limits nothing.
const MOST: u64 = 1_000_000_000_000;

/// The limits of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Definition {
    /// The latest policy, or a job that has it.
    pub(crate) document: String,
    /// The kinds of the limits that overrides have named. An override rules only limits that a policy has, so they are in it,
    /// as good as no limit.
    #[serde(default)]
    added: BTreeMap<String, String>,
}

impl Definition {
    pub(crate) fn new(document: String) -> Self {
        Self { document, added: BTreeMap::new() }
    }

    /// Returns the definition of a key that only an override has named.
    pub(crate) fn without_limits() -> Self {
        Self::new(json!({"key": "any"}).to_string())
    }

    /// Returns the definition with the strategies of another that only an override has named.
    pub(crate) fn with_added_of(mut self, other: &Self) -> Self {
        for (label, kind) in &other.added {
            self.added.entry(label.clone()).or_insert_with(|| kind.clone());
        }
        self
    }

    /// Returns the definition with the strategies that an override names.
    pub(crate) fn with_override(mut self, document: &Map<String, Value>) -> Result<Self, Fault> {
        let names = |name: &str| document.get(name).is_some_and(|value| !value.is_null());
        let mut policy = json!({"key": "any"});
        for name in ["concurrency", "rate", "throttle"].into_iter().filter(|name| names(name)) {
            policy[name] = document[name].clone();
        }
        if names("limit") && names("period") && !names("rate") {
            (policy["rate"], policy["period"]) = (document["limit"].clone(), document["period"].clone());
        }
        let known = self.strategies()?;
        for limit in RateLimit::parse(&policy.to_string())?.policy(Micros(1_000_000))?.limits() {
            let label = limit.label().to_string();
            if limit.kind() != Kind::Unlimited && !known.contains(&label) {
                self.added.entry(label).or_insert_with(|| limit.kind().name().to_owned());
            }
        }
        Ok(self)
    }

    /// Returns the labels of the limits of the policy itself.
    pub(crate) fn strategies(&self) -> Result<Vec<String>, Fault> {
        let policy = RateLimit::parse(&self.document)?.policy(Micros(1_000_000))?;
        let limits = policy.limits().iter().filter(|limit| limit.kind() != Kind::Unlimited);
        Ok(limits.map(|limit| limit.label().to_string()).collect())
    }

    /// Returns whether both limit alike.
    pub(crate) fn is_as(&self, other: &Self) -> Result<bool, Fault> {
        let limits = |definition: &Self| {
            let policy = RateLimit::parse(&definition.document)?;
            Ok::<_, Fault>((policy.concurrency, policy.rate, policy.throttle))
        };
        Ok(limits(self)? == limits(other)?)
    }

    /// Returns the policy. It has a limit in any case, because only a policy with one has a state, which a pause needs.
    pub(crate) fn policy(&self, lease: Micros) -> Result<Policy, Fault> {
        let own = RateLimit::parse(&self.document)?.policy(lease)?;
        let mut limits: Vec<Limit> =
            own.limits().iter().filter(|limit| limit.kind() != Kind::Unlimited).cloned().collect();
        for (label, kind) in &self.added {
            if limits.iter().all(|limit| **limit.label() != **label) {
                limits.push(no_limit(Kind::from_name(kind)?, lease)?.labelled(label)?);
            }
        }
        if limits.is_empty() {
            limits.push(no_limit(Kind::Concurrency, lease)?);
        }
        Ok(Policy::new(limits)?)
    }
}

fn no_limit(kind: Kind, lease: Micros) -> Result<Limit, Fault> {
    let (amount, interval) = match kind {
        Kind::Concurrency => (MAX_CONCURRENCY, lease),
        Kind::Window => (MAX_WINDOW, Micros(1)),
        Kind::Throttle => (1, Micros(1)),
        _ => (MOST, Micros(1)),
    };
    Ok(Limit::of_kind(kind, amount, interval, Micros(0))?)
}
