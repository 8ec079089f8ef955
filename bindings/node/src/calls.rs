//! `Calls`: the pending calls of one store, by ticket, and their connections.

mod begin;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use paddlegate::store::redis::{Address, Call, CallOutcome, Completion, ConnectionState, Next, Redis};
use paddlegate::{
    Action, Admission, Answer, DecisionLimit, Error, Extension, Fallback, History, Inspection, LIMITERS_PER_PAGE,
    Learned, LimiterInfo, Micros, MultiStep, OnLimit, Procedure, RuntimeState, Statistics, Wakeup, WakeupListener,
};

pub(crate) use begin::picked;

use crate::convert::number;
use crate::link::Link;
use crate::multi_step::CallState;
use crate::shared_buffer::{Event, MAX_ROWS, SharedBuffer, input, output};

/// The ticket of operations that are answered, or fail, at once.
const AT_ONCE: u64 = 0;

/// The pending calls of one store. JavaScript calls from one thread, so there are no locks.
pub(crate) struct Calls {
    redis: Option<Arc<Redis>>,
    buffer: SharedBuffer,
    last_ticket: u64,
    links: Vec<Link>,
    last_link: u32,
    /// Calls that a connection could not complete, until JavaScript continues them.
    unfinished: HashMap<u64, Unfinished>,
    /// Calls that wait for JavaScript to send them after a pause.
    held: HashMap<u64, Call>,
    /// Processing of the results of those calls that need it.
    settling: HashMap<u64, Settling>,
    /// Values that do not fit into the shared buffer, until the next call: permits, settlement names and cursors, and
    /// results of calls that ended without a reply.
    texts: HashMap<u64, String>,
    /// The limiters that decisions of several limiters name.
    limiters: HashMap<u64, String>,
    failures: HashMap<u64, paddlegate::Result<Answer>>,
    /// Parts of the list of limiters, until JavaScript reads them.
    lists: HashMap<u64, Vec<LimiterInfo>>,
    /// Runtime states, until JavaScript reads them.
    runtime_states: HashMap<u64, Box<RuntimeState>>,
    learned: HashMap<u64, Box<Learned>>,
    /// Ids of queued calls, until JavaScript reads them.
    ready: HashMap<u64, Vec<String>>,
    /// Inspections, until JavaScript reads them.
    inspections: HashMap<u64, Box<Inspection>>,
    /// Statistics, until JavaScript reads them.
    statistics: HashMap<u64, Box<Statistics>>,
    /// Histories, until JavaScript reads them.
    histories: HashMap<u64, Box<History>>,
    decision_limits: HashMap<u64, Vec<DecisionLimit>>,
    /// Actions for jobs, until JavaScript reads them.
    admissions: HashMap<u64, (Action, Option<Micros>)>,
    /// A procedure of several operations, until JavaScript reads it.
    pub(crate) started: Option<Procedure>,
    /// The wake-up listener for the waiters of a memory store.
    listener: Option<WakeupListener>,
}

/// The reason why a connection could not complete a call.
enum Unfinished {
    /// A redirection, or a slot that is being moved.
    Outcome(CallOutcome),
    /// The server cannot have received it; with the error, and whether the connection had been opened.
    Unsent(Call, Error, bool),
}

/// Processing of a result before JavaScript receives it.
struct Settling {
    /// Set if the limiter has a fallback for an unavailable store.
    fallback: Option<Fallback>,
    /// Set for a job.
    on_limit: Option<OnLimit>,
    /// Set if the call is one step of several.
    procedure: Option<CallState>,
}

impl Calls {
    pub(crate) fn new(redis: Option<Arc<Redis>>, buffer: SharedBuffer) -> Self {
        Self {
            redis,
            buffer,
            last_ticket: AT_ONCE,
            links: Vec::new(),
            last_link: 0,
            unfinished: HashMap::new(),
            held: HashMap::new(),
            settling: HashMap::new(),
            texts: HashMap::new(),
            limiters: HashMap::new(),
            failures: HashMap::new(),
            lists: HashMap::new(),
            runtime_states: HashMap::new(),
            learned: HashMap::new(),
            ready: HashMap::new(),
            inspections: HashMap::new(),
            statistics: HashMap::new(),
            histories: HashMap::new(),
            decision_limits: HashMap::new(),
            admissions: HashMap::new(),
            started: None,
            listener: None,
        }
    }

