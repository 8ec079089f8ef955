//! Learning from responses of upstream APIs, and cost estimates of queries.

use paddlegate::upstream::Response;
use paddlegate::{CostRules, Error, Feedback, MAX_PAUSE, Operation, Provider, Result};
use wasm_bindgen::prelude::*;

use crate::argument::{millis, optional, text, time, whole};
use crate::host::{Host, Thrown, number};
use crate::limiter::Limiter;

#[wasm_bindgen]
impl Limiter {
    /// Takes over what an answer says; what became of it. `headers` are names and values in turn.
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // wasm-bindgen passes lists by value
    #[wasm_bindgen(js_name = learnFromResponse)]
    pub fn learn_from_response(
        &self,
        provider: &JsValue,
        max_pause: &JsValue,
        max_learned: &JsValue,
        status: &JsValue,
        headers: Vec<String>,
        body: &str,
        permit: &JsValue,
        at: &JsValue,
    ) -> Thrown<JsValue> {
        let learned = || {
            let provider = optional(provider, |name| Provider::from_name(&text("provider", name)?))?;
            let max_pause = optional(max_pause, |span| millis("max_pause", span))?.unwrap_or(MAX_PAUSE);
            let max_learned = optional(max_learned, |most| whole("max_learned", most))?;
            let headers: Vec<(&str, &str)> = headers.as_chunks().0.iter().map(pair).collect();
            let response = Response { status: code(status)?, headers: &headers, body };
            let feedback = Feedback::read(provider.unwrap_or(Provider::Auto), &response, max_pause);
            let lesson = feedback.lesson(self.limiter.policy(), max_pause, max_learned);
            let permit = optional(permit, |permit| text("permit", permit))?;
            self.told(Operation::ApplyReport { report: lesson.report(permit.as_deref()), at: time(at)? })
        };
        self.thrown(learned())
    }
}

/// What a query is likely to cost. `variables` is JSON, or empty.
#[wasm_bindgen(js_name = graphqlCost)]
#[allow(clippy::needless_pass_by_value)] // wasm-bindgen passes it by value
pub fn graphql_cost(host: Host, query: &JsValue, variables: &str, rules: &JsValue, operation: &JsValue) -> Thrown<f64> {
    let cost = || {
        let query = text("query", query)?;
        let rules = optional(rules, |name| CostRules::from_name(&text("rules", name)?))?;
        let operation = optional(operation, |name| text("operation", name))?;
        paddlegate::graphql_cost(&query, variables, operation.as_deref(), rules.unwrap_or(CostRules::Shopify))
    };
    cost().map(number).map_err(|error| host.error(error))
}

fn code(status: &JsValue) -> Result<Option<u16>> {
    let wrong = |status| Error::invalid("status", format!("must be an http status code: status={status}"));
    let status = optional(status, |status| whole("status", status))?;
    status.map(|status| u16::try_from(status).map_err(|_| wrong(status))).transpose()
}

fn pair([name, value]: &[String; 2]) -> (&str, &str) {
    (name, value)
}
