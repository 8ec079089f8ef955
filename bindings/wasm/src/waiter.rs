//! `Waiter`: the rules of a waiting call. JavaScript has the timers.

use paddlegate::{Micros, QueuePosition};
use wasm_bindgen::prelude::*;

use crate::host::{Host, Thrown, number};

/// The rules of one call that waits in the queue. Times are milliseconds of `performance.now()`.
#[wasm_bindgen]
pub struct Waiter {
    waiter: paddlegate::Waiter,
    /// The ticket of the last attempt.
    ticket: Option<f64>,
}

#[wasm_bindgen]
impl Waiter {
    /// Creates the waiter of a call that begins now.
    #[allow(clippy::needless_pass_by_value)] // wasm-bindgen passes it by value
    #[wasm_bindgen(constructor)]
    pub fn new(host: Host, owns_id: bool, max_wait_ms: f64, now_ms: f64) -> Thrown<Self> {
        paddlegate::Waiter::new(owns_id, micros(max_wait_ms), micros(now_ms))
            .map(|waiter| Self { waiter, ticket: None })
            .map_err(|error| host.error(error))
    }

    /// Begins an attempt. Returns the milliseconds for which it waits; its ticket is `ticket`.
    pub fn next(&mut self, now_ms: f64, channel: &str) -> f64 {
        let wait = self.waiter.next(micros(now_ms), channel);
        self.ticket = match wait.position {
            QueuePosition::Number(ticket) => Some(number(ticket)),
            _ => None,
        };
        millis(wait.max_wait)
    }

    /// Returns the number of the ticket with which the last attempt waits, unless it waits at the end of the queue.
    pub fn ticket(&self) -> Option<f64> {
        self.ticket
    }

    /// Evaluates the decision of an attempt that queued the call.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
    #[wasm_bindgen(js_name = onQueued)]
    pub fn on_queued(&mut self, now_ms: f64, retry_after_ms: Option<f64>, ticket: Option<f64>) {
        self.waiter.on_queued(micros(now_ms), retry_after_ms.map(micros), ticket.map(|ticket| ticket as u64));
    }

    /// Evaluates the final decision of an attempt.
    #[wasm_bindgen(js_name = onFinal)]
    pub fn on_final(&mut self, allowed: bool, degraded: bool) {
        self.waiter.on_final(allowed, degraded);
    }

    /// Evaluates the error of an attempt.
    #[wasm_bindgen(js_name = onError)]
    pub fn on_error(&mut self, may_have_counted: bool) {
        self.waiter.on_error(may_have_counted);
    }

    /// Evaluates a wake-up.
    #[wasm_bindgen(js_name = onWakeup)]
    pub fn on_wakeup(&mut self, at_ms: f64) {
        self.waiter.on_wakeup(micros(at_ms));
    }

    /// Returns when the next attempt is due; 0 means at once.
    #[wasm_bindgen(js_name = retryAt)]
    pub fn retry_at(&self, channel: &str) -> f64 {
        millis(self.waiter.retry_at(channel))
    }

    /// Returns whether the call must be cancelled when it ends now.
    #[wasm_bindgen(js_name = mustCancel)]
    pub fn must_cancel(&self, is_delivered: bool) -> bool {
        self.waiter.must_cancel(is_delivered)
    }
}

/// Converts to the nearest microsecond; NaN and times below zero are 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
fn micros(millis: f64) -> Micros {
    Micros((millis * 1e3).round() as u64)
}

fn millis(micros: Micros) -> f64 {
    number(micros.0) / 1e3
}
