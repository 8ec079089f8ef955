//! `NativeGate`: the limits of an Invantive control.

use paddlegate_core::formats::invantive::{Gate, GateDecision, Level, RequestAttributes};
use paddlegate_core::{MultiStep, Reason, SignalHandling};

use crate::error::Result;
use crate::number::{some_us, us};

/// Chooses the slot of a document that limits a request.
#[derive(uniffi::Object)]
pub struct NativeGate(pub(crate) Gate);

/// The attributes of a request; an absent one matches no criterion.
#[derive(uniffi::Record)]
pub struct NativeAttributes {
    pub context: Option<String>,
    pub url: Option<String>,
    pub log_on_code: Option<String>,
    pub data_container_id: Option<String>,
    pub ip: Option<String>,
}

/// The decision on a request.
#[derive(uniffi::Record)]
pub struct NativeGateDecision {
    pub allowed: bool,
    pub level: Option<String>,
    pub reason: Option<String>,
    pub delay_us: i64,
    pub retry_after_us: Option<i64>,
    pub slot: Option<String>,
}

#[uniffi::export]
impl NativeGate {
    pub fn admit(&self, attributes: NativeAttributes) -> Result<NativeGateDecision> {
        let facts = RequestAttributes {
            context: attributes.context.as_deref(),
            url: attributes.url.as_deref(),
            log_on_code: attributes.log_on_code.as_deref(),
            data_container_id: attributes.data_container_id.as_deref(),
            ip: attributes.ip.as_deref(),
        };
        Ok(self.0.start(&facts)?.run(SignalHandling::Ignore)?.into())
    }
}

impl From<GateDecision> for NativeGateDecision {
    fn from(it: GateDecision) -> Self {
        Self {
            allowed: it.allowed,
            level: it.level.map(Level::name).map(str::to_owned),
            reason: it.reason.map(Reason::name).map(str::to_owned),
            delay_us: us(it.delay),
            retry_after_us: some_us(it.retry_after),
            slot: it.slot,
        }
    }
}
