//! `invantive`: limits in the notation of Invantive's `RateLimitControl`.
//!
//! A control is a list of elements and a set of slots. The first element that matches a request names the slot whose
//! limits apply. All elements that name a slot share it, in all processes.

pub(crate) mod control;
mod element;
mod gate;
mod gate_check;
mod slot;

pub use control::{Choice, RateLimitControl};
pub use element::RequestAttributes;
pub use gate::{Gate, GateDecision};
pub use gate_check::GateCheck;
pub use slot::{Level, Slot, Soft};
