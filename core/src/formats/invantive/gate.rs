//! `Gate`: a control with its limiters on a store.

use std::sync::Arc;
use std::time::Duration;

use super::control::RateLimitControl;
use super::element::RequestAttributes;
use super::passage::GateCheck;
use super::slot::{Level, Slot, hard_name, soft_name};
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::client::limiter::Limiter;
use crate::client::multi_step::MultiStep;
use crate::client::paddlegate::Paddlegate;
use crate::model::limit::Kind;
use crate::store::signal_handling::SignalHandling;

/// A control with its limiters on a store. Cheap to clone, safe to share between threads; make it once and keep it.
#[derive(Clone, Debug)]
pub struct Gate {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    control: RateLimitControl,
    slots: Vec<Limiters>,
    /// Which is asked for the time of the store.
    clock: Limiter,
}

/// The limiters of a slot; none of a slot without a name.
#[derive(Clone, Debug)]
pub(super) struct Limiters {
    pub(super) hard: Option<Limiter>,
    pub(super) soft: Vec<(Level, Limiter)>,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateDecision {
    /// Whether it may go ahead. If not, its answer is a failure.
    pub allowed: bool,
    /// By how much the answer is delayed, also that of a failure.
    pub delay: Micros,
    /// The slot that counted; `None` when nothing limits the request.
    pub slot: Option<String>,
    /// The level that refused, or the one that delays longest; `None` when no level is full.
    pub level: Option<Level>,
    /// When a refused request may pass, from the decision on; zero when allowed, `None` when no time is known (0 actions).
    pub retry_after: Option<Micros>,
    /// The kind of the limit that refused; `None` when allowed.
    pub reason: Option<Kind>,
}

impl Paddlegate {
    /// The gate of a `RateLimitControl` of Invantive: its limiters on this store. Asks no server.
    ///
    /// `Invalid` names the path to what is wrong in the document.
    pub fn gate(&self, document: &str) -> Result<Gate> {
        RateLimitControl::parse(document)?.gate(self)
    }
}

impl RateLimitControl {
    /// The limiters of all slots on a store. Asks no server.
    pub fn gate(&self, pg: &Paddlegate) -> Result<Gate> {
        let slots = self.slots().iter().map(|slot| Limiters::new(pg, slot)).collect::<Result<Vec<_>>>()?;
        let mut limiters = slots.iter().flat_map(|slot| slot.hard.iter().chain(slot.soft.iter().map(|soft| &soft.1)));
        let clock = match limiters.find(|limiter| has_state(limiter)) {
            Some(limiter) => limiter.clone(),
            None => pg.bucket("paddlegate:clock", 1, Duration::from_secs(1))?,
        };
        Ok(Gate { inner: Arc::new(Inner { control: self.clone(), slots, clock }) })
    }

    /// [`Gate::admit`] with limiters for this call only. Whoever calls often keeps a [`gate`](Self::gate).
    pub fn admit(&self, pg: &Paddlegate, request: &RequestAttributes<'_>, at: Option<Micros>) -> Result<GateDecision> {
        self.gate(pg)?.admit(request, at)
    }
}

impl Gate {
    /// Counts a request in the slot of the first element that applies, on the calling thread.
    ///
    /// The levels that fail are asked first; if one refuses, nothing is counted and the failure is delayed by that level's
    /// delay. Then those that only delay are counted, and the longest delay rules. `at` is the store's time, for tests and
    /// simulations; without it the store is asked, by a call of its own when an element has a validity.
    pub fn admit(&self, request: &RequestAttributes<'_>, at: Option<Micros>) -> Result<GateDecision> {
        self.start(request, at)?.run(SignalHandling::Ignore)
    }

    /// [`admit`](Self::admit) for hosts that carry each step themselves. `Invalid` when the address is none.
    pub fn start(&self, request: &RequestAttributes<'_>, at: Option<Micros>) -> Result<GateCheck> {
        GateCheck::new(self, request, at)
    }

    pub(super) fn control(&self) -> &RateLimitControl {
        &self.inner.control
    }

    pub(super) fn clock(&self) -> &Limiter {
        &self.inner.clock
    }

    pub(super) fn slot(&self, index: usize) -> Option<(&Slot, &Limiters)> {
        self.control().slots().get(index).zip(self.inner.slots.get(index))
    }
}

impl Limiters {
    fn new(pg: &Paddlegate, slot: &Slot) -> Result<Self> {
        let Some(name) = slot.name() else { return Ok(Self { hard: None, soft: Vec::new() }) };
        let soft = slot.soft().into_iter();
        Ok(Self {
            hard: slot.hard().map(|policy| pg.limiter(&hard_name(name), policy)).transpose()?,
            soft: soft
                .map(|soft| Ok((soft.level, pg.limiter(&soft_name(name, soft.level), soft.policy)?)))
                .collect::<Result<_>>()?,
        })
    }
}

impl GateDecision {
    pub(super) fn allowed(slot: Option<&str>) -> Self {
        Self {
            allowed: true,
            delay: Micros(0),
            slot: slot.map(str::to_owned),
            level: None,
            retry_after: Some(Micros(0)),
            reason: None,
        }
    }
}

/// Whether the store is asked at all.
fn has_state(limiter: &Limiter) -> bool {
    limiter.policy().limits().iter().all(|limit| limit.kind() != Kind::Paused)
}
