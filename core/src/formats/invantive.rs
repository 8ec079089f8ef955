//! `invantive`: limits as a `RateLimitControl` of Invantive writes them.
//!
//! A control is a list of elements and a set of slots. The first element that applies to a request names the slot whose
//! limits count. A slot is shared by all elements that name it, and by all processes.

pub(crate) mod control;
mod element;
mod gate;
mod passage;
mod slot;

pub use control::{Choice, RateLimitControl};
pub use element::RequestAttributes;
pub use gate::{Gate, GateDecision};
pub use passage::GateCheck;
pub use slot::{Level, Slot, Soft};
