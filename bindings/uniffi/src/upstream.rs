//! Reports of an upstream API.

use paddlegate_core::{AdminRequest, Answer, CostRules, LearnOptions, Learned, LimitNumbers};

use crate::decision::{named, unexpected};
use crate::error::Result;
use crate::limiter::NativeLimiter;
use crate::live::deadline;
use crate::number::{micros, number, some, some_us, whole};

/// What a report changed.
#[derive(uniffi::Record)]
pub struct NativeLearned {
    pub settlement: Option<String>,
    pub learned: Vec<String>,
    pub ignored: Vec<String>,
    pub cost: Option<i64>,
    pub pause_us: Option<i64>,
    pub scope: Option<String>,
    pub bucket: Option<String>,
}

/// A response of an upstream.
#[derive(uniffi::Record)]
pub struct NativeResponse {
    pub status: Option<i64>,
    pub headers: Vec<NativeHeader>,
    pub body: String,
    pub permit: Option<String>,
    pub provider: Option<String>,
    pub max_pause_us: Option<i64>,
    pub default_pause_us: Option<i64>,
    pub max_learned: Option<i64>,
}

/// A header of a response.
#[derive(uniffi::Record)]
pub struct NativeHeader {
    pub name: String,
    pub value: String,
}

/// The budget behind one limit.
#[derive(uniffi::Record)]
pub struct NativeBudget {
    pub label: Option<String>,
    pub permit: Option<String>,
    pub remaining: Option<i64>,
    pub limit: Option<i64>,
    pub interval_us: Option<i64>,
    pub restore_rate: Option<f64>,
    pub reset_in_us: Option<i64>,
    pub reset_at_us: Option<i64>,
}

#[uniffi::export]
impl NativeLimiter {
    pub fn learn_from_response(&self, response: NativeResponse) -> Result<NativeLearned> {
        let headers: Vec<_> = response.headers.iter().map(|it| (it.name.as_str(), it.value.as_str())).collect();
        let options = LearnOptions {
            provider: response.provider.as_deref(),
            max_pause: some("max_pause", response.max_pause_us, micros)?,
            default_pause: some("default_pause", response.default_pause_us, micros)?,
            max_learned: some("max_learned", response.max_learned, whole)?,
            permit: response.permit,
        };
        let status = some("status", response.status, whole)?;
        self.report(&AdminRequest::learn(status, &headers, &response.body, options)?)
    }

    pub fn report_budget(&self, budget: NativeBudget) -> Result<NativeLearned> {
        self.report(&AdminRequest::ReportBudget {
            remaining: some("remaining", budget.remaining, whole)?,
            numbers: LimitNumbers {
                amount: some("limit", budget.limit, whole)?,
                interval: some("interval", budget.interval_us, micros)?,
                rate: budget.restore_rate,
            },
            reset: deadline(("reset_in", budget.reset_in_us), ("reset_at", budget.reset_at_us))?,
            label: budget.label,
            permit: budget.permit,
        })
    }
}

impl NativeLimiter {
    fn report(&self, request: &AdminRequest) -> Result<NativeLearned> {
        match self.admin(request)? {
            Answer::Report(learned) => Ok((*learned).into()),
            other => Err(unexpected(&other)),
        }
    }
}

impl From<Learned> for NativeLearned {
    fn from(it: Learned) -> Self {
        Self {
            settlement: it.settlement.map(named),
            learned: it.learned,
            ignored: it.ignored,
            cost: it.cost.map(number),
            pause_us: some_us(it.pause),
            scope: it.scope.map(str::to_owned),
            bucket: it.bucket,
        }
    }
}

/// Estimates the cost of a GraphQL query in points.
#[uniffi::export]
pub fn graphql_cost(
    query: String,
    variables: Option<String>,
    operation: Option<String>,
    rules: Option<String>,
) -> Result<i64> {
    let rules = CostRules::from_name(rules.as_deref().unwrap_or(CostRules::Shopify.name()))?;
    let variables = variables.unwrap_or_default();
    Ok(number(paddlegate_core::graphql_cost(&query, &variables, operation.as_deref(), rules)?))
}