    /// Returns all limiters in the given parts of the list.
    pub(crate) fn listed(&mut self, tickets: &[u64]) -> Vec<LimiterInfo> {
        LimiterInfo::sorted(tickets.iter().filter_map(|ticket| self.lists.remove(ticket)).flatten().collect())
    }

    /// Returns whether a page of the list with the given parts needs no further ones.
    pub(crate) fn is_page(&self, tickets: &[u64]) -> bool {
        let found = tickets.iter().filter_map(|ticket| self.lists.get(ticket)).flatten().cloned().collect();
        LimiterInfo::sorted(found).len() >= LIMITERS_PER_PAGE
    }

    /// Returns the runtime state in the last call's answer.
    pub(crate) fn runtime_state(&mut self, ticket: u64) -> Option<Box<RuntimeState>> {
        self.runtime_states.remove(&ticket)
    }

    pub(crate) fn learned(&mut self, ticket: u64) -> Option<Box<Learned>> {
        self.learned.remove(&ticket)
    }

    pub(crate) fn ready(&mut self, ticket: u64) -> Option<Vec<String>> {
        self.ready.remove(&ticket)
    }

    pub(crate) fn inspection(&mut self, ticket: u64) -> Option<Box<Inspection>> {
        self.inspections.remove(&ticket)
    }

    pub(crate) fn statistics(&mut self, ticket: u64) -> Option<Box<Statistics>> {
        self.statistics.remove(&ticket)
    }

    pub(crate) fn history(&mut self, ticket: u64) -> Option<Box<History>> {
        self.histories.remove(&ticket)
    }

    /// Returns the action for the job of the last call, and the delay until the next attempt.
    pub(crate) fn admission(&mut self, ticket: u64) -> Option<(Action, Option<Micros>)> {
        self.admissions.remove(&ticket)
    }

    /// Returns the wake-ups for waiters of the memory store.
    pub(crate) fn wakeups(&self) -> paddlegate::Result<Vec<Wakeup>> {
        self.listener.as_ref().map_or_else(|| Ok(Vec::new()), WakeupListener::receive)
    }

    /// Processes received bytes, then writes completed calls and bytes to send. Returns the number of rows.
    pub(crate) fn exchange(&mut self, id: u32, arrived: &[u8], to_send: &mut [u8]) -> usize {
        self.clear_last_answers();
        let Some(link) = self.links.iter_mut().find(|link| link.id == id) else { return 0 };
        let size = self.buffer.small(input::RECEIVED).min(arrived.len());
        if size > 0 && link.broken.is_none() {
            let mut finished = Vec::new();
            link.broken = link.session.receive(&arrived[..size], &mut finished).err();
            link.finished.extend(finished);
        }
        self.buffer.set(output::BROKEN, f64::from(u8::from(link.broken.is_some())));
        self.buffer.set(output::TO_SEND, number(link.take_output(to_send) as u64));
        let rows = link.finished.len().min(MAX_ROWS);
        let finished: Vec<Completion> = link.finished.drain(..rows).collect();
        for (row, done) in finished.into_iter().enumerate() {
            self.finish(row, done);
        }
        rows
    }

    /// Ends a connection on which calls were sent. All of them fail. Returns their tickets.
    pub(crate) fn fail(&mut self, id: u32, why: &str) -> Vec<f64> {
        self.clear_last_answers();
        let Some(mut link) = self.remove(id, true) else { return Vec::new() };
        let error = link.broken.take().unwrap_or_else(|| Error::unknown_outcome(why));
        let mut tickets = Vec::new();
        for done in link.session.fail(&error) {
            tickets.push(number(done.ticket));
            if let CallOutcome::Answered(result) = done.outcome {
                let result = self.settle(done.ticket, result);
                self.failures.insert(done.ticket, result);
            }
        }
        tickets
    }

