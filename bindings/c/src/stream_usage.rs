//! `pg_stream_usage`: the usage in a body that is read in chunks.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use paddlegate_core::StreamUsage;

use crate::error::{Code, Error};
use crate::guard::{guard, guard_into};
use crate::handle::Table;
use crate::text;

/// Finds the usage in the body of a response that is read in chunks: JSON, or server-sent events
/// with JSON, as models stream them. It does not hold the body.
pub struct StreamUsageHandle {
    _opaque: [u8; 0],
}

static USAGES: Table<Mutex<StreamUsage>, StreamUsageHandle> = Table::new("usage", 0b1110);

fn with<R>(
    usage: *const StreamUsageHandle,
    body: impl FnOnce(&mut StreamUsage) -> paddlegate_core::Result<R>,
) -> paddlegate_core::Result<R> {
    USAGES.with(usage, |usage| body(&mut usage.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Creates a reader for one body. The caller must close the handle with pg_stream_usage_close.
#[unsafe(no_mangle)]
pub extern "C" fn pg_stream_usage_new(
    usage: Option<&mut MaybeUninit<*mut StreamUsageHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("usage", usage, ptr::null_mut, error, || USAGES.open(Mutex::default()))
}

/// Reads the next bytes of the body, which may end anywhere. chunk may be NULL when length is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_stream_usage_feed(
    usage: *const StreamUsageHandle,
    chunk: *const c_char,
    length: usize,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard(error, || {
        // SAFETY: the caller passes NULL or as many bytes as `length` states.
        let chunk = unsafe { text::bytes("chunk", chunk, length) }?;
        with(usage, |usage| {
            usage.feed(chunk);
            Ok(())
        })
    })
}

/// Writes what was found into body, which has room for that many bytes: the body of
/// pg_learn_from_response, "" for nothing. A room of 65536 is always enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_stream_usage_body(
    usage: *const StreamUsageHandle,
    body: *mut c_char,
    room: usize,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: the caller passes NULL or a buffer with as much room as it states.
    guard(error, || with(usage, |usage| unsafe { text::fill("body", body, room, &usage.body()) }))
}

/// Writes what was found and not kept into ignored, a sentence in each line, with a line feed
/// between the lines; it is complete after the last chunk. A room of 65536 is always enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_stream_usage_ignored(
    usage: *const StreamUsageHandle,
    ignored: *mut c_char,
    room: usize,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: the caller passes NULL or a buffer with as much room as it states.
    guard(error, || with(usage, |usage| unsafe { text::fill("ignored", ignored, room, &usage.ignored().join("\n")) }))
}

/// Closes the handle.
#[unsafe(no_mangle)]
pub extern "C" fn pg_stream_usage_close(usage: *mut StreamUsageHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || USAGES.close(usage))
}
