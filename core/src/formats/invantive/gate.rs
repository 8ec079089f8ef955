//! `Gate`: a control with its limiters in a store.

use std::sync::Arc;

use super::control::RateLimitControl;
use super::element::RequestAttributes;
use super::gate_check::GateCheck;
use super::slot::{Level, Slot, hard_name, soft_name};
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::client::limiter::Limiter;
use crate::client::multi_step::MultiStep;
use crate::client::paddlegate::Paddlegate;
use crate::model::reason::Reason;
use crate::store::signal_handling::SignalHandling;

/// A control with its limiters in a store. Cheap to clone and safe to share between threads; create it once and keep
/// it.
///
/// # Examples
///
/// ```
/// # use paddlegate::{Micros, Paddlegate, TestClock};
/// # use paddlegate::formats::invantive::{Level, RequestAttributes};
/// let clock = TestClock::new(Micros(1_000_000))?;
/// let gate = Paddlegate::memory_with_clock(&clock).invantive_gate(
///     r#"{
///         "RateLimitControlList": [{ "Url": "https://example.com/*", "SlotName": "web" }],
///         "RateLimitControlSlotList": [{ "Name": "web", "ActionsPerMinute": 1, "DelayMsOnOverflowMinute": 500 }]
///     }"#,
/// )?;
/// let request = RequestAttributes { url: Some("https://example.com/a"), ..RequestAttributes::default() };
/// assert!(gate.admit(&request)?.allowed);
/// let refused = gate.admit(&request)?;
/// assert_eq!((refused.allowed, refused.level), (false, Some(Level::Minute)));
/// assert_eq!((refused.delay, refused.retry_after), (Micros(500_000), Some(Micros(59_000_000))));
/// assert!(gate.admit(&RequestAttributes::default())?.allowed, "no element matches");
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gate {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    control: RateLimitControl,
    slots: Vec<Limiters>,
    /// The limiter whose decisions supply the store's time.
    clock: Limiter,
}

/// The limiters of a slot; a slot without a name has none.
#[derive(Clone, Debug)]
pub(super) struct Limiters {
    pub(super) hard: Option<Limiter>,
    pub(super) soft: Vec<(Level, Limiter)>,
}

/// The decision on a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateDecision {
    /// Whether the request may proceed; otherwise it must fail.
    pub allowed: bool,
    /// The delay of the response, whether it succeeds or fails.
    pub delay: Micros,
    /// The slot that applied; `None` when nothing limits the request.
    pub slot: Option<String>,
    /// The level that refused, or the one with the longest delay; `None` when no level is full.
    pub level: Option<Level>,
    /// Time from the decision until a refused request may pass; zero when allowed, `None` when unknown (0 actions).
    pub retry_after: Option<Micros>,
    /// The kind of the limit that refused; `None` when allowed.
    pub reason: Option<Reason>,
}

impl Paddlegate {
    /// Returns the gate of an Invantive `RateLimitControl`, with its limiters in this store. Does no I/O.
    ///
    /// `Invalid` contains the JSON path of a fault in the document.
    pub fn invantive_gate(&self, document: &str) -> Result<Gate> {
        RateLimitControl::parse(document)?.gate(self)
    }
}

impl RateLimitControl {
    /// Creates the limiters of all slots in a store. Does no I/O.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Paddlegate;
    /// # use paddlegate::formats::invantive::{RateLimitControl, RequestAttributes};
    /// let control = RateLimitControl::parse(
    ///     r#"{
    ///         "RateLimitControlList": [{ "SlotName": "all" }],
    ///         "RateLimitControlSlotList": [{ "Name": "all", "ActionsPerHour": 1 }]
    ///     }"#,
    /// )?;
    /// let gate = control.gate(&Paddlegate::memory())?;
    /// assert!(gate.admit(&RequestAttributes::default())?.allowed);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn gate(&self, pg: &Paddlegate) -> Result<Gate> {
        let slots = self.slots().iter().map(|slot| Limiters::new(pg, slot)).collect::<Result<Vec<_>>>()?;
        let mut limiters = slots.iter().flat_map(|slot| slot.hard.iter().chain(slot.soft.iter().map(|soft| &soft.1)));
        let clock =
            limiters.find(|limiter| limiter.has_state()).map_or_else(|| pg.clock(), |limiter| Ok(limiter.clone()))?;
        Ok(Gate { inner: Arc::new(Inner { control: self.clone(), slots, clock }) })
    }

    /// [`Gate::admit`] with limiters for this call only. For repeated calls keep a [`gate`](Self::gate).
    pub fn admit(&self, pg: &Paddlegate, request: &RequestAttributes<'_>) -> Result<GateDecision> {
        self.gate(pg)?.admit(request)
    }
}

impl Gate {
    /// Counts a request in the slot of the first matching element, on the caller's thread.
    ///
    /// The levels that fail are checked first; if one refuses, nothing is counted. Then the levels that only delay are
    /// counted. The longest delay of the levels that overflow applies, to an answer and to a failure; after a failure each
    /// level that could delay longer costs one more call. An element with a validity costs one more call, for the time of
    /// the store.
    pub fn admit(&self, request: &RequestAttributes<'_>) -> Result<GateDecision> {
        self.start(request)?.run(SignalHandling::Ignore)
    }

    /// [`admit`](Self::admit) for hosts that perform each step's I/O. `Invalid` when the IP address is malformed.
    pub fn start(&self, request: &RequestAttributes<'_>) -> Result<GateCheck> {
        GateCheck::new(self, request)
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
