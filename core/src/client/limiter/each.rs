//! `acquire_each`: several calls, each decided by itself, in one exchange with the server.

use std::sync::Arc;

use super::Limiter;
use super::run::settled;
use crate::base::error::{Error, Result};
use crate::client::local_fallback::Fallback;
use crate::client::prepared::Prepared;
use crate::model::decision::Decision;
use crate::model::operation::{Content, Operation};
use crate::model::request::Request;
use crate::store::redis::{Call, Redis};
use crate::store::signal_handling::SignalHandling;

/// The calls to one server, with their places among all and what decides when it cannot.
struct OfServer<'a> {
    server: &'a Arc<Redis>,
    calls: Vec<Call>,
    places: Vec<(usize, Option<Fallback>)>,
}

impl Limiter {
    /// Takes the cost of each call as [`try_acquire`](Self::try_acquire) does. The calls to one server are sent in one write, for hosts
    /// whose many threads or coroutines call at once.
    ///
    /// Each call is decided by itself, in no certain order, and has a result of its own: they are in the order of the calls.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limiter, Paddlegate, Request, SignalHandling};
    /// let pg = Paddlegate::memory();
    /// let (api, mail) = (pg.window("api", 1, Duration::from_secs(60))?, pg.window("mail", 9, Duration::from_secs(60))?);
    /// let calls = [(&api, Request::default()), (&mail, Request::cost(2)), (&api, Request::default())];
    /// let decided = Limiter::acquire_each(&calls, SignalHandling::Ignore);
    /// let granted = decided.into_iter().map(|result| Ok(result?.allowed())).collect::<paddlegate::Result<Vec<_>>>()?;
    /// assert_eq!(granted.iter().filter(|granted| **granted).count(), 2, "mail, and one of the two");
    /// assert!(granted[1]);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn acquire_each(calls: &[(&Self, Request<'_>)], interrupt: SignalHandling<'_>) -> Vec<Result<Decision>> {
        let mut results: Vec<Option<Result<Decision>>> = calls.iter().map(|_| None).collect();
        let mut servers: Vec<OfServer<'_>> = Vec::new();
        for (at, (limiter, request)) in calls.iter().enumerate() {
            let operation = Operation::Acquire(*request);
            match limiter.prepare(operation) {
                Ok(Prepared::Answered(answer)) => results[at] = Some(Decision::of(answer)),
                Ok(Prepared::Call(call)) => match limiter.server() {
                    Ok(server) => put(&mut servers, server, call, (at, limiter.fallback(&operation))),
                    Err(error) => results[at] = Some(Err(error)),
                },
                Err(error) => results[at] = Some(Err(error)),
            }
        }
        for OfServer { server, calls, places } in servers {
            for ((at, fallback), answer) in places.into_iter().zip(server.run_several(calls, interrupt)) {
                results[at] = Some(settled(fallback, answer).and_then(Decision::of));
            }
        }
        let lost = || Err(Error::internal("a call has no answer"));
        results.into_iter().map(|result| result.unwrap_or_else(lost)).collect()
    }
}

fn put<'a>(servers: &mut Vec<OfServer<'a>>, server: &'a Arc<Redis>, call: Call, place: (usize, Option<Fallback>)) {
    match servers.iter_mut().find(|known| Arc::ptr_eq(known.server, server)) {
        Some(known) => {
            known.calls.push(call);
            known.places.push(place);
        }
        None => servers.push(OfServer { server, calls: vec![call], places: vec![place] }),
    }
}
