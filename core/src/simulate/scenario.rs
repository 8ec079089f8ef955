//! `Scenario`: policies, arrivals and events.

use super::arrivals::Arrivals;
use super::candidate::{PolicyUnderTest, policy};
use super::clients::MAX_CLIENTS;
use super::draw::Range;
use super::event::Event;
use super::fields::{Fields, Scalar};
use super::units::{Units, UnitsRange, check};
use crate::base::error::Result;
use crate::base::micros::{MAX_SPAN, Micros};
use crate::model::limit::{Kind, Limit, MAX_UNITS};
use crate::model::policy::Policy;

/// The maximum number of compared policies.
pub const MAX_POLICIES: usize = 4;

/// The input of a simulation. The type `Scenario` of `packages/wasm/full/index.d.ts` lists its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    pub(super) seed: u64,
    pub(super) until: Option<Micros>,
    pub(super) policies: Vec<PolicyUnderTest>,
    pub(super) arrivals: Arrivals,
    pub(super) cost: UnitsRange,
    pub(super) actual: Option<UnitsRange>,
    /// Microseconds.
    pub(super) work: Range,
    pub(super) clients: usize,
    /// The maximum number of concurrent jobs per client; 0: unlimited.
    pub(super) at_once: u64,
    pub(super) upstream: Option<Upstream>,
    pub(super) events: Vec<Event>,
}

/// The limits that the called service itself enforces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Upstream {
    pub(super) policy: Policy,
    pub(super) latency: Micros,
    /// Whether its refusal pauses the limiter.
    pub(super) learns: bool,
}

impl Scenario {
    /// Reads a scenario from the paths of its values, such as `policies[0].limits[1].interval`, in any order.
    ///
    /// Errors are `Invalid` with the argument `scenario` and a message that begins with the path, such as `at
    /// $.arrivals.count`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::simulate::{Scalar, Scenario};
    /// let error = Scenario::read([("policies[0].limits[0].kind", Scalar::from("wind"))]).unwrap_err();
    /// assert_eq!(error.argument(), Some("scenario"));
    /// assert!(error.message().starts_with("at $.policies[0].limits[0].kind: "), "{error}");
    /// ```
    pub fn read<P: Into<String>>(values: impl IntoIterator<Item = (P, Scalar)>) -> Result<Self> {
        let fields = Fields::new(values);
        let list = fields.get("policies");
        let policies = list.items(MAX_POLICIES)?.iter().map(PolicyUnderTest::read).collect::<Result<Vec<_>>>()?;
        if policies.is_empty() {
            return Err(list.fault(&format!("must be a list of 1 to {MAX_POLICIES} policies")));
        }
        let clients = fields.get("clients").whole(1, MAX_CLIENTS)?.unwrap_or(1);
        let clients = usize::try_from(clients).unwrap_or(1);
        let scenario = Self {
            seed: fields.get("seed").whole(0, 1 << 53)?.unwrap_or(1),
            until: fields.get("until").length()?,
            arrivals: Arrivals::read(&fields.get("arrivals"))?,
            cost: UnitsRange::read(&fields.get("cost"), 1)?.unwrap_or(UnitsRange::All(Range::only(1))),
            actual: UnitsRange::read(&fields.get("actual"), 0)?,
            work: Range::read(&fields.get("work"), |field| Ok(field.span()?.map(|span| span.0)))?
                .unwrap_or(Range::only(0)),
            clients,
            at_once: fields.get("at_once").whole(0, MAX_UNITS)?.unwrap_or(0),
            upstream: Upstream::read(&fields)?,
            events: Event::read_all(&fields, clients)?,
            policies,
        };
        fields.check_known()?;
        scenario.check_costs()?;
        Ok(scenario)
    }

