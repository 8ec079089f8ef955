//! `Calls`: the calls of one store on their way to Redis, by ticket, and the connections that carry them.

mod begin;

use std::collections::HashMap;
use std::sync::Arc;

use paddlegate::store::redis::{Address, Asking, Call, CallOutcome, Completion, ConnectionState, Redis};
use paddlegate::{
    Action, Admission, Answer, Error, Fallback, Learned, LimiterInfo, Micros, MultiStep, OnLimit, RuntimeState, Wakeup,
    WakeupListener,
};

use crate::area::{Event, MAX_ROWS, SharedBuffer, input, output};
use crate::convert::{number, to_millis};
use crate::course::{CallState, Procedure};
use crate::link::Link;

/// The ticket of what was answered, or failed, at once.
const AT_ONCE: u64 = 0;

/// What one store has under way. JavaScript calls from one thread, so nothing in it is locked.
pub(crate) struct Calls {
    redis: Option<Arc<Redis>>,
    area: SharedBuffer,
    last_ticket: u64,
    links: Vec<Link>,
    last_link: u32,
    /// Calls that JavaScript will have sent again.
    held: HashMap<u64, Call>,
    /// What becomes of the outcomes of the few calls where something does.
    settling: HashMap<u64, Settling>,
    /// What does not fit into the area, until the next call: permits and names of settlements, and how calls have ended
    /// that the store did not answer.
    texts: HashMap<u64, String>,
    failures: HashMap<u64, paddlegate::Result<Answer>>,
    /// Parts of the list of limiters, until they are asked for.
    lists: HashMap<u64, Vec<LimiterInfo>>,
    /// What is in force, until it is asked for.
    controls: HashMap<u64, Box<RuntimeState>>,
    learned: HashMap<u64, Box<Learned>>,
    /// What to do with jobs, until it is asked for.
    admissions: HashMap<u64, (Action, Option<Micros>)>,
    /// What takes several operations, until it is asked for.
    pub(crate) started: Option<Procedure>,
    /// Where the waiters of a store in memory hear that their turn has come.
    hints: Option<WakeupListener>,
}

/// What becomes of an outcome before it is handed over.
struct Settling {
    /// Of a limiter that has an answer of its own when the store has none.
    fallback: Option<Fallback>,
    /// Of a job.
    on_limit: Option<OnLimit>,
    /// Of one call of several.
    course: Option<CallState>,
}

impl Calls {
    pub(crate) fn new(redis: Option<Arc<Redis>>, area: SharedBuffer) -> Self {
        Self {
            redis,
            area,
            last_ticket: AT_ONCE,
            links: Vec::new(),
            last_link: 0,
            held: HashMap::new(),
            settling: HashMap::new(),
            texts: HashMap::new(),
            failures: HashMap::new(),
            lists: HashMap::new(),
            controls: HashMap::new(),
            learned: HashMap::new(),
            admissions: HashMap::new(),
            started: None,
            hints: None,
        }
    }

    /// All that the parts of the list told.
    pub(crate) fn listed(&mut self, tickets: &[u64]) -> Vec<LimiterInfo> {
        LimiterInfo::sorted(tickets.iter().filter_map(|ticket| self.lists.remove(ticket)).flatten().collect())
    }

    /// What is in force, by the last call's answer.
    pub(crate) fn controls(&mut self, ticket: u64) -> Option<Box<RuntimeState>> {
        self.controls.remove(&ticket)
    }

    pub(crate) fn learned(&mut self, ticket: u64) -> Option<Box<Learned>> {
        self.learned.remove(&ticket)
    }

    /// What to do with the job of the last call, and when to ask again.
    pub(crate) fn admission(&mut self, ticket: u64) -> Option<(Action, Option<Micros>)> {
        self.admissions.remove(&ticket)
    }

    /// The messages to the waiters in memory.
    pub(crate) fn hints(&self) -> paddlegate::Result<Vec<Wakeup>> {
        self.hints.as_ref().map_or_else(|| Ok(Vec::new()), WakeupListener::receive)
    }

    /// Takes what has arrived, then hands over what is finished and what is to be sent. Gives the number of rows.
    pub(crate) fn exchange(&mut self, id: u32, arrived: &[u8], to_send: &mut [u8]) -> usize {
        self.forget_notes();
        let Some(link) = self.links.iter_mut().find(|link| link.id == id) else { return 0 };
        let size = self.area.small(input::RECEIVED).min(arrived.len());
        if size > 0 && link.broken.is_none() {
            let mut finished = Vec::new();
            link.broken = link.session.receive(&arrived[..size], &mut finished).err();
            link.finished.extend(finished);
        }
        self.area.set(output::BROKEN, f64::from(u8::from(link.broken.is_some())));
        self.area.set(output::TO_SEND, number(link.take_output(to_send) as u64));
        let rows = link.finished.len().min(MAX_ROWS);
        let finished: Vec<Completion> = link.finished.drain(..rows).collect();
        for (row, done) in finished.into_iter().enumerate() {
            self.finish(row, done);
        }
        rows
    }

