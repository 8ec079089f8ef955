//! `SharedBuffer`: numbers shared with JavaScript. `packages/node/lib/shared-buffer.js` has the same layout.

use std::cell::RefCell;

use napi::bindgen_prelude::Buffer;
use paddlegate::{
    Answer, CLAIM_TIMEOUT, Cost, Decision, Error, Extension, JOB_CLAIM_TIMEOUT, Label, MAX_SPAN, Micros, Operation,
    Page, QueuePosition, Request, TurnsHost, Wait,
};

use crate::convert::{GivenUnits, Units, millis, number, whole};
use crate::opcode::Opcode;

/// Slots that JavaScript writes before a call.
pub(crate) mod input {
    /// An [`Opcode`].
    pub(crate) const OPERATION: usize = 0;
    /// Flags for the given values: 1 cost, 2 estimate, 32 settle-within time, 64 priority, 128 weight; and 4: wait in the
    /// queue, 8: the wait timed out, 16: the cost, the estimate, the actual cost or the further units are by label, in an
    /// argument of the call, 256: the decision has each limit.
    pub(crate) const FLAGS: usize = 1;
    /// The cost; the further units of an extension; the most ids that `ready` returns; the length of
    /// a page.
    pub(crate) const COST: usize = 2;
    /// The estimate; the offset of a page.
    pub(crate) const ESTIMATE: usize = 3;
    /// How long the estimate can be settled, in milliseconds.
    pub(crate) const SETTLE_WITHIN: usize = 4;
    /// The actual cost of a correction.
    pub(crate) const ACTUAL: usize = 5;
    /// Maximum wait and claim timeout in milliseconds; NaN for the longest and for the default.
    pub(crate) const MAX_WAIT: usize = 6;
    pub(crate) const CLAIM_TIMEOUT: usize = 7;
    /// The number of the ticket; NaN for the end of the queue, -1 for its existing position.
    pub(crate) const QUEUE_POSITION: usize = 8;
    /// The place in the queue; the share is an argument of the call.
    pub(crate) const PRIORITY: usize = 9;
    pub(crate) const WEIGHT: usize = 10;
    /// The number of received bytes in the connection's input buffer.
    pub(crate) const RECEIVED: usize = 11;
}

/// Slots that JavaScript reads after a call, before the rows.
pub(crate) mod output {
    /// The connection of the last call.
    pub(crate) const LINK: usize = 12;
    /// The number of bytes to write to the socket.
    pub(crate) const TO_SEND: usize = 13;
    /// 1: the connection is unusable.
    pub(crate) const BROKEN: usize = 14;
}

/// The start of the rows, the length of a row, and the number of rows.
const ROWS: usize = 15;
const ROW: usize = 15;
pub(crate) const MAX_ROWS: usize = 64;

/// The slot with the length of the key of a call, and the first byte of the key, which is ASCII.
const KEY_LENGTH: usize = ROWS + MAX_ROWS * ROW;
const KEY: usize = (KEY_LENGTH + 1) * size_of::<f64>();

/// The flags of a cost by label, of a settle-within time and of a place in the queue.
const BY_LABEL: usize = 16;
const HAS_SETTLE_WITHIN: usize = 32;
const HAS_PRIORITY: usize = 64;
const HAS_WEIGHT: usize = 128;

/// The flag of a call that asks for each limit.
const LIMITS: usize = 256;
const KEEPS: usize = 512;

/// Added to the status of a decision that has a permit, which is the text of the ticket, of a degraded decision, of one
/// that names its limiter, which is the `limiter_of` of the ticket, of one that only shadow made: its reason is that of the
/// refusal, and of one that has each limit, in `limits_of` of the ticket.
const WITH_PERMIT: u8 = 4;
const DEGRADED: u8 = 8;
const WITH_LIMITER: u8 = 16;
const IN_SHADOW: u8 = 32;
const WITH_LIMITS: u8 = 64;
const LOWERED: u8 = 128;