    /// Ends a connection on which nothing was sent. Returns the tickets of its calls.
    pub(crate) fn recall(&mut self, id: u32, why: &str, had_worked: bool) -> Vec<f64> {
        let Some(mut link) = self.remove(id, !had_worked) else { return Vec::new() };
        let calls = link.session.recall(0);
        let tickets = calls.iter().map(|(ticket, _)| number(*ticket)).collect();
        let unsent = |call| Unfinished::Unsent(call, Error::unavailable(why), had_worked);
        self.unfinished.extend(calls.into_iter().map(|(ticket, call)| (ticket, unsent(call))));
        tickets
    }

    /// Continues a call that a connection could not complete. Returns the pause before it must be resent, 0 if it was
    /// sent again, or `None` if it has failed.
    pub(crate) fn proceed(&mut self, ticket: u64, left: Duration) -> Option<Micros> {
        let redis = self.redis.clone()?;
        let next = match self.unfinished.remove(&ticket) {
            Some(Unfinished::Outcome(outcome)) => redis.next(outcome, left),
            Some(Unfinished::Unsent(call, error, had_worked)) => redis.next_unsent(call, error, had_worked, left),
            None => Next::Done(Err(Error::internal("a call was continued twice"))),
        };
        match next {
            Next::Done(result) => {
                let result = self.settle(ticket, result);
                self.failures.insert(ticket, result);
                None
            }
            Next::Send(call) => {
                self.send(ticket, call);
                Some(Micros(0))
            }
            Next::SendAfter(call, pause) => {
                self.held.insert(ticket, call);
                Some(pause)
            }
        }
    }

    /// Sends a call after its pause, on the connection to its current node.
    pub(crate) fn resend(&mut self, ticket: u64) {
        if let Some(call) = self.held.remove(&ticket) {
            self.send(ticket, call);
        }
    }

    /// Returns the address of a connection.
    pub(crate) fn node(&self, id: u32) -> Option<&Address> {
        self.links.iter().find(|link| link.id == id).map(|link| &link.node)
    }

    /// Returns the permit, settlement name, cursor, notification node or channel in the last call's answer.
    pub(crate) fn text(&mut self, ticket: u64) -> Option<String> {
        self.texts.remove(&ticket)
    }

    /// Returns the limiter that the decision in the last call's answer names.
    pub(crate) fn limiter_of(&mut self, ticket: u64) -> Option<String> {
        self.limiters.remove(&ticket)
    }

    /// Returns the limits of the decision in the last call's answer.
    pub(crate) fn limits_of(&mut self, ticket: u64) -> Vec<DecisionLimit> {
        self.decision_limits.remove(&ticket).unwrap_or_default()
    }

    /// Returns the error of the last call, or writes the limiter's fallback answer to the first row.
    pub(crate) fn failure(&mut self, ticket: u64) -> paddlegate::Result<()> {
        let defect = || Err(Error::internal("a failed call left no error"));
        let answer = self.failures.remove(&ticket).unwrap_or_else(defect)?;
        self.answered(0, ticket, answer);
        Ok(())
    }

    /// Processes the result of a call with its limiter's fallback. Every result passes here, once.
    fn settle(&mut self, ticket: u64, result: paddlegate::Result<Answer>) -> paddlegate::Result<Answer> {
        if self.settling.is_empty() {
            return result;
        }
        let Some(Settling { fallback, on_limit, procedure }) = self.settling.remove(&ticket) else { return result };
        let result = match fallback {
            Some(fallback) => fallback.settle(result),
            None => result,
        };
        if let Some(procedure) = procedure {
            if let Some(steps) = procedure.borrow_mut().as_mut() {
                steps.on_reply(result);
            }
            // The procedure returns its own outcome later.
            return Ok(Answer::Reset);
        }
        match (result, on_limit) {
            (Ok(answer), Some(on_limit)) => Ok(self.admitted(ticket, answer, on_limit)),
            (result, _) => result,
        }
    }

    /// Stores the action for a job after a decision.
    fn admitted(&mut self, ticket: u64, answer: Answer, on_limit: OnLimit) -> Answer {
        let Answer::Decision(decision) = answer else { return answer };
        let Admission { action, after, decision } = Admission::of(decision, on_limit);
        self.admissions.insert(ticket, (action, after));
        Answer::Decision(decision)
    }

