//! `Store`: the native part of `new Paddlegate(url)`.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use napi::bindgen_prelude::{Buffer, ClassInstance, Either6, Function};
use napi::{Either, Env};
use napi_derive::napi;
use paddlegate::store::redis::{Address, Certificates, Redis, SentinelQuery};
use paddlegate::{Answer, Error, Limiter, LoadOptions, Micros, Mode, Paddlegate, Policy};

use crate::admin_request::{AdminRequest, InForce, ReportAnswer};
use crate::calls::{Calls, picked};
use crate::convert::{
    BlockAfterSpec, Code, GivenUnits, LimitSpec, ListedLimiter, LoadedLimiter, UnitsByLabel, limits as limits_of,
    millis, on_unavailable, span, thrown, to_millis,
};
use crate::decision_limit::DecisionLimit;
use crate::gate::Gate;
use crate::history::History;
use crate::inspection::Inspection;
use crate::multi_step::MultiStepCall;
use crate::sentinel::Sentinel;
use crate::shared_buffer::SharedBuffer;
use crate::statistics::Statistics;
use crate::subscription::{Message, Subscription};
use crate::test_clock::TestClock;

type Result<T> = napi::Result<T, Code>;

/// An answer that is an object, or the ids of queued calls.
type View = Either6<InForce, Statistics, History, Inspection, ReportAnswer, Vec<String>>;

/// A store and its pending calls. Belongs to the thread that created it.
#[napi]
pub struct Store {
    paddlegate: Paddlegate,
    calls: Rc<RefCell<Calls>>,
    /// The limiters of the last document, or the one of several limiters.
    loaded: Vec<Limiter>,
}

/// The address of a connection: a host and a port, or a path.
#[napi(object, object_from_js = false)]
pub struct Node {
    /// The name for error messages, and of a notification node.
    pub name: String,
    pub host: Option<String>,
    pub port: Option<u16>,
    pub path: Option<String>,
}

/// The certificates of encrypted connections; files in PEM.
#[napi(object, object_from_js = false)]
pub struct Tls {
    pub accepts_any: bool,
    pub trusted_file: Option<String>,
    pub own_file: Option<String>,
    pub key_file: Option<String>,
}

impl From<&Certificates> for Tls {
    fn from(certificates: &Certificates) -> Self {
        let Certificates { accepts_any, trusted_file, own_file, key_file } = certificates.clone();
        Self { accepts_any, trusted_file, own_file, key_file }
    }
}

/// The action for a job, and the time until the next attempt.
#[napi(object, object_from_js = false)]
pub struct Admitted {
    pub action: &'static str,
    pub after_ms: Option<f64>,
}

impl From<&Address> for Node {
    fn from(address: &Address) -> Self {
        let name = address.to_string();
        match address.clone() {
            Address::Tcp(host, port) => Self { name, host: Some(host), port: Some(port), path: None },
            Address::Unix(path) => Self { name, host: None, port: None, path: Some(path) },
        }
    }
}

