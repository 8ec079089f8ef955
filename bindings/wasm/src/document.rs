//! Documents of every format, converted to limiters.

use paddlegate::{Calendar, Definition, Document, Kind, Limit, LoadOptions, LoadedLimiter, Refund, period};
use wasm_bindgen::prelude::*;

use crate::admission::Gate;
use crate::argument::{millis, optional, text};
use crate::host::{Host, Thrown, number};
use crate::store::Store;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(method)]
    fn policy(this: &Host, name: &str, limits: Vec<JsValue>, wait_timeout: Option<String>, on_limit: &str) -> JsValue;

    #[wasm_bindgen(method, js_name = policyLimit)]
    #[allow(clippy::too_many_arguments)]
    fn policy_limit(
        this: &Host,
        kind: &str,
        label: &str,
        interval: Option<String>,
        limit: Option<f64>,
        offset: Option<String>,
        refund: Option<&str>,
        per: Option<&str>,
        timezone: Option<&str>,
        starts: Option<String>,
    ) -> JsValue;
}

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
        let mut flat = Vec::new();
        for loaded in loaded().map_err(|error| self.host.error(error))? {
            flat.extend(self.loaded(loaded));
        }
        Ok(flat)
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

/// Returns the format of a document, followed by its policies.
#[wasm_bindgen]
#[allow(clippy::needless_pass_by_value)] // wasm-bindgen passes it by value
pub fn policies(host: Host, text: &str) -> Thrown<Vec<JsValue>> {
    let read = || {
        let document = Document::parse(text)?;
        Ok((document.format(), document.definitions()?))
    };
    let (format, definitions) = read().map_err(|error| host.error(error))?;
    let mut all = vec![format.into()];
    all.extend(definitions.iter().map(|definition| policy(&host, definition)));
    Ok(all)
}

fn policy(host: &Host, definition: &Definition) -> JsValue {
    let limits = definition.policy.limits();
    let limits = if limits.is_empty() {
        vec![host.policy_limit("unlimited", "unlimited", None, None, None, None, None, None, None)]
    } else {
        limits.iter().map(|each| limit(host, each)).collect()
    };
    let wait_timeout = definition.wait_timeout.map(period::show);
    host.policy(&definition.name, limits, wait_timeout, definition.on_limit.name())
}

fn limit(host: &Host, limit: &Limit) -> JsValue {
    let kind = limit.kind();
    let is_counted = kind != Kind::Paused;
    // A throttle of one start is shown with its interval alone.
    let has_amount = is_counted && (kind != Kind::Throttle || limit.amount() > 1);
    let calendar = limit.calendar();
    host.policy_limit(
        kind.name(),
        limit.label(),
        (is_counted && calendar.is_none()).then(|| period::show(limit.interval())),
        has_amount.then(|| number(limit.amount())),
        (limit.offset().0 > 0).then(|| period::show(limit.offset())),
        (limit.refund() != Refund::Full).then(|| limit.refund().name()),
        calendar.map(|calendar| calendar.per().name()),
        calendar.map(Calendar::timezone),
        calendar.map(Calendar::starts),
    )
}