/// The type of a row; a decision's fields follow in the order of [`SharedBuffer::decision`].
#[derive(Clone, Copy)]
pub(crate) enum Event {
    Decision = 0,
    /// The settlement's name is the text of the ticket.
    Settlement = 1,
    Reset = 2,
    /// `raise` with the ticket throws the error.
    Failed = 3,
    /// The connection could not complete the call; `proceed` with the ticket continues it.
    Unfinished = 4,
    /// The remaining lifetime of the lease is in the next field.
    Renewal = 5,
    /// The statistics are stored for `statistics`.
    Statistics = 6,
    /// The limiters are stored for `listed`; the field is the cursor of the next page.
    List = 7,
    /// The runtime state is stored for `runtime_state`.
    RuntimeState = 8,
    /// The result is stored for `learned`.
    Learned = 9,
    /// The limiters are stored for `listed`, and the text is the cursor of the next page.
    Page = 10,
    /// The field is the time until the host asks again; the ids are stored for `ready`.
    Ready = 11,
    /// The inspection is stored for `inspection`.
    Inspection = 12,
    /// The history is stored for `history`.
    History = 13,
}

/// Memory allocated by JavaScript, as 64-bit floats.
pub(crate) struct SharedBuffer(Buffer);

impl SharedBuffer {
    pub(crate) fn new(memory: Buffer) -> Self {
        Self(memory)
    }

    fn get(&self, slot: usize) -> f64 {
        self.0.as_chunks().0.get(slot).map_or(f64::NAN, |bytes| f64::from_ne_bytes(*bytes))
    }

    pub(crate) fn set(&mut self, slot: usize, value: f64) {
        if let Some(bytes) = self.0.as_chunks_mut().0.get_mut(slot) {
            *bytes = value.to_ne_bytes();
        }
    }

