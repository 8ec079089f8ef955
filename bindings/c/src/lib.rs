//! The C interface: convert, call, map the error. Every decision is made in the core.
//!
//! The header `include/paddlegate.h` is written from these files, in the order of the modules
//! below; their comments are for the readers of C.

// C hands over pointers.
#![allow(unsafe_code)]
#![warn(clippy::undocumented_unsafe_blocks)]
// The doc comments are read in the header, which says once what a caller must keep to.
#![allow(clippy::missing_safety_doc, clippy::doc_markdown)]

pub mod store;

pub mod limit;

pub mod limiter;

pub mod request;

pub mod decision;

pub mod call;

pub mod lease;

pub mod wait;

pub mod wakeups;

pub mod statistics;

pub mod list;

pub mod control;

pub mod learn;

pub mod document;

pub mod admission;

pub mod batch;

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

/// The version of this library. Never to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn pg_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
