//! `Store`: the native part of `new Paddlegate(url)`.

use std::cell::RefCell;
use std::rc::Rc;

use napi::bindgen_prelude::{Buffer, Function};
use napi::{Either, Env};
use napi_derive::napi;
use paddlegate::store::redis::{Address, Redis};
use paddlegate::{Error, Limiter, LoadOptions, Micros, Paddlegate};

use crate::area::SharedBuffer;
use crate::calls::Calls;
use crate::convert::{
    Code, LimitSpec, ListedLimiter, LoadedLimiter, millis, number, on_unavailable, policy, span, thrown, to_millis,
};
use crate::course::MultiStepCall;
use crate::gate::Gate;
use crate::order::{AdminRequest, InForce, ReportAnswer};
use crate::subscription::{Message, Subscription};

type Result<T> = napi::Result<T, Code>;

/// A store, and the calls to it that are under way. Belongs to the thread that made it.
#[napi]
pub struct Store {
    paddlegate: Paddlegate,
    calls: Rc<RefCell<Calls>>,
    /// The limiters of the last document.
    loaded: Vec<Limiter>,
}

/// Where a connection leads: a host and a port, or a path.
#[napi(object, object_from_js = false)]
pub struct Node {
    /// For error messages; the place of the waiters who hear of their turn there.
    pub name: String,
    pub host: Option<String>,
    pub port: Option<u16>,
    pub path: Option<String>,
}

