//! `Gate`: an Invantive control with its limiters in a store.

use std::cell::RefCell;
use std::rc::Rc;

use napi_derive::napi;
use paddlegate::Procedure;
use paddlegate::formats::invantive;

use crate::calls::Calls;
use crate::convert::{Code, thrown};
use crate::multi_step::MultiStepCall;

/// Selects the slot of a document that limits a request.
#[napi]
pub struct Gate {
    calls: Rc<RefCell<Calls>>,
    inner: invantive::Gate,
}

/// The attributes of a request.
#[napi(object, object_to_js = false)]
pub struct RequestAttributes {
    pub context: Option<String>,
    pub url: Option<String>,
    pub log_on_code: Option<String>,
    pub data_container_id: Option<String>,
    pub ip: Option<String>,
}

#[napi]
impl Gate {
    /// Starts the decision about a request.
    // napi passes objects by value.
    #[allow(clippy::needless_pass_by_value)]
    #[napi(catch_unwind)]
    pub fn start(&self, facts: RequestAttributes) -> napi::Result<MultiStepCall, Code> {
        let known = invantive::RequestAttributes {
            context: facts.context.as_deref(),
            url: facts.url.as_deref(),
            log_on_code: facts.log_on_code.as_deref(),
            data_container_id: facts.data_container_id.as_deref(),
            ip: facts.ip.as_deref(),
        };
        let check = self.inner.start(&known).map_err(|error| thrown(&error))?;
        Ok(MultiStepCall::new(&self.calls, Procedure::Gate(check)))
    }
}

impl Gate {
    pub(crate) fn new(calls: &Rc<RefCell<Calls>>, inner: invantive::Gate) -> Self {
        Self { calls: Rc::clone(calls), inner }
    }
}
