//! The start of a call: either answered at once or submitted to a connection under a ticket.

use std::cell::RefCell;

use paddlegate::store::redis::Call;
use paddlegate::{
    Admission, Answer, Cost, Error, Limiter, MultiStep, OnLimit, Operation, Paddlegate, Prepared, Request,
};

use super::{AT_ONCE, Calls, Settling};
use crate::admin_request::AdminRequest;
use crate::convert::{GivenUnits, Units};
use crate::multi_step::CallState;
use crate::opcode::Opcode;

/// Tickets restart after this: small integers are the cheapest in JavaScript, and the first calls are long complete.
const MAX_TICKET: u64 = i32::MAX as u64;

/// Returned instead of a ticket when the call failed at once.
const FAILED: i32 = -1;

thread_local! {
    /// The limiters that are to decide together, of whichever store.
    static PICKED: RefCell<Vec<Limiter>> = const { RefCell::new(Vec::new()) };
}

/// Returns the limiters that were picked since the last call.
pub(crate) fn picked() -> Vec<Limiter> {
    PICKED.take()
}

impl Calls {
    /// Answers a call without other arguments for a key of a limiter in memory, and returns whether it did.
    pub(crate) fn is_decided_at_once(&mut self, limiter: &Limiter, key: &str) -> bool {
        let request = Request::default();
        if self.buffer.is_plain_allow() {
            let Some(is_granted) = limiter.allow_at_once_with_key(key, &request) else { return false };
            self.clear_last_answers();
            self.buffer.set_allowed(is_granted);
        } else {
            let decide = || limiter.acquire_at_once_with_key(key, &request);
            let Some(decision) = self.buffer.is_plain_acquire().then(decide).flatten() else { return false };
            self.clear_last_answers();
            self.answered(0, AT_ONCE, Answer::Decision(decision));
        }
        true
    }

    /// Answers an `allow` of one unit by a limiter in memory, for the key in the shared buffer if it has one. Returns
    /// whether it did, and the key otherwise, of which an `allow` is then to start.
    pub(crate) fn allow_at_once(&mut self, limiter: &Limiter) -> (bool, Option<String>) {
        let (request, of_key) = (Request::default(), self.buffer.is_allow_of_key());
        let decided = if of_key {
            limiter.allow_at_once_with_key(self.buffer.key(), &request)
        } else if self.buffer.is_plain_allow() {
            limiter.allow_at_once(&request)
        } else {
            None
        };
        if let Some(is_granted) = decided {
            self.clear_last_answers();
            self.buffer.set_allowed(is_granted);
            return (true, None);
        }
        if !of_key {
            return (false, None);
        }
        self.buffer.set_plain_allow();
        (false, Some(self.buffer.key().to_owned()))
    }

    /// Starts the operation in the shared buffer. Returns 0 when it is answered, -1 when it failed, otherwise its
    /// ticket.
    pub(crate) fn prepare(
        &mut self,
        limiter: &Limiter,
        id: Option<&str>,
        channel: Option<&str>,
        units: Option<&GivenUnits>,
        share: Option<&str>,
    ) -> i32 {
        self.clear_last_answers();
        if self.buffer.is_plain_allow()
            && let Some(is_granted) = limiter.allow_at_once(&Request::default())
        {
            self.buffer.set_allowed(is_granted);
            return 0;
        }
        let units = match units.map(|given| self.buffer.units(given)).transpose() {
            Ok(units) => units,
            Err(error) => return self.failed(error),
        };
        let by_label = units.as_ref().map_or(Cost::ByLabel(&[]), Units::cost);
        let opcode = match self.buffer.opcode() {
            Ok(opcode) => opcode,
            Err(error) => return self.failed(error),
        };
        match opcode {
            Opcode::NotificationNode => self.answer_text(Ok(limiter.notification_node().unwrap_or_default())),
            Opcode::Listen => {
                let channel = self.listen(limiter);
                self.answer_text(channel)
            }
            Opcode::Pick => {
                PICKED.with_borrow_mut(|picked| picked.push(limiter.clone()));
                0
            }
            Opcode::CheckKey => 0,
            Opcode::GrantsLeases => i32::from(limiter.grants_leases()),
            Opcode::Admit => {
                let request = self.buffer.request(by_label, share);
                self.admit(limiter, id.unwrap_or_default(), channel.unwrap_or_default(), request)
            }
            opcode => {
                if opcode == Opcode::Allow
                    && let Err(error) = limiter.check_allow()
                {
                    return self.failed(error);
                }
                let (id, channel) = (id.unwrap_or_default(), channel.unwrap_or_default());
                let operation = self.buffer.operation(id, channel, by_label, share);
                self.ask(limiter, operation, None)
            }
        }
    }

