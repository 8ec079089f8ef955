//! Random calls over HTTP against the same calls on the core: the answers agree, member by member.

use crate::support;
use crate::support::{Client, Store, unique};
use paddlegate::{Answer, Cost, Decision, Limiter, Operation, Paddlegate, Request, SignalHandling, Wait};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

/// One call; the number chooses among the permits and ids that there are.
#[derive(Clone, Debug)]
enum Step {
    Acquire(u64),
    Estimate(u64),
    Peek(u64),
    Debit(u64),
    Correct(usize, u64),
    Release(usize),
    Renew(usize),
    Enqueue(u8),
    Claim(u8),
    Cancel(u8),
    Override(u64),
    Restore,
    Pause,
    Resume,
    Reset,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let units = 0_u64..7;
    let step = prop_oneof![
        6 => units.clone().prop_map(Step::Acquire),
        3 => units.clone().prop_map(Step::Estimate),
        2 => units.clone().prop_map(Step::Peek),
        1 => units.clone().prop_map(Step::Debit),
        3 => (0_usize..8, units.clone()).prop_map(|(permit, units)| Step::Correct(permit, units)),
        4 => (0_usize..8).prop_map(Step::Release),
        1 => (0_usize..8).prop_map(Step::Renew),
        3 => (0_u8..4).prop_map(Step::Enqueue),
        3 => (0_u8..4).prop_map(Step::Claim),
        2 => (0_u8..4).prop_map(Step::Cancel),
        1 => (0_u64..9).prop_map(Step::Override),
        1 => Just(Step::Restore),
        1 => Just(Step::Pause),
        2 => Just(Step::Resume),
        1 => Just(Step::Reset),
    ];
    prop::collection::vec(step, 1..40)
}

/// The two sides of a comparison. What depends on the moment, times and tokens, is left out.
struct Both<'a> {
    client: &'a mut Client,
    path: String,
    core: Limiter,
    /// The permits of both sides, in the order of their grants.
    permits: Vec<(String, String)>,
}

impl Both<'_> {
    fn run(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Acquire(units) => {
                self.decide("acquire", &json!({ "cost": units }), Operation::Acquire(Request::cost(*units)))
            }
            Step::Estimate(units) => {
                self.decide("acquire", &json!({ "estimate": units }), Operation::Acquire(Request::estimate(*units)))
            }
            Step::Peek(units) => self.decide("peek", &json!({ "cost": units }), Operation::Peek(Request::cost(*units))),
            Step::Debit(units) => {
                self.decide("debit", &json!({ "cost": units }), Operation::Debit(Cost::Units(*units)))
            }
            Step::Correct(permit, units) => {
                let Some((http, core)) = self.permit(*permit) else { return Ok(()) };
                let body = json!({ "permit": http, "actual": units });
                self.settle("correct", &body, Operation::Correct { permit: &core, actual: Cost::Units(*units) })
            }
            Step::Release(permit) => {
                let Some((http, core)) = self.permit(*permit) else { return Ok(()) };
                self.settle("release", &json!({ "permit": http }), Operation::Release { permit: &core })
            }
            Step::Renew(permit) => {
                let Some((http, core)) = self.permit(*permit) else { return Ok(()) };
                self.settle("renew", &json!({ "permit": http }), Operation::Renew { permit: &core })
            }
            Step::Enqueue(job) | Step::Claim(job) => {
                let id = format!("job-{job}");
                let is_claim = matches!(step, Step::Claim(_));
                let position =
                    if is_claim { paddlegate::QueuePosition::Existing } else { paddlegate::QueuePosition::End };
                let wait = Wait {
                    claim_timeout: paddlegate::JOB_CLAIM_TIMEOUT,
                    position,
                    ..Wait::up_to(paddlegate::MAX_SPAN)
                };
                let operation = Operation::AcquireWithId { request: Request::cost(1), id: &id, wait: Some(wait) };
                self.decide(if is_claim { "claim" } else { "enqueue" }, &json!({ "id": id, "cost": 1 }), operation)
            }
            Step::Cancel(job) => {
                let id = format!("job-{job}");
                self.settle("cancel", &json!({ "id": id }), Operation::Cancel { id: &id, gave_up: false })
            }
            Step::Override(limit) => {
                let label = self.core.policy().limits()[0].label().to_string();
                let response =
                    self.client.put(&format!("{}/override", self.path), &json!({ "limit": limit, "label": label }));
                let changes = self.core.override_changes(Some(&label), Some(*limit), None);
                let done = changes.and_then(|changes| {
                    self.core.admin(paddlegate::AdminCommand::Override { changes: &changes, expires: None })
                });
                prop_assert_eq!(response.status == 200, done.is_ok(), "{}", response.text());
                Ok(())
            }
            Step::Restore => {
                self.client.delete(&format!("{}/override", self.path)).expect(200);
                let changes = [paddlegate::LimitOverride::RemoveAll];
                self.core.admin(paddlegate::AdminCommand::Override { changes: &changes, expires: None }).unwrap();
                Ok(())
            }
            Step::Pause => {
                self.client.put(&format!("{}/pause", self.path), &json!({ "expires_in": "1h" })).expect(200);
                let hour = paddlegate::Deadline::After(paddlegate::Micros(3_600_000_000));
                self.core.admin(paddlegate::AdminCommand::Pause(hour)).unwrap();
                Ok(())
            }
            Step::Resume => {
                self.client.delete(&format!("{}/pause", self.path)).expect(200);
                self.core.admin(paddlegate::AdminCommand::Resume).unwrap();
                Ok(())
            }
            Step::Reset => {
                self.client.post(&format!("{}/reset", self.path), &json!({})).expect(200);
                self.core.reset().unwrap();
                self.permits.clear();
                Ok(())
            }
        }
    }

    fn permit(&self, number: usize) -> Option<(String, String)> {
        self.permits.get(number % self.permits.len().max(1)).cloned()
    }

    fn decide(&mut self, verb: &str, body: &Value, operation: Operation<'_>) -> Result<(), TestCaseError> {
        let response = self.client.post(&format!("{}/{verb}", self.path), body);
        match self.core.run(operation, SignalHandling::Ignore) {
            Ok(Answer::Decision(decision)) => {
                let shown = response.expect(200);
                prop_assert_eq!(of_http(&shown), of_core(&decision), "{} {}", verb, body);
                if let (Some(http), Some(core)) = (shown["permit"].as_str(), decision.permit)
                    && decision.status == paddlegate::Status::Granted
                {
                    self.permits.push((http.to_owned(), core));
                }
            }
            Err(error) => {
                let problem = response.expect(400);
                prop_assert_eq!(problem["argument"].as_str(), error.argument());
                prop_assert_eq!(problem["detail"].as_str(), Some(error.message()));
            }
            Ok(other) => return Err(TestCaseError::fail(format!("{other:?}"))),
        }
        Ok(())
    }

    fn settle(&mut self, verb: &str, body: &Value, operation: Operation<'_>) -> Result<(), TestCaseError> {
        let response = self.client.post(&format!("{}/{verb}", self.path), body);
        match self.core.run(operation, SignalHandling::Ignore) {
            Ok(Answer::Settlement(settlement)) => {
                prop_assert_eq!(&response.expect(200)["settlement"], settlement.name(), "{} {}", verb, body);
            }
            Ok(Answer::Renewal(lease)) => {
                prop_assert_eq!(&response.expect(200)["renewed"], lease.is_some(), "{}", body);
            }
            Err(error) => {
                let problem = response.expect(400);
                prop_assert_eq!(problem["argument"].as_str(), error.argument());
            }
            Ok(other) => return Err(TestCaseError::fail(format!("{other:?}"))),
        }
        Ok(())
    }
}