    /// Reads the operation. `id` is the id of a permit or a request, `channel` the channel of a waiter, `by_label` the
    /// cost by label, `share` that of the call.
    pub(crate) fn operation<'a>(
        &self,
        id: &'a str,
        channel: &'a str,
        by_label: Cost<'a>,
        share: Option<&'a str>,
    ) -> paddlegate::Result<Operation<'a>> {
        let request = || self.request(by_label, share);
        Ok(match self.opcode()? {
            Opcode::Acquire | Opcode::Allow => Operation::Acquire(request()?),
            Opcode::Peek => Operation::Peek(request()?),
            Opcode::Correct => Operation::Correct { permit: id, actual: self.cost("actual", input::ACTUAL, by_label)? },
            Opcode::Reset => Operation::Reset,
            Opcode::AcquireWithId => Operation::AcquireWithId { request: request()?, id, wait: self.wait(channel)? },
            Opcode::Release => Operation::Release { permit: id },
            Opcode::Renew => Operation::Renew { permit: id },
            Opcode::Cancel => Operation::Cancel { id, gave_up: self.small(input::FLAGS) & 8 != 0 },
            Opcode::Statistics => Operation::Statistics,
            Opcode::History => Operation::History,
            Opcode::Debit => Operation::Debit(self.cost("cost", input::COST, by_label)?),
            Opcode::Refund => Operation::Refund(self.cost("units", input::COST, by_label)?),
            Opcode::Extend => Operation::Extend { permit: id, units: self.cost("units", input::COST, by_label)? },
            Opcode::Ready => {
                let host = (!channel.is_empty()).then_some(TurnsHost { id, channel });
                Operation::Ready { count: whole("count", self.get(input::COST))?, host }
            }
            Opcode::Inspect => {
                let offset = whole("offset", self.get(input::ESTIMATE))?;
                Operation::Inspect { page: Page { offset, count: whole("count", self.get(input::COST))? } }
            }
            _ => return Err(Error::internal("the operation needs an admin request")),
        })
    }

    pub(crate) fn request<'a>(&self, by_label: Cost<'a>, share: Option<&'a str>) -> paddlegate::Result<Request<'a>> {
        let given = self.small(input::FLAGS);
        if given == 0 && share.is_none() {
            return Ok(Request::default());
        }
        let number = |flag, argument, slot| {
            if given & flag != 0 { whole(argument, self.get(slot)).map(Some) } else { Ok(None) }
        };
        let priority = number(HAS_PRIORITY, "priority", input::PRIORITY)?;
        let weight = number(HAS_WEIGHT, "weight", input::WEIGHT)?;
        let request = Request {
            cost: if given & 1 != 0 { Some(self.cost("cost", input::COST, by_label)?) } else { None },
            estimate: if given & 2 != 0 { Some(self.cost("estimate", input::ESTIMATE, by_label)?) } else { None },
            settle_within: if given & HAS_SETTLE_WITHIN != 0 {
                Some(millis("settle_within", self.get(input::SETTLE_WITHIN))?)
            } else {
                None
            },
            limits: given & LIMITS != 0,
            ..Request::default()
        };
        request.in_queue(priority, share, weight)
    }

    fn cost<'a>(&self, argument: &'static str, slot: usize, by_label: Cost<'a>) -> paddlegate::Result<Cost<'a>> {
        if self.small(input::FLAGS) & BY_LABEL != 0 {
            return Ok(by_label);
        }
        whole(argument, self.get(slot)).map(Cost::Units)
    }

    /// Checks the units of a cost by label.
    pub(crate) fn units<'a>(&self, given: &'a GivenUnits) -> paddlegate::Result<Units<'a>> {
        let argument = match self.opcode()? {
            Opcode::Correct => "actual",
            Opcode::Extend | Opcode::Refund => "units",
            _ if self.small(input::FLAGS) & 1 != 0 => "cost",
            _ => "estimate",
        };
        Units::read(argument, given)
    }

    fn wait<'a>(&self, channel: &'a str) -> paddlegate::Result<Option<Wait<'a>>> {
        if self.small(input::FLAGS) & 4 == 0 {
            return Ok(None);
        }
        let max_wait = self.span("wait_timeout", input::MAX_WAIT)?.unwrap_or(MAX_SPAN);
        Ok(Some(Wait {
            claim_timeout: self.claim_timeout()?.unwrap_or(CLAIM_TIMEOUT),
            keep: if self.small(input::FLAGS) & KEEPS == 0 { Micros(0) } else { JOB_CLAIM_TIMEOUT },
            channel,
            position: match self.get(input::QUEUE_POSITION) {
                end if end.is_nan() => QueuePosition::End,
                existing if existing < 0.0 => QueuePosition::Existing,
                ticket => QueuePosition::Number(whole("ticket", ticket)?),
            },
            is_run: self.small(input::FLAGS) & KEEPS != 0,
            ..Wait::up_to(max_wait)
        }))
    }

    /// Returns the claim timeout; `None` for the default.
    pub(crate) fn claim_timeout(&self) -> paddlegate::Result<Option<Micros>> {
        self.span("claim_timeout", input::CLAIM_TIMEOUT)
    }

    /// Returns a time in milliseconds; `None` for NaN.
    fn span(&self, argument: &'static str, slot: usize) -> paddlegate::Result<Option<Micros>> {
        let given = self.get(slot);
        if given.is_nan() { Ok(None) } else { millis(argument, given).map(Some) }
    }

    /// Returns the operation to begin.
    pub(crate) fn opcode(&self) -> paddlegate::Result<Opcode> {
        let number = self.small(input::OPERATION);
        Opcode::from_number(number)
            .ok_or_else(|| Error::internal(format!("there is no such operation: number={number}")))
    }

    fn is(&self, opcode: Opcode) -> bool {
        self.small(input::OPERATION) == opcode as usize
    }

    /// Reads a code, a set of flags or a size, which only this package writes.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(crate) fn small(&self, slot: usize) -> usize {
        self.get(slot) as usize
    }

    /// Writes the field that `allow` reads of a decision; returns false for other operations, which need all fields.
    pub(crate) fn allowed(&mut self, decision: &Decision) -> bool {
        if !self.is(Opcode::Allow) {
            return false;
        }
        self.set_allowed(decision.allowed());
        true
    }

    /// Returns whether the operation is `allow` without arguments.
    pub(crate) fn is_plain_allow(&self) -> bool {
        self.is(Opcode::Allow) && self.small(input::FLAGS) == 0
    }

    /// Returns whether the operation is `allow` for the key in the buffer.
    pub(crate) fn is_allow_of_key(&self) -> bool {
        self.is(Opcode::AllowKey)
    }

    /// Returns the key in the buffer.
    pub(crate) fn key(&self) -> &str {
        let end = KEY + self.small(KEY_LENGTH);
        self.0.get(KEY..end).and_then(|key| str::from_utf8(key).ok()).unwrap_or_default()
    }

    /// Makes `allow` for the key in the buffer one without arguments.
    pub(crate) fn set_plain_allow(&mut self) {
        self.set(input::OPERATION, f64::from(Opcode::Allow as i32));
        self.set(input::FLAGS, 0.0);
    }

    /// Returns whether the operation is `tryAcquire` without arguments.
    pub(crate) fn is_plain_acquire(&self) -> bool {
        self.is(Opcode::Acquire) && self.small(input::FLAGS) == 0
    }

    /// Writes the field that `allow` reads.
    pub(crate) fn set_allowed(&mut self, is_granted: bool) {
        self.set(ROWS + 2, f64::from(u8::from(is_granted)));
    }

    /// Writes a row without fields.
    pub(crate) fn event(&mut self, row: usize, ticket: u64, event: Event) {
        self.row(row, ticket, event, []);
    }

    /// Writes an answer without its texts, which do not fit into numbers.
    pub(crate) fn answer(&mut self, row: usize, ticket: u64, answer: &Answer) {
        match answer {
            Answer::Decision(decision) => self.decision(row, ticket, decision),
            Answer::Settlement(_) => self.event(row, ticket, Event::Settlement),
            Answer::Renewal(lease) => self.row(row, ticket, Event::Renewal, [or_nan(lease.map(|lease| lease.0))]),
            Answer::Statistics(_) => self.event(row, ticket, Event::Statistics),
            Answer::History(_) => self.event(row, ticket, Event::History),
            Answer::List(page) => self.row(row, ticket, Event::List, [number(page.cursor)]),
            Answer::Page(_) => self.event(row, ticket, Event::Page),
            Answer::RuntimeState(_) => self.event(row, ticket, Event::RuntimeState),
            Answer::Report(_) => self.event(row, ticket, Event::Learned),
            Answer::Extension(extension) => match &**extension {
                Extension::Decided(decision) => self.decision(row, ticket, decision),
                Extension::Closed(_) => self.event(row, ticket, Event::Settlement),
            },
            Answer::Ready(ready) => self.row(row, ticket, Event::Ready, [number(ready.after.0)]),
            Answer::Inspection(_) => self.event(row, ticket, Event::Inspection),
            Answer::MostRefused(_) | Answer::Keys(_) | Answer::Reset => self.event(row, ticket, Event::Reset),
        }
    }

    /// The first field is the status.
    fn decision(&mut self, row: usize, ticket: u64, decision: &Decision) {
        let micros = |span: Option<Micros>| or_nan(span.map(|span| span.0));
        let queued = decision.ticket;
        let with_permit = if decision.permit.is_some() { WITH_PERMIT } else { 0 };
        let degraded = if decision.degraded { DEGRADED } else { 0 };
        let with_limiter = if decision.limiter.is_some() { WITH_LIMITER } else { 0 };
        let in_shadow = if decision.would_refuse.is_some() { IN_SHADOW } else { 0 };
        let with_limits = if decision.limits.is_empty() { 0 } else { WITH_LIMITS };
        let lowered = if decision.is_lowered { LOWERED } else { 0 };
        let marks = with_permit + degraded + with_limiter + in_shadow + with_limits + lowered;
        let fields: [f64; ROW - 2] = [
            f64::from(decision.status as u8 + marks),
            or_nan(decision.limit),
            or_nan(decision.remaining),
            micros(decision.retry_after),
            micros(decision.reset_after),
            // A grant has no reason.
            decision.reason.or(decision.would_refuse).map_or(0.0, |reason| f64::from(reason.code())),
            decision.label.as_ref().map_or(0.0, label_code),
            number(decision.at.0),
            micros(decision.lease),
            or_nan(decision.fencing_token),
            or_nan(queued.map(|ticket| ticket.number)),
            or_nan(queued.map(|ticket| ticket.position)),
            micros(queued.and_then(|ticket| ticket.ready_after)),
        ];
        self.row(row, ticket, Event::Decision, fields);
    }

    fn row<const FIELDS: usize>(&mut self, row: usize, ticket: u64, event: Event, fields: [f64; FIELDS]) {
        let at = ROWS + row * ROW;
        let slots = self.0.as_chunks_mut().0.get_mut(at..at + 2 + FIELDS).unwrap_or_default();
        let values = [number(ticket), f64::from(event as u8)].into_iter().chain(fields);
        for (slot, value) in slots.iter_mut().zip(values) {
            *slot = value.to_ne_bytes();
        }
    }
}

thread_local! {
    /// The labels in decisions of this thread, of which a program has few. The code of a label is its position plus one.
    static LABELS: RefCell<Vec<Label>> = const { RefCell::new(Vec::new()) };
}

fn label_code(label: &Label) -> f64 {
    LABELS.with_borrow_mut(|labels| {
        let position = labels.iter().position(|known| known == label).unwrap_or_else(|| {
            labels.push(label.clone());
            labels.len() - 1
        });
        number(position as u64 + 1)
    })
}

/// Returns the label with this code.
pub(crate) fn label_of(code: usize) -> Option<String> {
    LABELS.with_borrow(|labels| labels.get(code.checked_sub(1)?).map(Label::to_string))
}

fn or_nan(value: Option<u64>) -> f64 {
    value.map_or(f64::NAN, number)
}