    /// Requests a decision about a job. The channel argument holds the name of the handling of refused jobs.
    fn admit(&mut self, limiter: &Limiter, job: &str, on_limit: &str, request: paddlegate::Result<Request<'_>>) -> i32 {
        let asked = request.and_then(|request| {
            let on_limit = OnLimit::from_name(on_limit)?;
            Ok((request, on_limit, Admission::wait(on_limit, self.buffer.claim_timeout()?)))
        });
        match asked {
            Ok((request, on_limit, wait)) => {
                let operation = Operation::AcquireWithId { request, id: job, wait };
                self.ask(limiter, Ok(operation), Some(on_limit))
            }
            Err(error) => self.failed(error),
        }
    }

    fn ask(
        &mut self,
        limiter: &Limiter,
        operation: paddlegate::Result<Operation<'_>>,
        on_limit: Option<OnLimit>,
    ) -> i32 {
        let operation = match operation {
            Ok(operation) => operation,
            Err(error) => return self.failed(error),
        };
        match limiter.prepare(operation) {
            Ok(Prepared::Call(call)) => {
                let fallback = limiter.fallback(&operation);
                if fallback.is_some() || on_limit.is_some() {
                    let settling = Settling { fallback, on_limit, procedure: None };
                    self.settling.insert(self.next_ticket(), settling);
                }
                self.carry(call)
            }
            prepared => self.answer_or_send(prepared, on_limit),
        }
    }

    /// Starts the operation in the shared buffer with an admin request; returns as [`prepare`](Self::prepare) does.
    pub(crate) fn begin_admin(&mut self, limiter: &Limiter, request: &AdminRequest) -> i32 {
        self.clear_last_answers();
        let opcode = match self.buffer.opcode() {
            Ok(opcode) => opcode,
            Err(error) => return self.failed(error),
        };
        match request.procedure(limiter, opcode) {
            Ok(None) => self.answer_or_send(request.prepare(limiter, opcode), None),
            Ok(steps) => {
                self.started = steps;
                0
            }
            Err(error) => self.failed(error),
        }
    }

    /// Starts the next call of a procedure. Returns 0 when there is none, otherwise its ticket.
    pub(crate) fn advance(&mut self, procedure: &CallState) -> i32 {
        self.clear_last_answers();
        let mut steps = procedure.borrow_mut();
        while let Some(current) = steps.as_mut()
            && let Some((limiter, operation)) = current.step()
        {
            match limiter.prepare(operation) {
                Ok(Prepared::Call(call)) => {
                    let fallback = limiter.fallback(&operation);
                    let settling = Settling { fallback, on_limit: None, procedure: Some(CallState::clone(procedure)) };
                    self.settling.insert(self.next_ticket(), settling);
                    return self.carry(call);
                }
                Ok(Prepared::Answered(answer)) => current.on_reply(Ok(answer)),
                Err(error) => current.on_reply(Err(error)),
            }
        }
        0
    }

    /// Starts reading a page of a part of the limiter list.
    pub(crate) fn prepare_list(&mut self, paddlegate: &Paddlegate, part: u16, cursor: u64, prefix: &str) -> i32 {
        self.clear_last_answers();
        self.answer_or_send(Ok(paddlegate.prepare_list(part, cursor, prefix)), None)
    }

    /// Starts reading a page of the whole limiter list.
    pub(crate) fn prepare_page(&mut self, paddlegate: &Paddlegate, prefix: &str, cursor: Option<&str>) -> i32 {
        self.clear_last_answers();
        self.answer_or_send(paddlegate.prepare_limiter_page(prefix, cursor), None)
    }

    fn answer_or_send(&mut self, prepared: paddlegate::Result<Prepared>, on_limit: Option<OnLimit>) -> i32 {
        match prepared {
            Ok(Prepared::Answered(Answer::Decision(decision))) if self.buffer.allowed(&decision) => 0,
            Ok(Prepared::Answered(answer)) => {
                let answer = match on_limit {
                    Some(on_limit) => self.admitted(AT_ONCE, answer, on_limit),
                    None => answer,
                };
                self.answered(0, AT_ONCE, answer);
                0
            }
            Ok(Prepared::Call(call)) => self.carry(call),
            Err(error) => self.failed(error),
        }
    }

    /// Returns the ticket of the next call.
    fn next_ticket(&self) -> u64 {
        self.last_ticket % MAX_TICKET + 1
    }

    fn carry(&mut self, call: Call) -> i32 {
        self.last_ticket = self.next_ticket();
        self.send(self.last_ticket, call);
        i32::try_from(self.last_ticket).unwrap_or(FAILED)
    }

    fn answer_text(&mut self, text: paddlegate::Result<String>) -> i32 {
        match text {
            Ok(text) => {
                self.name = Some(text);
                0
            }
            Err(error) => self.failed(error),
        }
    }

    /// Fails a call at once.
    pub(crate) fn failed(&mut self, error: Error) -> i32 {
        self.answers.insert(AT_ONCE, Err(error));
        FAILED
    }

    fn listen(&mut self, limiter: &Limiter) -> paddlegate::Result<String> {
        let listener = match self.listener.take() {
            Some(listener) => listener,
            None => limiter.listen()?,
        };
        Ok(self.listener.insert(listener).channel().to_owned())
    }
}
