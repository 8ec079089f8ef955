//! `pg_invantive_gate`: limits requests by a RateLimitControl document of Invantive.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;

use paddlegate_core::formats::invantive::{
    Gate as CoreGate, GateDecision as CoreGateDecision, Level as CoreLevel, RequestAttributes as CoreRequestAttributes,
};
use paddlegate_core::{Micros, MultiStep, Result};

use crate::decision::number;
use crate::document;
use crate::error::{Code, Error};
use crate::guard::{guard, guard_into};
use crate::handle::Table;
use crate::names;
use crate::reason::Reason;
use crate::signals::on_signal;
use crate::store::{STORES, StoreHandle};
use crate::text;

/// The limits of a RateLimitControl in a store. Create it once and keep it; any thread may use it.
pub struct GateHandle {
    _opaque: [u8; 0],
}

static GATES: Table<CoreGate, GateHandle> = Table::new("gate", 0b0110);

/// The attributes of a request. Each text may be NULL: then no criterion for it matches.
///
/// A struct of NULL, or a NULL pointer instead of it, is a request without known attributes.
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
    /// The IP address of the client without a port, compared with IpAddressClientCidr.
    pub ip: *const c_char,
}

impl RequestAttributes {
    unsafe fn core<'a>(&self) -> Result<CoreRequestAttributes<'a>> {
        // SAFETY: each is NULL or a text of the caller that ends with a zero byte.
        Ok(unsafe {
            CoreRequestAttributes {
                context: text::read_some("context", self.context)?,
                url: text::read_some("url", self.url)?,
                log_on_code: text::read_some("log_on_code", self.log_on_code)?,
                data_container_id: text::read_some("data_container_id", self.data_container_id)?,
                ip: text::read_some("ip", self.ip)?,
            }
        })
    }
}

/// A level of a slot. The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Level {
    /// No level is full.
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

/// The decision on a request.
#[repr(C)]
pub struct GateDecision {
    /// 1 when the request may go ahead; 0 when it must fail.
    pub allowed: i32,
    /// The level that refused, or the one with the longest delay; PG_LEVEL_NONE when no level is
    /// full.
    pub level: Level,
    /// Why the request was refused; PG_REASON_NONE when allowed.
    pub reason: Reason,
    /// The delay of the response, whether it succeeds or fails.
    pub delay_us: i64,
    /// Time until a refused request may pass; 0 when allowed, -1 when no time is known (0 actions).
    pub retry_after_us: i64,
    /// The name of the slot that applied; empty when nothing limits the request.
    pub slot: [c_char; 520],
}

impl GateDecision {
    const NONE: Self =
        Self { allowed: 0, level: Level::None, reason: Reason::None, delay_us: 0, retry_after_us: -1, slot: [0; 520] };
}

impl From<CoreGateDecision> for GateDecision {
    fn from(core: CoreGateDecision) -> Self {
        Self {
            allowed: core.allowed.into(),
            level: core.level.map_or(Level::None, Level::from),
            reason: core.reason.map_or(Reason::None, Reason::from),
            delay_us: number(Some(core.delay.0)),
            retry_after_us: number(core.retry_after.map(|Micros(micros)| micros)),
            slot: core.slot.map_or([0; 520], |slot| text::write(&slot)),
        }
    }
}

/// Creates the limits of a RateLimitControl in a store, from length bytes of JSON. Contacts no
/// server.
///
/// The message of PG_INVALID contains the JSON path of the fault. The caller must close the handle
/// with pg_invantive_gate_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_invantive_gate_new(
    store: *const StoreHandle,
    text: *const c_char,
    length: usize,
    gate: Option<&mut MaybeUninit<*mut GateHandle>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into("gate", gate, ptr::null_mut, error, || {
        // SAFETY: the caller passes NULL or as many bytes as `length` states.
        let text = unsafe { document::read(text, length) }?;
        GATES.open(STORES.with(store, |store| store.invantive_gate(text))?)
    })
}

/// Counts a request in the slot of the first element that matches it. Never waits itself: the
/// caller delays the response by delay_us.
///
/// Returns PG_OK for a refusal too, which counts nothing: check decision->allowed. facts may be
/// NULL. In Redis the function makes one call for the levels that fail, one for each level that
/// only delays, and one for the time if an element has a validity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_invantive_gate_admit(
    gate: *const GateHandle,
    facts: Option<&RequestAttributes>,
    decision: Option<&mut MaybeUninit<GateDecision>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into(
        "decision",
        decision,
        || GateDecision::NONE,
        error,
        || {
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let facts = facts.map_or(Ok(CoreRequestAttributes::default()), |facts| unsafe { facts.core() })?;
            GATES.with(gate, |gate| gate.start(&facts)?.run(on_signal())).map(GateDecision::from)
        },
    )
}

/// Returns the name of a level, such as "second"; "?" for an unknown number. Do not free the text.
#[unsafe(no_mangle)]
pub extern "C" fn pg_level_name(level: i32) -> *const c_char {
    names::of(level, &names::LEVELS)
}

/// Closes a gate. Its counts stay in the store.
#[unsafe(no_mangle)]
pub extern "C" fn pg_invantive_gate_close(gate: *mut GateHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || GATES.close(gate))
}
