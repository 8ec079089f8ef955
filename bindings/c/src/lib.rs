//! The C interface: converts the arguments, calls the core and maps its errors. The core makes
//! every decision.
//!
//! cbindgen generates the header `include/paddlegate.h` from these files, in the order of the
//! modules below. Their doc comments are written for C programmers.

// The functions receive raw pointers.
#![allow(unsafe_code)]
#![warn(clippy::undocumented_unsafe_blocks)]
// The preamble of the header states the rules for pointers once, for all functions.
#![allow(clippy::missing_safety_doc, clippy::doc_markdown)]

pub mod store;

pub mod signals;

pub mod test_clock;

pub mod limit;

pub mod limiter;

pub mod together;

pub mod cost;

pub mod decision_limits;

pub mod request;

pub mod reason;

pub mod decision;

pub mod call;

pub mod each;

pub mod lease;

pub mod wait;

pub mod wakeups;

pub mod waiter;

pub mod statistics;

pub mod web;

pub mod history;

pub mod inspect;

pub mod list;

pub mod control;

pub mod learn;

pub mod stream_usage;

pub mod document;

pub mod admission;

pub mod batch;

pub mod ready;

pub mod ojs;

pub mod gate;

pub mod workflow;

pub mod reschedule;

pub mod defaults;

pub mod error;

mod guard;
mod handle;
mod names;
mod text;

use std::ffi::c_char;

/// Returns the version of this library. Do not free the text.
#[unsafe(no_mangle)]
pub extern "C" fn pg_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
