//! `Gate`: an Invantive control with its limiters in a store.

use std::sync::Arc;

use paddlegate::formats::invantive::{self, GateCheck};
use paddlegate::store::redis::Redis;
use pyo3::prelude::*;

use crate::argument::text;
use crate::error::Result;
use crate::paddlegate::Paddlegate;

/// Chooses the slot of a document that limits a request.
#[pyclass(frozen, subclass, module = "paddlegate._native")]
pub(crate) struct Gate {
    inner: invantive::Gate,
    pub(crate) redis: Option<Arc<Redis>>,
}

type Fact<'py> = Option<Bound<'py, PyAny>>;

/// Context, URL, log-on code, data container id and IP address; each may be None.
pub(crate) type RequestAttributes<'py> = (Fact<'py>, Fact<'py>, Fact<'py>, Fact<'py>, Fact<'py>);

#[pymethods]
impl Gate {
    #[new]
    #[pyo3(signature = (paddlegate, document))]
    fn new(paddlegate: &Paddlegate, document: &Bound<'_, PyAny>) -> Result<Self> {
        let Paddlegate(store) = paddlegate;
        Ok(Self { inner: store.invantive_gate(text("document", document)?)?, redis: store.redis().cloned() })
    }
}

impl Gate {
    pub(crate) fn start(&self, facts: &RequestAttributes<'_>) -> Result<GateCheck> {
        let facts = invantive::RequestAttributes {
            context: fact("context", &facts.0)?,
            url: fact("url", &facts.1)?,
            log_on_code: fact("log_on_code", &facts.2)?,
            data_container_id: fact("data_container_id", &facts.3)?,
            ip: fact("ip", &facts.4)?,
        };
        Ok(self.inner.start(&facts)?)
    }
}

fn fact<'a>(name: &'static str, fact: &'a Fact<'_>) -> Result<Option<&'a str>> {
    fact.as_ref().map(|fact| text(name, fact)).transpose()
}