/// What is done with a job, and when to ask again.
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
    /// Connects to nothing. `area` is the memory that `lib/area.js` lays out.
    #[napi(constructor, catch_unwind)]
    pub fn new(url: String, timeout_ms: Option<f64>, area: Buffer) -> Result<Self> {
        let timeout = timeout_ms.map(|given| millis("timeout", given)).transpose();
        let opened = timeout.and_then(|timeout| Paddlegate::open(&url, timeout.map(Micros::duration)));
        let paddlegate = opened.map_err(|error| thrown(&error))?;
        let calls = Rc::new(RefCell::new(Calls::new(paddlegate.redis().cloned(), SharedBuffer::new(area))));
        Ok(Self { paddlegate, calls, loaded: Vec::new() })
    }

    /// A limiter, as the function that runs the operation in the area: 0 when it is answered (in the first row), -1
    /// when it failed (`raise(0)`), else its ticket. It takes the id of a permit or a call, a channel, and an order.
    #[napi(catch_unwind)]
    pub fn limiter<'env>(
        &self,
        env: &'env Env,
        name: String,
        limits: Vec<LimitSpec>,
        ttl: Option<Either<f64, String>>,
        mode: Option<String>,
        share: Option<f64>,
    ) -> Result<Function<'env, (), i32>> {
        let limiter = policy(limits).and_then(|policy| {
            let limiter = match ttl {
                None => self.paddlegate.limiter(&name, policy),
                Some(ttl) => self.paddlegate.limiter_with_ttl(&name, policy, span("ttl", ttl)?.duration()),
            };
            Ok(limiter?.with_on_unavailable(on_unavailable(mode.as_deref(), share)?))
        });
        self.function(env, limiter.map_err(|error| thrown(&error))?)
    }

    /// The limiters of a document; `loaded` gives the functions.
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

    /// One of the limiters of the last document, as [`limiter`](Self::limiter) gives it.
    #[napi(catch_unwind)]
    pub fn loaded<'env>(&self, env: &'env Env, index: u32) -> Result<Function<'env, (), i32>> {
        let limiter = self.loaded.get(index as usize).cloned();
        self.function(env, limiter.ok_or_else(|| thrown(&Error::internal("no such limiter in the document")))?)
    }

    /// The limiter of a run of a workflow, which `loaded` gives as the first.
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

    /// The gate of a document.
    #[napi(catch_unwind)]
    pub fn invantive_gate(&self, document: String) -> Result<Gate> {
        let gate = self.paddlegate.invantive_gate(&document).map_err(|error| thrown(&error))?;
        Ok(Gate::new(&self.calls, gate))
    }

    /// Refuses all calls from now on. JavaScript closes its sockets itself, after the last call.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.paddlegate.close();
    }

    /// What takes several operations, by the last order.
    #[napi(catch_unwind)]
    pub fn course(&self) -> Result<MultiStepCall> {
        let steps = self.calls.borrow_mut().started.take();
        let steps = steps.ok_or_else(|| thrown(&Error::internal("no operation of several steps was started")))?;
        Ok(MultiStepCall::new(&self.calls, steps))
    }

    /// In how many parts the list of limiters is read.
    #[napi(catch_unwind)]
    pub fn parts(&self) -> u16 {
        self.paddlegate.parts()
    }

    /// Starts to read a page of a part of it: 0 when it is read, and was the only one, else its ticket. The row has the
    /// cursor of the next page, which is 0 after the last.
    #[napi(catch_unwind)]
    pub fn list(&self, part: u16, cursor: f64) -> i32 {
        // A cursor is smaller than twice the number of limiters in a part.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        self.calls.borrow_mut().prepare_list(&self.paddlegate, part, cursor as u64)
    }

    /// The limiters in the parts that were read.
    #[napi(catch_unwind)]
    pub fn listed(&self, tickets: Vec<u32>) -> Vec<ListedLimiter> {
        let tickets: Vec<u64> = tickets.into_iter().map(u64::from).collect();
        self.calls.borrow_mut().listed(&tickets).into_iter().map(ListedLimiter::from).collect()
    }

    /// What is in force, by the last answer.
    #[napi(catch_unwind)]
    pub fn runtime_state(&self, ticket: u32) -> Option<InForce> {
        self.calls.borrow_mut().controls(ticket.into()).map(|controls| InForce::from(&*controls))
    }

    /// What became of a report.
    #[napi(catch_unwind)]
    pub fn learned(&self, ticket: u32) -> Option<ReportAnswer> {
        self.calls.borrow_mut().learned(ticket.into()).map(|learned| ReportAnswer::from(*learned))
    }

    /// What to do with a job, by the last answer.
    #[napi(catch_unwind)]
    pub fn admission(&self, ticket: u32) -> Option<Admitted> {
        let (action, after) = self.calls.borrow_mut().admission(ticket.into())?;
        Some(Admitted { action: action.name(), after_ms: after.map(to_millis) })
    }

    /// The messages that have come to the waiters in memory.
    #[napi(catch_unwind)]
    pub fn hints(&self) -> Result<Vec<Message>> {
        let hints = self.calls.borrow().hints().map_err(|error| thrown(&error))?;
        Ok(hints.into_iter().map(Message::from).collect())
    }

    /// A subscription for the waiters at a place.
    #[napi(catch_unwind)]
    pub fn subscribe(&self, place: String) -> Result<Subscription> {
        let redis =
            self.paddlegate.redis().ok_or_else(|| Error::internal("the memory store has no connection for wake-ups"));
        redis.and_then(|redis| Subscription::new(redis.location(), &place)).map_err(|error| thrown(&error))
    }

    /// Within which time a call is answered or fails; undefined in memory.
    #[napi(catch_unwind)]
    pub fn timeout_ms(&self) -> Option<f64> {
        self.redis().map(|redis| to_millis(redis.timeout()))
    }

    /// Whether connections are encrypted.
    #[napi(catch_unwind)]
    pub fn tls(&self) -> bool {
        self.redis().is_some_and(|redis| redis.location().tls)
    }

    /// How many nodes the URL names.
    #[napi(catch_unwind)]
    pub fn nodes(&self) -> f64 {
        self.redis().map_or(0.0, |redis| number(redis.location().nodes.len() as u64))
    }

    /// Where a connection leads.
    #[napi(catch_unwind)]
    pub fn node(&self, link: u32) -> Option<Node> {
        let calls = self.calls.borrow();
        calls.node(link).map(Node::from)
    }

    /// A connection, as the function that takes what has arrived in `arrived` and puts what to send into `to_send`.
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

    /// Ends a connection which calls were sent on. Gives their tickets; `raise` each.
    #[napi(catch_unwind)]
    pub fn fail(&self, link: u32, why: String) -> Vec<f64> {
        self.calls.borrow_mut().fail(link, &why)
    }

    /// Ends a connection that nothing was sent on. Gives the tickets of its calls; `resend` or `abandon` each.
    #[napi(catch_unwind)]
    pub fn recall(&self, link: u32) -> Vec<f64> {
        self.calls.borrow_mut().recall(link)
    }

    /// Sends a held call again.
    #[napi(catch_unwind)]
    pub fn resend(&self, ticket: u32) {
        self.calls.borrow_mut().resend(ticket.into());
    }

    /// Ends a held call; `raise` it.
    #[napi(catch_unwind)]
    pub fn abandon(&self, ticket: u32, why: String) {
        self.calls.borrow_mut().abandon(ticket.into(), &why);
    }

    /// The permit, the name of the settlement, the place or the channel in the last answer; undefined when it has none.
    #[napi(catch_unwind)]
    pub fn text(&self, ticket: u32) -> Option<String> {
        self.calls.borrow_mut().text(ticket.into())
    }

    /// Throws why a call failed, unless its limiter answers all the same: then that is in the first row.
    #[napi(catch_unwind)]
    pub fn raise(&self, ticket: u32) -> Result<()> {
        self.calls.borrow_mut().failure(ticket.into()).map_err(|error| thrown(&error))
    }

    fn function<'env>(&self, env: &'env Env, limiter: Limiter) -> Result<Function<'env, (), i32>> {
        let calls = Rc::clone(&self.calls);
        let run = env.create_function_from_closure("run", move |context| {
            let given = context.length();
            if given > 2 {
                let order = context.get::<AdminRequest>(2)?;
                return Ok(calls.borrow_mut().begin_order(&limiter, &order));
            }
            let id = if given > 0 { Some(context.get::<String>(0)?) } else { None };
            let channel = if given > 1 { Some(context.get::<String>(1)?) } else { None };
            Ok(calls.borrow_mut().prepare(&limiter, id.as_deref(), channel.as_deref()))
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
