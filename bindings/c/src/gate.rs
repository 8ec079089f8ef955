//! `pg_invantive_gate`: a document of Invantive chooses what limits a request.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;

use paddlegate_core::formats::invantive::{
    Gate as CoreGate, GateDecision as CoreVerdict, Level as CoreLevel, RequestAttributes as CoreFacts,
};
use paddlegate_core::{Micros, MultiStep, Result};

use crate::call::GRACE;
use crate::decision::number;
use crate::document;
use crate::error::{Code, Error};
use crate::guard::{guard, guard_into};
use crate::handle::Table;
use crate::limit::Kind;
use crate::names;
use crate::request::time;
use crate::store::{STORES, StoreHandle};
use crate::text;

/// The limits of a RateLimitControl on a store. Make it once, keep it, and use it from any thread.
pub struct GateHandle {
    _opaque: [u8; 0],
}

static GATES: Table<CoreGate, GateHandle> = Table::new("gate", 0b0110);

/// What is known of a request. Each text may be NULL: then no criterion for it matches.
///
/// All NULL and zero, and NULL in its place, is a request of which nothing is known.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RequestAttributes {
    /// Compared with Context.
    pub context: *const c_char,
    /// Compared with Url.
    pub url: *const c_char,
    /// Compared with LogOnCode.
    pub log_on_code: *const c_char,
    /// Compared with DataContainerId.
    pub data_container_id: *const c_char,
    /// The address of the client without a port, compared with IpAddressClientCidr.
    pub ip: *const c_char,
    /// As in pg_request.
    pub at_us: i64,
}

impl RequestAttributes {
    unsafe fn core<'a>(&self) -> Result<(CoreFacts<'a>, Option<Micros>)> {
        // SAFETY: each is NULL or a text of the caller that ends with a zero byte.
        let facts = unsafe {
            CoreFacts {
                context: text::read_some("context", self.context)?,
                url: text::read_some("url", self.url)?,
                log_on_code: text::read_some("log_on_code", self.log_on_code)?,
                data_container_id: text::read_some("data_container_id", self.data_container_id)?,
                ip: text::read_some("ip", self.ip)?,
            }
        };
        Ok((facts, time(self.at_us)?))
    }
}

/// A level of a slot. The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Level {
    /// None is full.
    None = 0,
    /// ActionsPerSecond.
    Second = 1,
    /// ActionsPerMinute.
    Minute = 2,
    /// ActionsPerHour.
    Hour = 3,
}

impl From<CoreLevel> for Level {
    fn from(level: CoreLevel) -> Self {
        match level {
            CoreLevel::Second => Self::Second,
            CoreLevel::Minute => Self::Minute,
            CoreLevel::Hour => Self::Hour,
        }
    }
}

/// What becomes of a request.
#[repr(C)]
pub struct GateDecision {
    /// 1 when it may go ahead; 0 when its answer is a failure.
    pub allowed: i32,
    /// The level that refused, or the one that delays longest; PG_LEVEL_NONE when none is full.
    pub level: Level,
    /// The kind of the limit that refused; PG_KIND_NONE when allowed.
    pub reason: Kind,
    /// By how much the answer is to be delayed, also that of a failure.
    pub delay_us: i64,
    /// When a refused request may pass; 0 when allowed, -1 when no time is known (0 actions).
    pub retry_after_us: i64,
    /// The name of the slot that counted; empty when nothing limits the request.
    pub slot: [c_char; 520],
}

impl GateDecision {
    const NONE: Self =
        Self { allowed: 0, level: Level::None, reason: Kind::None, delay_us: 0, retry_after_us: -1, slot: [0; 520] };
}

impl From<CoreVerdict> for GateDecision {
    fn from(core: CoreVerdict) -> Self {
        Self {
            allowed: core.allowed.into(),
            level: core.level.map_or(Level::None, Level::from),
            reason: core.reason.map_or(Kind::None, Kind::from),
            delay_us: number(Some(core.delay.0)),
            retry_after_us: number(core.retry_after.map(|Micros(micros)| micros)),
            slot: core.slot.map_or([0; 520], |slot| text::write(&slot)),
        }
    }
}

/// Makes the limits of a RateLimitControl on a store: length bytes of JSON. Asks no server.
///
/// The message of PG_INVALID names the place of a fault. The handle is to be closed by
/// pg_invantive_gate_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_invantive_gate_new(
    store: *const StoreHandle,
    text: *const c_char,
    length: usize,
    gate: Option<&mut MaybeUninit<*mut GateHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("gate", gate, ptr::null_mut, error, || {
        // SAFETY: the caller passes NULL or as many bytes as it says.
        let text = unsafe { document::read(text, length) }?;
        GATES.open(STORES.with(store, |store| store.invantive_gate(text))?)
    })
}

/// Counts a request in the slot of the first element that applies to it. Never waits itself: the
/// caller delays the answer by delay_us.
///
/// A refusal is PG_OK too, and counts nothing: look at verdict->allowed. facts may be NULL. In Redis
/// it asks once for the levels that fail, once for each that only delays, and once for the time when an
/// element has a validity and facts no at_us.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_invantive_gate_admit(
    gate: *const GateHandle,
    facts: Option<&RequestAttributes>,
    verdict: Option<&mut MaybeUninit<GateDecision>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into(
        "verdict",
        verdict,
        || GateDecision::NONE,
        error,
        || {
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let (facts, at) = facts.map_or(Ok((CoreFacts::default(), None)), |facts| unsafe { facts.core() })?;
            GATES.with(gate, |gate| gate.start(&facts, at)?.run(GRACE)).map(GateDecision::from)
        },
    )
}

/// The word for a level, such as "second"; "?" for a number that is none. Never to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn pg_level_name(level: i32) -> *const c_char {
    names::of(level, &names::LEVELS)
}

/// Closes a gate. What it has counted stays.
#[unsafe(no_mangle)]
pub extern "C" fn pg_invantive_gate_close(gate: *mut GateHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || GATES.close(gate))
}