// napi passes strings by value.
#[allow(clippy::needless_pass_by_value)]
#[napi]
impl Store {
    /// Creates a store without connecting. `memory` is the buffer of `lib/shared-buffer.js`.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        url: String,
        timeout_ms: Option<f64>,
        memory: Buffer,
        clock: Option<ClassInstance<'_, TestClock>>,
    ) -> Result<Self> {
        let clock = clock.as_ref().map(|clock| &clock.inner);
        let timeout = timeout_ms.map(|given| millis("timeout", given)).transpose();
        let opened =
            timeout.and_then(|timeout| Paddlegate::open_with_clock(&url, timeout.map(Micros::duration), clock));
        let paddlegate = opened.map_err(|error| thrown(&error))?;
        let calls = Rc::new(RefCell::new(Calls::new(paddlegate.redis().cloned(), SharedBuffer::new(memory))));
        Ok(Self { paddlegate, calls, loaded: Vec::new() })
    }

    /// Returns a limiter as a function that runs the operation in the shared buffer. The function returns 0 when the
    /// operation is answered (in the first row), -1 when it failed (`raise(0)`), otherwise its ticket. It takes the id
    /// of a permit or a call, a channel, the key of a keyed limiter, the units of a cost by label, their limiters, an admin
    /// request, and the share of a call.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments)]
    pub fn limiter<'env>(
        &self,
        env: &'env Env,
        name: String,
        limits: Vec<LimitSpec>,
        ttl: Option<Either<f64, String>>,
        group: Option<String>,
        keyed: Option<bool>,
        statistics: Option<bool>,
        mode: Option<String>,
        block_after: Option<BlockAfterSpec>,
        aging: Option<Either<f64, String>>,
        unavailable: Option<String>,
        share: Option<f64>,
    ) -> Result<Function<'env, (), i32>> {
        let limiter = limits_of(&limits).and_then(Policy::new).and_then(|policy| {
            let limiter = match ttl {
                None => self.paddlegate.limiter(&name, policy),
                Some(ttl) => self.paddlegate.limiter_with_ttl(&name, policy, span("ttl", &ttl)?.duration()),
            }?;
            let limiter = match group {
                Some(group) => limiter.with_group(&group)?,
                None => limiter,
            };
            let limiter = if keyed == Some(true) { limiter.keyed()? } else { limiter };
            let limiter = if statistics == Some(false) { limiter.without_statistics()? } else { limiter };
            let limiter = match mode {
                Some(mode) => limiter.with_mode(Mode::from_name(&mode)?)?,
                None => limiter,
            };
            let limiter = match block_after {
                Some(rule) => limiter.with_block_after(rule.read()?)?,
                None => limiter,
            };
            let limiter = match aging {
                Some(aging) => limiter.with_aging(span("aging", &aging)?.duration())?,
                None => limiter,
            };
            Ok(limiter.with_on_unavailable(on_unavailable(unavailable.as_deref(), share)?))
        });
        self.function(env, limiter.map_err(|error| thrown(&error))?)
    }

    /// Creates a limiter of the limiters that were picked, and returns its name; `loaded(0)` returns its function.
    #[napi(catch_unwind)]
    pub fn together(&mut self) -> Result<String> {
        let limiters = picked();
        let limiter = self.paddlegate.together(&limiters.iter().collect::<Vec<_>>()).map_err(|error| thrown(&error))?;
        let name = limiter.name().to_owned();
        self.loaded = vec![limiter];
        Ok(name)
    }

    /// Returns the limiters of a document; `loaded` returns their functions.
    #[napi(catch_unwind)]
    pub fn load(
        &mut self,
        document: String,
        lock_timeout_ms: Option<f64>,
        tenant: Option<String>,
        group: Option<String>,
        mode: Option<String>,
        share: Option<f64>,
    ) -> Result<Vec<LoadedLimiter>> {
        let mode = on_unavailable(mode.as_deref(), share).map_err(|error| thrown(&error))?;
        let lock_timeout = lock_timeout_ms.map(|given| millis("lock_timeout", given)).transpose();
        let loaded = lock_timeout.and_then(|lock_timeout| {
            let options = LoadOptions { lock_timeout, tenant: tenant.as_deref(), group: group.as_deref() };
            self.paddlegate.load_with(&document, &options)
        });
        let loaded = loaded.map_err(|error| thrown(&error))?;
        let shown = loaded.iter().map(LoadedLimiter::from).collect();
        self.loaded = loaded.into_iter().map(|loaded| loaded.limiter.with_on_unavailable(mode)).collect();
        Ok(shown)
    }

    /// Returns a limiter of the last document as a function, as [`limiter`](Self::limiter) does.
    #[napi(catch_unwind)]
    pub fn loaded<'env>(&self, env: &'env Env, index: u32) -> Result<Function<'env, (), i32>> {
        let limiter = self.loaded.get(index as usize).cloned();
        self.function(env, limiter.ok_or_else(|| thrown(&Error::internal("no such limiter in the document")))?)
    }

    /// Returns the limiter of a workflow run; `loaded(0)` returns its function.
    #[napi(catch_unwind)]
    pub fn conductor_limiter(
        &mut self,
        definition: String,
        run: String,
        lock_timeout_ms: Option<f64>,
        mode: Option<String>,
        share: Option<f64>,
    ) -> Result<LoadedLimiter> {
        let loaded = on_unavailable(mode.as_deref(), share).and_then(|mode| {
            let lock_timeout = lock_timeout_ms.map(|given| millis("lock_timeout", given)).transpose()?;
            let loaded = self.paddlegate.conductor_limiter(&definition, &run, lock_timeout)?;
            Ok(paddlegate::LoadedLimiter { limiter: loaded.limiter.with_on_unavailable(mode), ..loaded })
        });
        let loaded = loaded.map_err(|error| thrown(&error))?;
        let shown = LoadedLimiter::from(&loaded);
        self.loaded = vec![loaded.limiter];
        Ok(shown)
    }

    /// Returns the gate of a document.
    #[napi(catch_unwind)]
    pub fn invantive_gate(&self, document: String) -> Result<Gate> {
        let gate = self.paddlegate.invantive_gate(&document).map_err(|error| thrown(&error))?;
        Ok(Gate::new(&self.calls, gate))
    }

    /// Rejects all further calls. JavaScript closes its sockets itself, after the last call.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.paddlegate.close();
    }

    /// Returns the procedure of several operations that the last admin request started.
    #[napi(catch_unwind)]
    pub fn multi_step(&self) -> Result<MultiStepCall> {
        let steps = self.calls.borrow_mut().started.take();
        let steps = steps.ok_or_else(|| thrown(&Error::internal("no operation of several steps was started")))?;
        Ok(MultiStepCall::new(&self.calls, steps))
    }

    /// Returns the number of parts in which the list of limiters is read.
    #[napi(catch_unwind)]
    pub fn parts(&self) -> u16 {
        self.paddlegate.parts()
    }

    /// Starts reading a page of a part of the list: the names that begin with `prefix`. Returns 0 if it was read at once,
    /// as the only page, otherwise the ticket. The row has the cursor of the next page, which is 0 after the last page.
    #[napi(catch_unwind)]
    pub fn list(&self, part: u16, cursor: f64, prefix: String) -> i32 {
        // A cursor is smaller than twice the number of limiters in a part.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        self.calls.borrow_mut().prepare_list(&self.paddlegate, part, cursor as u64, &prefix)
    }

    /// Starts reading a part of a page of the whole list: the names that begin with `prefix`. Returns 0 if it was read at once,
    /// -1 if the cursor is invalid (`raise(0)`), otherwise the ticket. `listed` and `text` return the limiters and the cursor
    /// of what follows.
    #[napi(catch_unwind)]
    pub fn page(&self, prefix: String, cursor: Option<String>) -> i32 {
        self.calls.borrow_mut().prepare_page(&self.paddlegate, &prefix, cursor.as_deref())
    }

    /// Returns whether the parts that were read are a page, also without what follows.
    #[napi(catch_unwind)]
    pub fn is_page(&self, tickets: Vec<u32>) -> bool {
        let tickets: Vec<u64> = tickets.into_iter().map(u64::from).collect();
        self.calls.borrow().is_page(&tickets)
    }

    /// Returns the limiters in the parts that were read.
    #[napi(catch_unwind)]
    pub fn listed(&self, tickets: Vec<u32>) -> Vec<ListedLimiter> {
        let tickets: Vec<u64> = tickets.into_iter().map(u64::from).collect();
        self.calls.borrow_mut().listed(&tickets).into_iter().map(ListedLimiter::from).collect()
    }

    /// Returns the answer to a call that is no decision: a runtime state, statistics, a history, an inspection, the result of a
    /// report, or the ids of queued calls.
    #[napi(catch_unwind)]
    pub fn answer(&self, ticket: u32) -> Option<View> {
        Some(match self.calls.borrow_mut().answer(ticket.into())? {
            Answer::RuntimeState(state) => Either6::A(InForce::from(&*state)),
            Answer::Statistics(statistics) => Either6::B(Statistics::from(&*statistics)),
            Answer::History(history) => Either6::C(History::from(&*history)),
            Answer::Inspection(inspection) => Either6::D(Inspection::from(*inspection)),
            Answer::Report(learned) => Either6::E(ReportAnswer::from(*learned)),
            Answer::Ready(ready) => Either6::F(ready.ids),
            _ => return None,
        })
    }

    /// Returns the action for a job in the answer to a call.
    #[napi(catch_unwind)]
    pub fn admission(&self, ticket: u32) -> Option<Admitted> {
        let (action, after) = self.calls.borrow_mut().admission(ticket.into())?;
        Some(Admitted { action: action.name(), after_ms: after.map(to_millis) })
    }

    /// Returns the wake-ups for the waiters of a memory store.
    #[napi(catch_unwind)]
    pub fn hints(&self) -> Result<Vec<Message>> {
        let wakeups = self.calls.borrow().wakeups().map_err(|error| thrown(&error))?;
        Ok(wakeups.into_iter().map(Message::from).collect())
    }

    /// Returns a subscription to the wake-ups of a notification node.
    #[napi(catch_unwind)]
    pub fn subscribe(&self, node: String) -> Result<Subscription> {
        let redis =
            self.paddlegate.redis().ok_or_else(|| Error::internal("the memory store has no connection for wake-ups"));
        redis.and_then(|redis| Subscription::new(redis.location(), &node)).map_err(|error| thrown(&error))
    }

    /// Returns the timeout of a call in milliseconds; undefined in memory.
    #[napi(catch_unwind)]
    pub fn timeout_ms(&self) -> Option<f64> {
        self.redis().map(|redis| to_millis(redis.timeout()))
    }

    /// Returns the certificates of encrypted connections; nothing if connections are not encrypted.
    #[napi(catch_unwind)]
    pub fn tls(&self) -> Option<Tls> {
        let location = self.redis()?.location();
        location.tls.then(|| Tls::from(&location.certificates))
    }

    /// Returns the question for the master; nothing without sentinels.
    #[napi(catch_unwind)]
    pub fn sentinel(&self) -> Option<Sentinel> {
        SentinelQuery::new(self.redis()?.location()).map(Sentinel::from)
    }

    /// Returns the address of a connection.
    #[napi(catch_unwind)]
    pub fn node(&self, link: u32) -> Option<Node> {
        let calls = self.calls.borrow();
        calls.node(link).map(Node::from)
    }

    /// Returns a connection as a function that processes the received bytes in `arrived` and writes the bytes to send
    /// to `to_send`. The function returns the number of rows.
    #[napi(catch_unwind)]
    pub fn link<'env>(
        &self,
        env: &'env Env,
        link: u32,
        arrived: Buffer,
        to_send: Buffer,
    ) -> Result<Function<'env, (), u32>> {
        let calls = Rc::clone(&self.calls);
        let to_send = RefCell::new(to_send);
        let exchange = env.create_function_from_closure("exchange", move |_| {
            let rows = calls.borrow_mut().exchange(link, &arrived, &mut to_send.borrow_mut());
            Ok(u32::try_from(rows).unwrap_or_default())
        });
        exchange.map_err(|error| defect(&error))
    }

    /// Ends a connection on which calls were sent. Returns their tickets; `raise` each.
    #[napi(catch_unwind)]
    pub fn fail(&self, link: u32, why: String) -> Vec<f64> {
        self.calls.borrow_mut().fail(link, &why)
    }

    /// Ends a connection on which nothing was sent; `had_worked` if it had been opened. Returns the tickets of its
    /// calls; `proceed` with each.
    #[napi(catch_unwind)]
    pub fn recall(&self, link: u32, why: String, had_worked: bool) -> Vec<f64> {
        self.calls.borrow_mut().recall(link, &why, had_worked)
    }

    /// Continues a call that a connection could not complete. Returns 0 if it was submitted to the connection in the
    /// shared buffer, -1 if it has failed (`raise` it), otherwise the milliseconds after which to `resend` it.
    #[napi(catch_unwind)]
    pub fn proceed(&self, ticket: u32, left_ms: f64) -> f64 {
        let left = Duration::try_from_secs_f64(left_ms / 1_000.0).unwrap_or_default();
        self.calls.borrow_mut().proceed(ticket.into(), left).map_or(-1.0, to_millis)
    }

    /// Sends a call after its pause, on the connection in the shared buffer.
    #[napi(catch_unwind)]
    pub fn resend(&self, ticket: u32) {
        self.calls.borrow_mut().resend(ticket.into());
    }

    /// Returns the permit, the settlement name, the cursor, the notification node or the channel in the answer to a call;
    /// undefined if there is none.
    #[napi(catch_unwind)]
    pub fn text(&self, ticket: u32) -> Option<String> {
        self.calls.borrow_mut().text(ticket.into())
    }

    /// Returns the limiter that the decision in the answer to a call names; undefined if it names none.
    #[napi(catch_unwind)]
    pub fn limiter_of(&self, ticket: u32) -> Option<String> {
        self.calls.borrow_mut().limiter_of(ticket.into())
    }

    /// Returns each limit of the decision in the answer to a call, if it asked for them.
    #[napi(catch_unwind)]
    pub fn limits_of(&self, ticket: u32) -> Vec<DecisionLimit> {
        self.calls.borrow_mut().limits_of(ticket.into()).iter().map(DecisionLimit::from).collect()
    }

    /// Throws the error of a call, unless its limiter's fallback answered: then the answer is in the first row.
    #[napi(catch_unwind)]
    pub fn raise(&self, ticket: u32) -> Result<()> {
        self.calls.borrow_mut().failure(ticket.into()).map_err(|error| thrown(&error))
    }

    fn function<'env>(&self, env: &'env Env, limiter: Limiter) -> Result<Function<'env, (), i32>> {
        let calls = Rc::clone(&self.calls);
        let run = env.create_function_from_closure("run", move |context| {
            let given = context.length();
            let (mut id, mut channel, mut key) = (None, None, None);
            if given == 0 {
                let (is_decided, of) = calls.borrow_mut().allow_at_once(&limiter);
                if is_decided {
                    return Ok(0);
                }
                key = of;
            } else if given == 1 {
                key = Some(context.get::<String>(0)?);
            } else {
                (id, channel) = (Some(context.get::<String>(0)?), Some(context.get::<String>(1)?));
            }
            if given > 2 {
                key = context.get(2)?;
            }
            // With a share the request must be checked.
            if given < 7
                && let Some(key) = &key
                && calls.borrow_mut().is_decided_at_once(&limiter, key)
            {
                return Ok(0);
            }
            let limiter = match key.map_or(Ok(Cow::Borrowed(&limiter)), |key| limiter.with_key(&key).map(Cow::Owned)) {
                Ok(limiter) => limiter,
                Err(error) => return Ok(calls.borrow_mut().failed(error)),
            };
            if given > 5
                && let Some(request) = context.get::<Option<AdminRequest>>(5)?
            {
                return Ok(calls.borrow_mut().begin_admin(&limiter, &request));
            }
            let by_label = if given > 3 { context.get::<Option<UnitsByLabel>>(3)? } else { None };
            let limiters = if given > 4 { context.get(4)? } else { None };
            let units = by_label.map(|by_label| GivenUnits { by_label, limiters });
            let share = if given > 6 { Some(context.get::<String>(6)?) } else { None };
            let (id, channel, share) = (id.as_deref(), channel.as_deref(), share.as_deref());
            Ok(calls.borrow_mut().prepare(&limiter, id, channel, units.as_ref(), share))
        });
        run.map_err(|error| defect(&error))
    }

    fn redis(&self) -> Option<&Redis> {
        self.paddlegate.redis().map(AsRef::as_ref)
    }
}

/// Converts an error of Node itself.
fn defect(error: &napi::Error) -> napi::Error<Code> {
    thrown(&Error::internal(error.reason.clone()))
}