    /// Writes an admission of several as the answer to a call that completed at once.
    pub(crate) fn show(&mut self, Admission { action, after, decision }: Admission) {
        self.clear_last_answers();
        self.admissions.insert(AT_ONCE, (action, after));
        self.answered(0, AT_ONCE, Answer::Decision(decision));
    }

    fn finish(&mut self, row: usize, done: Completion) {
        let ticket = done.ticket;
        match done.outcome {
            CallOutcome::Answered(result) => match self.settle(ticket, result) {
                Ok(answer) => self.answered(row, ticket, answer),
                Err(error) => {
                    self.failures.insert(ticket, Err(error));
                    self.buffer.event(row, ticket, Event::Failed);
                }
            },
            outcome => {
                self.unfinished.insert(ticket, Unfinished::Outcome(outcome));
                self.buffer.event(row, ticket, Event::Unfinished);
            }
        }
    }

    fn answered(&mut self, row: usize, ticket: u64, answer: Answer) {
        self.buffer.answer(row, ticket, &answer);
        match answer {
            Answer::Decision(decision) => {
                self.texts.extend(decision.permit.map(|permit| (ticket, permit)));
                self.limiters.extend(decision.limiter.map(|limiter| (ticket, limiter)));
                if !decision.limits.is_empty() {
                    self.decision_limits.insert(ticket, decision.limits);
                }
            }
            Answer::Settlement(settlement) => self.texts.extend([(ticket, settlement.name().to_owned())]),
            Answer::List(page) => self.lists.extend([(ticket, page.listed)]),
            Answer::Page(page) => {
                self.lists.extend([(ticket, page.limiters)]);
                self.texts.extend(page.cursor.map(|cursor| (ticket, cursor)));
            }
            Answer::RuntimeState(runtime_state) => self.runtime_states.extend([(ticket, runtime_state)]),
            Answer::Inspection(inspection) => self.inspections.extend([(ticket, inspection)]),
            Answer::Statistics(statistics) => self.statistics.extend([(ticket, statistics)]),
            Answer::History(history) => self.histories.extend([(ticket, history)]),
            Answer::Ready(ready) => self.ready.extend([(ticket, ready.ids)]),
            Answer::Report(learned) => self.learned.extend([(ticket, learned)]),
            Answer::Extension(extension) => match *extension {
                Extension::Decided(decision) => self.texts.extend(decision.permit.map(|permit| (ticket, permit))),
                Extension::Closed(settlement) => self.texts.extend([(ticket, settlement.name().to_owned())]),
            },
            // The package does not ask for the most refused keys, nor for all.
            Answer::Renewal(_) | Answer::MostRefused(_) | Answer::Keys(_) | Answer::Reset => {}
        }
    }

    fn send(&mut self, ticket: u64, call: Call) {
        if let Some(redis) = &self.redis {
            let node = redis.route(&call);
            let link = self.submit(ticket, call, node);
            self.buffer.set(output::LINK, f64::from(link));
        }
    }

    /// Submits a call to the connection to `node`, creating it if needed.
    fn submit(&mut self, ticket: u64, call: Call, node: Address) -> u32 {
        let known = self.links.iter_mut().find(|link| link.node == node && link.broken.is_none());
        if let Some(link) = known {
            link.session.submit(ticket, call);
            return link.id;
        }
        let Some(redis) = &self.redis else { return 0 };
        let mut session = ConnectionState::new(redis.location(), node.clone());
        session.submit(ticket, call);
        self.last_link += 1;
        self.links.push(Link::new(self.last_link, node, session));
        self.last_link
    }

    /// Removes a connection. After a failure its node may be down, so that calls are routed to another.
    fn remove(&mut self, id: u32, has_failed: bool) -> Option<Link> {
        let at = self.links.iter().position(|link| link.id == id)?;
        let link = self.links.swap_remove(at);
        if let Some(redis) = self.redis.as_ref().filter(|_| has_failed) {
            redis.forget(&link.node);
        }
        Some(link)
    }

    fn clear_last_answers(&mut self) {
        self.texts.clear();
        self.limiters.clear();
        self.decision_limits.clear();
        self.failures.clear();
    }
}