fn of_http(shown: &Value) -> Value {
    let members =
        ["allowed", "status", "limit", "remaining", "reason", "would_refuse", "label", "position", "degraded"];
    let members = members.into_iter().map(|member| (member.to_owned(), shown[member].clone()));
    let mut all: serde_json::Map<String, Value> = members.collect();
    for member in ["retry_after", "permit", "lease", "fencing_token", "ticket"] {
        all.insert(member.to_owned(), json!(!shown[member].is_null()));
    }
    Value::Object(all)
}

fn of_core(decision: &Decision) -> Value {
    json!({
        "allowed": decision.allowed(), "status": decision.status.name(), "limit": decision.limit,
        "remaining": decision.remaining, "reason": decision.reason.map(paddlegate::Reason::name),
        "would_refuse": decision.would_refuse.map(paddlegate::Reason::name), "label": decision.label.as_deref(),
        "position": decision.ticket.map(|ticket| ticket.position), "degraded": decision.degraded,
        "retry_after": decision.retry_after.is_some(), "permit": decision.permit.is_some(),
        "lease": decision.lease.is_some(), "fencing_token": decision.fencing_token.is_some(),
        "ticket": decision.ticket.is_some(),
    })
}

#[test]
fn the_server_answers_what_the_core_decides() {
    let mut seed = [0; 32];
    let text = std::env::var("PADDLEGATE_SEED").unwrap_or_else(|_| paddlegate::new_id().unwrap());
    seed[..16].copy_from_slice(&u128::from_str_radix(&text, 16).unwrap().to_le_bytes());
    println!("PADDLEGATE_SEED={text}");
    for store in Store::all() {
        let config = Config { cases: support::cases(60), failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
        let kinds = prop::sample::select(vec!["bucket", "workers", "points", "both"]);
        let run = runner.run(&(kinds, steps()), |(kind, steps)| {
            let name = format!("{}case", unique(&store.prefix));
            let policy = match kind {
                "bucket" => json!({ "bucket": { "limit": 6, "per": "day" } }),
                "workers" => json!({ "concurrency": { "limit": 2, "lock_timeout": "1d" } }),
                "points" => json!({ "points": { "limit": 6, "refill": "3650d" } }),
                _ => json!({ "concurrency": { "limit": 2, "lock_timeout": "1d" }, "bucket": { "limit": 6, "per": "day" } }),
            };
            // A bucket of a day ends at midnight on both sides; the oracle is a store in memory, whatever the server's is.
            let document = json!({ "limiters": { name.as_str(): policy } }).to_string();
            let core = Paddlegate::memory().load(&document).unwrap().remove(0).limiter;
            let path = support::file(&document);
            let options = paddlegate_server::Options { redis: store.url.clone(), limits: Some(path), ..Default::default() };
            let server = support::Running::start(options);
            let mut client = server.client();
            let mut both = Both { client: &mut client, path: format!("/v1/limiters/{name}"), core, permits: Vec::new() };
            steps.iter().try_for_each(|step| both.run(step))
        });
        run.unwrap_or_else(|error| panic!("{}: {error}", store.name()));
    }
}