    /// Checks that every policy can count the costs.
    fn check_costs(&self) -> Result<()> {
        let own = self.policies.iter().map(|candidate| &candidate.policy);
        let policies: Vec<&Policy> = own.chain(self.upstream.iter().map(|upstream| &upstream.policy)).collect();
        let checked = |path: &str, units: &Units| check(path, units, &policies);
        checked("cost", &self.cost.most())?;
        let actual = self.actual.as_ref().map(UnitsRange::most);
        actual.iter().try_for_each(|actual| checked("actual", actual))?;
        let mut last = None;
        let rows = self.arrivals.traced().unwrap_or_default().iter();
        for traced in rows.filter(|traced| traced.has_labels()) {
            // Rows with the same labels are alike.
            let labels = traced.labels();
            if last.as_ref() == Some(&labels) {
                continue;
            }
            last = Some(labels);
            let (mut cost, mut actual) = (self.cost.most(), actual.clone());
            traced.replace(&mut cost, &mut actual);
            checked("arrivals.text", &cost)?;
            actual.iter().try_for_each(|actual| checked("arrivals.text", actual))?;
        }
        Ok(())
    }

    /// Reads a scenario from JSON; null counts as absent.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::simulate::{Scenario, Simulation};
    /// let json = Scenario::json(
    ///     r#"{
    ///         "policies": [{ "limits": [{ "kind": "throttle", "interval": "1s" }], "retry": "wait" }],
    ///         "arrivals": { "kind": "jobs", "count": 3 }
    ///     }"#,
    /// )?;
    /// let mut simulation = Simulation::new(&Scenario::from_json(&json)?, 0)?;
    /// while simulation.run(1_000)? {}
    /// assert_eq!(simulation.totals().drained_after, Some(2_000_000), "one start each second");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[cfg(feature = "documents")]
    pub fn from_json(value: &serde_json::Value) -> Result<Self> {
        let mut values = Vec::new();
        flatten(String::new(), value, &mut values);
        Self::read(values)
    }

    /// Parses JSON of any length without reading a scenario. `Invalid` when a member is present twice.
    #[cfg(feature = "documents")]
    pub fn json(text: &str) -> Result<serde_json::Value> {
        crate::base::json::unbounded(text)
    }

    /// Returns the number of compared policies.
    pub fn policies(&self) -> usize {
        self.policies.len()
    }

    /// Returns a policy, counted from 0.
    pub fn policy(&self, number: usize) -> Option<&Policy> {
        self.policies.get(number).map(|candidate| &candidate.policy)
    }

    /// Returns the interval for the largest burst: the shortest interval of the first policy, otherwise a second.
    pub(super) fn burst_interval(&self) -> Micros {
        let limits = self.policies.first().map_or(&[][..], |candidate| candidate.policy.limits());
        let intervals = limits.iter().filter(|limit| limit.kind() != Kind::Concurrency).map(Limit::interval);
        intervals.filter(|interval| interval.0 > 0).min().unwrap_or(Micros(1_000_000)).min(MAX_SPAN)
    }
}

impl Upstream {
    fn read(fields: &Fields) -> Result<Option<Self>> {
        let field = fields.get("upstream");
        if !field.is_given() {
            return Ok(None);
        }
        Ok(Some(Self {
            policy: policy(&field)?,
            latency: field.get("latency").span()?.unwrap_or_default(),
            learns: field.get("learn").flag()?.unwrap_or(false),
        }))
    }
}

/// Appends the paths and values of a JSON value.
#[cfg(feature = "documents")]
fn flatten(path: String, value: &serde_json::Value, values: &mut Vec<(String, Scalar)>) {
    use serde_json::Value;

    let scalar = match value {
        Value::Null => return,
        Value::Bool(flag) => Scalar::Flag(*flag),
        Value::Number(number) => number.as_u64().map_or_else(|| Scalar::Other(number.to_string()), Scalar::Whole),
        Value::String(text) => Scalar::Text(text.clone()),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                flatten(format!("{path}[{i}]"), item, values);
            }
            return;
        }
        Value::Object(members) => {
            for (name, member) in members {
                let dot = if path.is_empty() { "" } else { "." };
                flatten(format!("{path}{dot}{name}"), member, values);
            }
            return;
        }
    };
    values.push((path, scalar));
}