    /// Ends a connection which calls were sent on. Gives their tickets; each has failed now.
    pub(crate) fn fail(&mut self, id: u32, why: &str) -> Vec<f64> {
        self.forget_notes();
        let Some(mut link) = self.remove(id) else { return Vec::new() };
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

    /// Ends a connection that nothing was sent on. Gives the tickets of its calls, which are held.
    pub(crate) fn recall(&mut self, id: u32) -> Vec<f64> {
        let Some(mut link) = self.remove(id) else { return Vec::new() };
        let calls = link.session.recall();
        let tickets = calls.iter().map(|(ticket, _)| number(*ticket)).collect();
        self.held.extend(calls);
        tickets
    }

    /// Sends a held call on the connection where it belongs by now.
    pub(crate) fn resend(&mut self, ticket: u64) {
        if let Some(call) = self.held.remove(&ticket) {
            self.send(ticket, call);
        }
    }

    /// Ends a held call, which has not been sent.
    pub(crate) fn abandon(&mut self, ticket: u64, why: &str) {
        self.held.remove(&ticket);
        let result = self.settle(ticket, Err(Error::unavailable(why)));
        self.failures.insert(ticket, result);
    }

    /// Where a connection leads.
    pub(crate) fn node(&self, id: u32) -> Option<&Address> {
        self.links.iter().find(|link| link.id == id).map(|link| &link.node)
    }

    /// The permit, the settlement, the place or the channel in the last call's answer.
    pub(crate) fn text(&mut self, ticket: u64) -> Option<String> {
        self.texts.remove(&ticket)
    }

    /// Gives why the last call failed, or puts what its limiter answers all the same into the first row.
    pub(crate) fn failure(&mut self, ticket: u64) -> paddlegate::Result<()> {
        let defect = || Err(Error::internal("a failure without an error"));
        let answer = self.failures.remove(&ticket).unwrap_or_else(defect)?;
        self.answered(0, ticket, answer);
        Ok(())
    }

    /// The outcome of a call that was carried, as its limiter has it: every outcome comes here, and only once.
    fn settle(&mut self, ticket: u64, result: paddlegate::Result<Answer>) -> paddlegate::Result<Answer> {
        if self.settling.is_empty() {
            return result;
        }
        let Some(Settling { fallback, on_limit, course }) = self.settling.remove(&ticket) else { return result };
        let result = match fallback {
            Some(fallback) => fallback.settle(result),
            None => result,
        };
        if let Some(course) = course {
            if let Some(steps) = course.borrow_mut().as_mut() {
                steps.on_reply(result);
            }
            // It says itself what comes of it.
            return Ok(Answer::Reset);
        }
        match (result, on_limit) {
            (Ok(answer), Some(on_limit)) => Ok(self.admitted(ticket, answer, on_limit)),
            (result, _) => result,
        }
    }

    /// Keeps what a decision means to a job.
    fn admitted(&mut self, ticket: u64, answer: Answer, on_limit: OnLimit) -> Answer {
        let Answer::Decision(decision) = answer else { return answer };
        let Admission { action, after, decision } = Admission::of(decision, on_limit);
        self.admissions.insert(ticket, (action, after));
        Answer::Decision(decision)
    }

    /// Shows an admission of several as if it were the answer to a call at once.
    pub(crate) fn show(&mut self, Admission { action, after, decision }: Admission) {
        self.forget_notes();
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
                    self.area.event(row, ticket, Event::Failed, 0.0);
                }
            },
            CallOutcome::Redirect(call, node, asking) => {
                if let (Some(redis), Asking::No) = (&self.redis, asking) {
                    redis.learn(&call, &node);
                }
                let link = self.submit(ticket, call, node, asking);
                self.area.event(row, ticket, Event::Moved, f64::from(link));
            }
            CallOutcome::RetryAfter(call, pause) => {
                self.held.insert(ticket, call);
                self.area.event(row, ticket, Event::Later, to_millis(pause));
            }
        }
    }

    fn answered(&mut self, row: usize, ticket: u64, answer: Answer) {
        self.area.answer(row, ticket, &answer);
        match answer {
            Answer::Decision(decision) => self.texts.extend(decision.permit.map(|permit| (ticket, permit))),
            Answer::Settlement(settlement) => self.texts.extend([(ticket, settlement.name().to_owned())]),
            Answer::List(page) => self.lists.extend([(ticket, page.listed)]),
            Answer::RuntimeState(controls) => self.controls.extend([(ticket, controls)]),
            Answer::Report(learned) => self.learned.extend([(ticket, learned)]),
            Answer::Renewal(_) | Answer::Statistics(_) | Answer::Reset => {}
        }
    }

    fn send(&mut self, ticket: u64, call: Call) {
        if let Some(redis) = &self.redis {
            let node = redis.route(&call);
            let link = self.submit(ticket, call, node, Asking::No);
            self.area.set(output::LINK, f64::from(link));
        }
    }

    /// Gives a call to the connection to `node`, made when there is none.
    fn submit(&mut self, ticket: u64, call: Call, node: Address, asking: Asking) -> u32 {
        let known = self.links.iter_mut().find(|link| link.node == node && link.broken.is_none());
        if let Some(link) = known {
            link.session.submit(ticket, call, asking);
            return link.id;
        }
        let Some(redis) = &self.redis else { return 0 };
        let mut session = ConnectionState::new(redis.location(), node.clone());
        session.submit(ticket, call, asking);
        self.last_link += 1;
        self.links.push(Link::new(self.last_link, node, session));
        self.last_link
    }

    fn remove(&mut self, id: u32) -> Option<Link> {
        let at = self.links.iter().position(|link| link.id == id)?;
        let link = self.links.swap_remove(at);
        if let Some(redis) = &self.redis {
            redis.forget(&link.node);
        }
        Some(link)
    }

    fn forget_notes(&mut self) {
        self.texts.clear();
        self.failures.clear();
    }
}
