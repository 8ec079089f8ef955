//! Learning from responses of upstream APIs, and cost estimates of queries.

use paddlegate::{AdminRequest, CostRules, LearnOptions};
use wasm_bindgen::prelude::*;

use crate::argument::{members, millis, optional, text, whole};
use crate::host::{Host, Thrown, number};
use crate::limiter::Limiter;

#[wasm_bindgen]
impl Limiter {
    /// Applies the budget in an upstream response. Returns the result. `headers` are names and values alternately.
    #[allow(clippy::too_many_arguments)]
    #[wasm_bindgen(js_name = learnFromResponse)]
    pub fn learn_from_response(
        &self,
        provider: &JsValue,
        max_pause: &JsValue,
        default_pause: &JsValue,
        max_learned: &JsValue,
        status: &JsValue,
        headers: &JsValue,
        body: &str,
        permit: &JsValue,
    ) -> Thrown<JsValue> {
        let request = || {
            let provider = optional(provider, |name| text("provider", name))?;
            let options = LearnOptions {
                provider: provider.as_deref(),
                max_pause: optional(max_pause, |span| millis("max_pause", span))?,
                default_pause: optional(default_pause, |span| millis("default_pause", span))?,
                max_learned: optional(max_learned, |most| whole("max_learned", most))?,
                permit: optional(permit, |permit| text("permit", permit))?,
            };
            let headers: Vec<String> = members(headers).iter().filter_map(JsValue::as_string).collect();
            let headers: Vec<(&str, &str)> = headers.as_chunks().0.iter().map(pair).collect();
            AdminRequest::learn(optional(status, |status| whole("status", status))?, &headers, body, options)
        };
        self.reported(request())
    }
}

/// Returns the estimated cost of a query. `variables` is JSON, or empty.
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

fn pair([name, value]: &[String; 2]) -> (&str, &str) {
    (name, value)
}
