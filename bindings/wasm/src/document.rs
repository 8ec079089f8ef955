//! Documents of every format, converted to limiters.

use paddlegate::{Definition, Document, Limit, LoadOptions, LoadedLimiter, Result, period};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

use crate::admission::Gate;
use crate::argument::{millis, optional, text};
use crate::host::{Host, Thrown, number};
use crate::store::Store;

#[wasm_bindgen]
impl Store {
    /// Returns the limiters of a document, each followed by its wait timeout in milliseconds, if the document has one,
    /// and by the handling of refused work.
    pub fn load(
        &self,
        document: &str,
        lock_timeout: &JsValue,
        tenant: &JsValue,
        group: &JsValue,
    ) -> Thrown<Vec<JsValue>> {
        let loaded = || {
            let tenant = optional(tenant, |tenant| text("tenant", tenant))?;
            let group = optional(group, |group| text("group", group))?;
            let lock_timeout = optional(lock_timeout, |span| millis("lock_timeout", span))?;
            let options = LoadOptions { lock_timeout, tenant: tenant.as_deref(), group: group.as_deref() };
            self.paddlegate.load_with(document, &options)
        };
        let loaded = loaded().map_err(|error| self.host.error(error))?;
        Ok(loaded.into_iter().flat_map(|loaded| self.loaded(loaded)).collect())
    }

    /// Returns the limiter of a workflow run, with the same values as `load`.
    #[wasm_bindgen(js_name = conductorLimiter)]
    pub fn conductor_limiter(&self, definition: &str, run: &str, lock_timeout: &JsValue) -> Thrown<Vec<JsValue>> {
        let loaded = optional(lock_timeout, |span| millis("lock_timeout", span))
            .and_then(|lock_timeout| self.paddlegate.conductor_limiter(definition, run, lock_timeout));
        let loaded = loaded.map_err(|error| self.host.error(error))?;
        Ok(self.loaded(loaded).to_vec())
    }

    /// Returns the gate of a document.
    #[wasm_bindgen(js_name = invantiveGate)]
    pub fn invantive_gate(&self, document: &str) -> Thrown<Gate> {
        let gate = self.paddlegate.invantive_gate(document).map_err(|error| self.host.error(error))?;
        Ok(Gate { inner: gate, host: self.host.clone(), clock: self.clock.clone() })
    }
}

impl Store {
    fn loaded(&self, loaded: LoadedLimiter) -> [JsValue; 3] {
        let wait_timeout = loaded.wait_timeout.map(|timeout| number(timeout.0) / 1e3);
        [self.limiter_of(loaded.limiter).into(), wait_timeout.into(), loaded.on_limit.name().into()]
    }
}

/// Returns the format of a document and its limiters with their limits, as JSON.
#[wasm_bindgen]
#[allow(clippy::needless_pass_by_value)] // wasm-bindgen passes it by value
pub fn policies(host: Host, text: &str) -> Thrown<String> {
    read(text).map_err(|error| host.error(error))
}

fn read(text: &str) -> Result<String> {
    let document = Document::parse(text)?;
    let policies: Vec<Value> = document.definitions()?.iter().map(policy).collect();
    Ok(json!({ "format": document.format(), "policies": policies }).to_string())
}

fn policy(definition: &Definition) -> Value {
    let limits = definition.policy.limits();
    let limits: Vec<Value> = if limits.is_empty() {
        vec![json!({ "kind": "unlimited", "label": "unlimited" })]
    } else {
        limits.iter().map(limit).collect()
    };
    json!({
        "name": definition.name,
        "limits": limits,
        "waitTimeout": definition.wait_timeout.map(period::show),
        "onLimit": definition.on_limit.name(),
    })
}

fn limit(limit: &Limit) -> Value {
    let mut shown = json!({ "kind": limit.kind().name(), "label": &**limit.label() });
    if !matches!(limit.kind(), paddlegate::Kind::Paused) {
        shown["interval"] = json!(period::show(limit.interval()));
        // A throttle of one start is shown with its interval alone.
        if limit.kind() != paddlegate::Kind::Throttle || limit.amount() > 1 {
            shown["limit"] = json!(limit.amount());
        }
    }
    if limit.offset().0 > 0 {
        shown["offset"] = json!(period::show(limit.offset()));
    }
    shown
}
