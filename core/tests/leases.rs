//! Tests leases and tickets at given times on both stores: numbered cases, and guarantees under random calls.

use std::collections::HashMap;
use std::time::Duration;

use crate::support::calls::{
    acquire, cancel, correct, enter, existing_only, longest_wait, peek, release, renew, run, statistics,
};
use crate::support::inbox::Inbox;
use crate::support::raw::Raw;
use crate::support::sequence::config;
use crate::support::workload::{Channel, Costs, Runner, Step, StepResult, Workload, id, workload};
use crate::support::{memory_with_clock, redis_with_clock, set_clock, test_url, unique};
use paddlegate::{
    AdminCommand, Answer, Deadline, Decision, Kind, Limit, LimitOverride, Limiter, Micros, Operation, Paddlegate,
    Policy, Prepared, QueuePosition, Reason, Request, Settlement, Status, Wait, Wakeup,
};
use proptest::prelude::*;

const NOW: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;
const HOUR: Duration = Duration::from_secs(3_600);
/// The claim timeout: how long a ticket keeps its queue position after its call should have retried.
const CLAIM_TIMEOUT: u64 = paddlegate::CLAIM_TIMEOUT.0;
/// When the next in line for a lease calls again that was granted at the same time, without a wake-up.
const FIRST_POLL: u64 = paddlegate::MIN_POLL.0 * 5 / 4;
const SEEDS: &str = "proptest-regressions/leases.txt";

macro_rules! on_both_stores {
    ($($scenario:ident),* $(,)?) => {
        mod memory {
            $(#[test] fn $scenario() { super::$scenario(&super::TestStore::in_memory()); })*
        }

        mod redis {
            $(#[test] fn $scenario() { super::$scenario(&super::TestStore::on_redis()); })*
        }
    };
}

on_both_stores![
    a_third_caller_of_two_leases_is_refused_with_a_retry_after,
    a_new_process_grants_no_more_leases,
    a_release_wakes_and_grants_one_of_fifty_waiters,
    waiters_are_granted_in_the_order_of_their_tickets,
    nested_limiters_count_their_own_leases,
    a_late_release_does_not_free_the_slot_of_another_lease,
    each_lease_has_its_own_timeout,
    a_full_limiter_returns_a_refusal,
    leases_and_tickets_of_an_unused_limiter_expire,
    a_reset_removes_leases_tickets_permits_and_statistics,
    limiters_of_one_name_share_their_leases,
    a_clock_that_jumps_grants_no_more,
    the_second_of_two_tasks_is_granted_after_the_first,
    a_holder_that_calls_again_takes_no_second_lease,
    fifteen_tasks_pass_one_at_a_time,
    a_release_of_an_unknown_permit_frees_no_lease,
    a_lease_expires_unless_its_holder_renews_it,
    held_workflows_start_in_order,
    keys_do_not_share_a_limit,
    a_call_without_a_key_has_no_limit,
    at_most_three_of_ten_workflows_run_at_once,
    a_cancelled_ticket_does_not_change_the_order,
    a_raised_limit_grants_waiters_and_a_lowered_limit_ends_no_lease,
    another_limiters_permit_releases_and_renews_nothing,
    a_release_after_expiry_frees_no_other_lease,
    late_releases_of_a_lease_count_once_and_those_of_unknown_leases_never,
    a_wait_ends_with_the_override_that_caused_it,
    a_cancelled_ticket_cannot_be_claimed,
    the_fencing_token_rises_with_every_lease,
    a_renewed_lease_has_its_full_timeout_again,
    an_expired_ticket_gets_its_number_back,
    others_pass_a_job_by_that_does_not_call,
    tickets_of_dead_waiters_expire_once_and_other_waiters_pass,
    many_expired_tickets_are_removed_by_several_calls,
    a_waiter_keeps_its_position_while_the_limit_is_zero,
    a_waiter_whose_channel_has_no_listener_is_skipped_at_once,
    a_new_caller_waits_behind_the_queue,
    a_cancelled_call_leaves_neither_ticket_nor_lease,
    a_waiter_for_a_lease_also_waits_for_the_rate,
];

/// A store, with access to the wake-ups that it sends.
struct TestStore {
    store: Paddlegate,
    url: Option<String>,
}

impl TestStore {
    fn in_memory() -> Self {
        Self { store: memory_with_clock(), url: None }
    }

    fn on_redis() -> Self {
        Self { store: redis_with_clock(), url: Some(test_url()) }
    }

    fn concurrent(&self, name: &str, limit: u64, seconds: u64) -> Limiter {
        self.store.concurrent(name, limit, Duration::from_secs(seconds)).expect("a limiter")
    }

    fn inbox(&self, limiter: &Limiter) -> Inbox {
        match &self.url {
            None => Inbox::in_memory(limiter),
            Some(url) => Inbox::on_redis(Raw::open(url), limiter.name()),
        }
    }

    /// Returns the same store as another process would open it.
    fn another_process(&self) -> Self {
        let store = self.url.as_ref().map_or_else(|| self.store.clone(), |_| redis_with_clock());
        Self { store, url: self.url.clone() }
    }
}

/// Calls once, without waiting.
fn take(limiter: &Limiter, id: &str, at: u64) -> Decision {
    enter(limiter, id, 1, None, at)
}

fn granted(limiter: &Limiter, id: &str, at: u64) -> String {
    let decision = take(limiter, id, at);
    assert!(decision.allowed(), "{id}: {decision:?}");
    decision.permit.expect("a permit")
}

/// Queues a waiter and returns its ticket number and queue position.
fn queued(limiter: &Limiter, id: &str, wait: Wait<'_>, at: u64) -> (u64, u64) {
    let decision = enter(limiter, id, 1, Some(wait), at);
    assert_eq!(decision.status, Status::Queued, "{id}: {decision:?}");
    let ticket = decision.ticket.expect("a ticket");
    (ticket.number, ticket.position)
}

/// Claims with an existing ticket and returns the permit.
fn claimed(limiter: &Limiter, id: &str, at: u64) -> String {
    let decision = enter(limiter, id, 1, Some(existing_only()), at);
    assert!(decision.allowed(), "{id}: {decision:?}");
    decision.permit.expect("a permit")
}

fn status(limiter: &Limiter, id: &str, at: u64) -> Status {
    enter(limiter, id, 1, Some(existing_only()), at).status
}

/// Returns the ids of the waiters that should retry now. At most one other waiter has a wake-up, delayed by the claim
/// timeout in case the first does not claim.
fn woken(wakeups: &[Wakeup]) -> Vec<&str> {
    let (now, later): (Vec<&Wakeup>, Vec<&Wakeup>) = wakeups.iter().partition(|wakeup| wakeup.delay.0 == 0);
    assert!(later.len() <= 1 && later.iter().all(|wakeup| wakeup.delay.0 == CLAIM_TIMEOUT), "{wakeups:?}");
    now.into_iter().map(|wakeup| wakeup.id.as_str()).collect()
}

fn a_third_caller_of_two_leases_is_refused_with_a_retry_after(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("lease"), 2, 30);
    let first = take(&limiter, "first", NOW);
    assert_eq!((first.remaining, first.lease), (Some(1), Some(Micros(30 * SECOND))));
    granted(&limiter, "second", NOW + SECOND);
    let third = take(&limiter, "third", NOW + 2 * SECOND);
    assert_eq!(third.status, Status::Refused);
    assert_eq!(
        (third.limit, third.remaining, third.reason),
        (Some(2), Some(0), Some(Reason::Limit(Kind::Concurrency)))
    );
    assert_eq!(third.retry_after, Some(Micros(28 * SECOND)), "when the first lease ends by itself");
    assert_eq!(third.reset_after, Some(Micros(29 * SECOND)), "when the last lease ends");
    assert_eq!((third.permit, third.lease, third.fencing_token, third.ticket), (None, None, None, None));
    assert_eq!(
        take(&limiter, "third", NOW + 30 * SECOND - 1).status,
        Status::Refused,
        "one microsecond before the expiry"
    );
    assert_eq!(take(&limiter, "third", NOW + 30 * SECOND).status, Status::Granted, "at the expiry");
}

fn a_new_process_grants_no_more_leases(test_store: &TestStore) {
    let name = unique("lease");
    let limiter = test_store.concurrent(&name, 2, 30);
    let permit = granted(&limiter, "first", NOW);
    granted(&limiter, "second", NOW);
    for number in 0..3 {
        let other = test_store.another_process().concurrent(&name, 2, 30);
        assert_eq!(take(&other, &format!("third {number}"), NOW).status, Status::Refused);
    }
    assert_eq!(release(&test_store.another_process().concurrent(&name, 2, 30), &permit, NOW), Settlement::Released);
    granted(&test_store.another_process().concurrent(&name, 2, 30), "third", NOW);
    assert_eq!(take(&limiter, "fourth", NOW).status, Status::Refused);
}

fn a_release_wakes_and_grants_one_of_fifty_waiters(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("lease"), 1, 30);
    let mut inbox = test_store.inbox(&limiter);
    let channel = inbox.channel();
    let wait = Wait { channel: &channel, ..longest_wait() };
    let mut holder = granted(&limiter, "holder", NOW);
    for number in 0..50 {
        assert_eq!(queued(&limiter, &format!("waiter {number}"), wait, NOW + number).1, number);
    }
    assert_eq!(inbox.take(), []);
    for number in 0..50 {
        let at = NOW + SECOND + number * 1_000;
        assert_eq!(release(&limiter, &holder, at), Settlement::Released);
        let first = format!("waiter {number}");
        assert_eq!(woken(&inbox.take()), [first.as_str()], "exactly one waiter is woken, the first");
        // All waiters retry at once, the one with the wake-up last.
        let mut entered = Vec::new();
        for waiter in (number..50).rev().map(|number| format!("waiter {number}")) {
            let decision = enter(&limiter, &waiter, 1, Some(wait), at);
            entered.extend(decision.permit.map(|permit| (waiter, permit)));
        }
        assert_eq!(entered.len(), 1, "exactly one waiter is granted: {entered:?}");
        assert_eq!(entered[0].0, first);
        assert_eq!(woken(&inbox.take()), Vec::<&str>::new(), "no other waiter is woken");
        holder.clone_from(&entered[0].1);
    }
    let counted = statistics(&limiter, NOW + 2 * SECOND);
    assert_eq!((counted.granted, counted.waited, counted.refused, counted.lapsed), (51, 50, 0, 0));
    assert_eq!((counted.leases, counted.tickets), (1, 0));
}

fn waiters_are_granted_in_the_order_of_their_tickets(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("lease"), 3, 30);
    let mut inbox = test_store.inbox(&limiter);
    let channel = inbox.channel();
    let wait = Wait { channel: &channel, ..longest_wait() };
    let holders = ["a", "b", "c"].map(|id| granted(&limiter, id, NOW));
    for number in 0..10 {
        queued(&limiter, &format!("waiter {number}"), wait, NOW);
    }
    // Each released slot wakes one waiter.
    for (number, holder) in holders.iter().enumerate() {
        release(&limiter, holder, NOW + SECOND);
        assert_eq!(woken(&inbox.take()), [format!("waiter {number}")]);
    }
    assert_eq!(
        status(&limiter, "waiter 3", NOW + SECOND),
        Status::Queued,
        "the three slots are for the three waiters ahead"
    );
    for number in [2, 0, 1] {
        claimed(&limiter, &format!("waiter {number}"), NOW + SECOND);
    }
    assert_eq!(status(&limiter, "waiter 3", NOW + SECOND), Status::Queued);
}

fn nested_limiters_count_their_own_leases(test_store: &TestStore) {
    let (a, b) = (test_store.concurrent(&unique("lease a"), 1, 1), test_store.concurrent(&unique("lease b"), 1, 30));
    let (outer, inner) = (granted(&a, "job", NOW), granted(&b, "job", NOW + SECOND / 2));
    assert_eq!(release(&b, &inner, NOW + 2 * SECOND), Settlement::Released);
    assert_eq!(release(&a, &outer, NOW + 3 * SECOND), Settlement::Late);
    let (outer, inner) = (statistics(&a, NOW + 3 * SECOND), statistics(&b, NOW + 3 * SECOND));
    assert_eq!((outer.granted, outer.held_time, outer.overages), (1, Micros(3 * SECOND), 1));
    assert_eq!((inner.granted, inner.held_time, inner.overages), (1, Micros(SECOND * 3 / 2), 0));
}

fn a_late_release_does_not_free_the_slot_of_another_lease(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("lease"), 1, 1);
    let late = take(&limiter, "holder", NOW);
    assert_eq!(take(&limiter, "other", NOW + SECOND - 1).status, Status::Refused);
    let other = take(&limiter, "other", NOW + 1_100_000);
    assert!(other.allowed() && other.fencing_token > late.fencing_token, "{other:?}");
    let permit = late.permit.expect("a permit");
    assert_eq!(renew(&limiter, &permit, NOW + 1_200_000), None, "the renewal fails because the lease has expired");
    assert_eq!(release(&limiter, &permit, NOW + 2 * SECOND), Settlement::Late, "the release is late too");
    assert_eq!(
        take(&limiter, "third", NOW + 2 * SECOND).status,
        Status::Refused,
        "the other caller still holds the slot"
    );
    let counted = statistics(&limiter, NOW + 2 * SECOND);
    assert_eq!((counted.overages, counted.reclaimed, counted.leases), (1, 1, 1));
    assert_eq!(release(&limiter, &other.permit.expect("a permit"), NOW + 2_050_000), Settlement::Released);
    assert_eq!(statistics(&limiter, NOW + 2_050_000).held_time, Micros(2 * SECOND + 950_000));
}

fn each_lease_has_its_own_timeout(test_store: &TestStore) {
    let name = unique("lease");
    let (short, long) = (test_store.concurrent(&name, 2, 1), test_store.concurrent(&name, 2, 10));
    let (quick, slow) = (granted(&short, "quick", NOW), granted(&long, "slow", NOW));
    let full = take(&long, "third", NOW + SECOND - 1);
    assert_eq!((full.status, full.retry_after), (Status::Refused, Some(Micros(1))), "the short lease ends first");
    granted(&long, "third", NOW + SECOND);
    assert_eq!(take(&short, "fourth", NOW + 9 * SECOND).status, Status::Refused, "the long leases still count");
    assert_eq!(release(&long, &slow, NOW + 9 * SECOND), Settlement::Released);
    assert_eq!(release(&short, &quick, NOW + 9 * SECOND), Settlement::Late);
    assert_eq!(take(&short, "fourth", NOW + 9 * SECOND).lease, Some(Micros(SECOND)));
}

fn a_full_limiter_returns_a_refusal(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("lease"), 1, 30);
    granted(&limiter, "holder", NOW);
    for number in 0..5 {
        let refused = enter(&limiter, &format!("other {number}"), 1, Some(Wait::up_to(Micros(0))), NOW);
        assert_eq!((refused.status, refused.permit, refused.ticket), (Status::Refused, None, None));
    }
    let counted = statistics(&limiter, NOW);
    assert_eq!((counted.granted, counted.refused, counted.tickets), (1, 5, 0));
}

/// `keys.rs` tests that every key expires.
fn leases_and_tickets_of_an_unused_limiter_expire(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("lease"), 2, 30);
    granted(&limiter, "a", NOW);
    granted(&limiter, "b", NOW);
    queued(&limiter, "c", longest_wait(), NOW);
    let later = NOW + 3_600 * SECOND;
    assert_eq!(peek(&limiter, Request::cost(1), later).remaining, Some(2));
    assert_eq!(statistics(&limiter, later).leases, 0);
    for id in ["d", "e"] {
        granted(&limiter, id, later);
    }
    let counted = statistics(&limiter, later);
    assert_eq!((counted.leases, counted.tickets, counted.reclaimed, counted.lapsed), (2, 0, 2, 1));
}

fn a_reset_removes_leases_tickets_permits_and_statistics(test_store: &TestStore) {
    let name = unique("lease");
    let policy = Policy::new([
        Limit::concurrency(1, Duration::from_secs(30)).expect("a limit"),
        Limit::window(5, Duration::from_secs(60)).expect("a limit"),
        Limit::bucket(5, Duration::from_secs(60)).expect("a limit"),
    ]);
    let limiter = test_store.store.limiter(&name, policy.expect("a policy")).expect("a limiter");
    set_clock(NOW);
    let holder =
        limiter.acquire_with_id(Request::estimate(3), "holder", None).expect("a decision").permit.expect("a permit");
    queued(&limiter, "waiter", longest_wait(), NOW);
    limiter.reset().expect("a reset");
    assert_eq!(statistics(&limiter, NOW), paddlegate::Statistics::default());
    assert_eq!(status(&limiter, "waiter", NOW), Status::NoTicket);
    assert_eq!(cancel(&limiter, "waiter", NOW), Settlement::Unknown);
    assert_eq!(release(&limiter, &holder, NOW), Settlement::Unknown);
    assert_eq!(renew(&limiter, &holder, NOW), None);
    assert_eq!(correct(&limiter, &holder, 1, NOW), Settlement::Unknown);
    let fresh = enter(&limiter, "holder", 5, None, NOW);
    assert!(fresh.allowed(), "{fresh:?}");
    if let Some(url) = &test_store.url {
        limiter.reset().expect("a reset");
        assert_eq!(Raw::open(url).keys(&name), Vec::<Vec<u8>>::new(), "all of its keys are removed");
    }
}

fn limiters_of_one_name_share_their_leases(test_store: &TestStore) {
    let name = unique("lease");
    let (first_limiter, second_limiter) =
        (test_store.concurrent(&name, 2, 30), test_store.another_process().concurrent(&name, 2, 30));
    granted(&first_limiter, "a", NOW);
    granted(&second_limiter, "b", NOW);
    assert_eq!(take(&first_limiter, "c", NOW).status, Status::Refused);
    assert_eq!(take(&second_limiter, "c", NOW).status, Status::Refused);
    let other = test_store.store.leaky(&name, 1, Duration::from_secs(30)).expect("a limiter");
    let decision = take(&other, "c", NOW);
    assert_eq!(
        (decision.status, decision.permit, decision.lease),
        (Status::Granted, None, None),
        "a policy without the limit takes no lease"
    );
    assert_eq!(take(&first_limiter, "c", NOW).status, Status::Refused);
}

/// The store's clock is the only clock. When it jumps back, the limiter's time continues from its last value.
fn a_clock_that_jumps_grants_no_more(test_store: &TestStore) {
    let hour = 3_600 * SECOND;
    let limiter = test_store.concurrent(&unique("lease"), 1, 30);
    let first = take(&limiter, "first", NOW);
    assert_eq!(
        take(&limiter, "second", NOW - hour).status,
        Status::Refused,
        "a clock that goes back does not end the lease"
    );
    let refused = take(&limiter, "second", NOW - hour + 10 * SECOND);
    assert_eq!(refused.retry_after, Some(Micros(20 * SECOND)), "the limiter's time continues");
    assert_eq!(queued(&limiter, "waiter", longest_wait(), NOW - hour + 10 * SECOND).1, 0);
    assert_eq!(status(&limiter, "waiter", NOW - hour + 15 * SECOND), Status::Queued);
    let second = enter(&limiter, "waiter", 1, Some(existing_only()), NOW - hour + 30 * SECOND);
    assert!(second.allowed() && second.fencing_token > first.fencing_token, "{second:?}");
    assert_eq!(second.at, Micros(NOW + 30 * SECOND), "the limiter's own time");
    assert_eq!(take(&limiter, "third", NOW - hour + 60 * SECOND - 1).status, Status::Refused);
    granted(&limiter, "third", NOW - hour + 60 * SECOND);
    // Without an explicit time, no byte of a call comes from the caller's clock.
    let call = |operation| match limiter.prepare(operation) {
        Ok(Prepared::Call(call)) => call.bytes().to_vec(),
        _ => Vec::new(),
    };
    let own = Operation::AcquireWithId { request: Request::cost(1), id: "own", wait: Some(longest_wait()) };
    // The first call of each minute also updates the list of limiters, so it differs from the next.
    call(own);
    assert_eq!(call(own), call(own));
}

fn the_second_of_two_tasks_is_granted_after_the_first(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("lease"), 1, 60);
    let mut inbox = test_store.inbox(&limiter);
    let channel = inbox.channel();
    let wait = Wait { channel: &channel, ..longest_wait() };
    let batch = ["one", "two"].map(|task| enter(&limiter, task, 1, Some(wait), NOW));
    assert_eq!(batch.each_ref().map(|decision| decision.status), [Status::Granted, Status::Queued]);
    release(&limiter, batch[0].permit.as_ref().expect("a permit"), NOW + SECOND);
    assert_eq!(woken(&inbox.take()), ["two"], "the waiter is woken at once");
    claimed(&limiter, "two", NOW + SECOND);
}

fn a_holder_that_calls_again_takes_no_second_lease(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("lease"), 1, 30);
    let first = take(&limiter, "task", NOW);
    for (wait, at) in [(None, 1), (Some(longest_wait()), 2), (Some(existing_only()), 3)] {
        let again = enter(&limiter, "task", 1, wait, NOW + at * SECOND);
        assert_eq!((again.status, again.fencing_token), (Status::Granted, first.fencing_token));
        assert_eq!(again.lease, Some(Micros((30 - at) * SECOND)), "the caller keeps its lease");
    }
    let counted = statistics(&limiter, NOW + 3 * SECOND);
    assert_eq!((counted.granted, counted.leases, counted.units), (1, 1, 1));
    let again = take(&limiter, "task", NOW + 4 * SECOND).permit.expect("a permit");
    assert_eq!(
        release(&limiter, &again, NOW + 5 * SECOND),
        Settlement::Released,
        "the later permit releases the lease"
    );
    assert_eq!(release(&limiter, &first.permit.expect("a permit"), NOW + 5 * SECOND), Settlement::Unknown);
    let waiter = test_store.concurrent(&unique("lease"), 1, 30);
    granted(&waiter, "holder", NOW);
    let places = [queued(&waiter, "waiter", longest_wait(), NOW), queued(&waiter, "waiter", longest_wait(), NOW + 1)];
    assert_eq!(places[0], places[1], "a waiter that calls again keeps its position");
    assert_eq!(statistics(&waiter, NOW).tickets, 1);
}

fn fifteen_tasks_pass_one_at_a_time(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("lease"), 1, 60);
    let all = |at: u64| -> Vec<String> {
        let tasks = (0..15).map(|task| take(&limiter, &format!("task {task}"), at));
        tasks.filter_map(|decision| decision.permit).collect()
    };
    let first = all(NOW);
    assert_eq!(first.len(), 1, "1 granted, 14 refused");
    release(&limiter, &first[0], NOW + SECOND);
    assert_eq!(all(NOW + SECOND).len(), 1, "exactly one more grant");
    assert_eq!(statistics(&limiter, NOW + SECOND).refused, 28);
}

fn a_release_of_an_unknown_permit_frees_no_lease(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("lease"), 2, 30);
    let permit = granted(&limiter, "a", NOW);
    granted(&limiter, "b", NOW);
    assert_eq!(release(&limiter, &permit, NOW + 1), Settlement::Released);
    for _ in 0..3 {
        assert_eq!(release(&limiter, &permit, NOW + 2), Settlement::Unknown);
    }
    for unknown in ["nobody:1700000000000000:1", "x", "a:b:c", ":1:1", "unlimited", "b"] {
        assert_eq!(release(&limiter, unknown, NOW + 3), Settlement::Unknown, "{unknown}");
        assert_eq!(renew(&limiter, unknown, NOW + 3), None, "{unknown}");
    }
    assert_eq!(statistics(&limiter, NOW + 4).leases, 1);
    granted(&limiter, "c", NOW + 5);
    assert_eq!(take(&limiter, "d", NOW + 5).status, Status::Refused, "exactly one slot is free");
    assert_eq!(statistics(&limiter, NOW + 5).overages, 0);
}

fn a_lease_expires_unless_its_holder_renews_it(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("lease"), 1, 10);
    let permit = granted(&limiter, "alive", NOW);
    for beat in 1..=5 {
        assert_eq!(renew(&limiter, &permit, NOW + beat * 9 * SECOND), Some(Micros(10 * SECOND)));
        assert_eq!(take(&limiter, "other", NOW + beat * 9 * SECOND + 5 * SECOND).status, Status::Refused);
    }
    let end = NOW + 55 * SECOND;
    queued(&limiter, "waiter", longest_wait(), end - 5 * SECOND);
    assert_eq!(status(&limiter, "waiter", end - 1), Status::Queued);
    assert_eq!(renew(&limiter, &permit, end), None);
    claimed(&limiter, "waiter", end);
    assert_eq!(statistics(&limiter, end).reclaimed, 1);
}

fn held_workflows_start_in_order(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("lease"), 3, 600);
    let mut inbox = test_store.inbox(&limiter);
    let channel = inbox.channel();
    let wait = Wait { channel: &channel, ..longest_wait() };
    let starts =
        [1, 2, 3, 4, 5].map(|number| enter(&limiter, &format!("workflow {number}"), 1, Some(wait), NOW + number));
    let running: Vec<String> = starts.iter().filter_map(|decision| decision.permit.clone()).collect();
    assert_eq!(running.len(), 3);
    let positions: Vec<u64> = starts.iter().filter_map(|decision| Some(decision.ticket?.position)).collect();
    assert_eq!(positions, [0, 1]);
    let fifth = || enter(&limiter, "workflow 5", 1, Some(wait), NOW + SECOND).status;
    release(&limiter, &running[0], NOW + SECOND);
    assert_eq!(woken(&inbox.take()), ["workflow 4"]);
    assert_eq!(fifth(), Status::Queued, "workflow 5 still waits");
    claimed(&limiter, "workflow 4", NOW + SECOND);
    assert_eq!(fifth(), Status::Queued, "workflow 5 still waits");
    release(&limiter, &running[2], NOW + 2 * SECOND);
    assert_eq!(woken(&inbox.take()), ["workflow 5"]);
    claimed(&limiter, "workflow 5", NOW + 2 * SECOND);
}

fn keys_do_not_share_a_limit(test_store: &TestStore) {
    let limiters = ["a", "b"].map(|key| test_store.concurrent(&unique(&format!("lease {key}")), 3, 60));
    for limiter in &limiters {
        let running = (0..6).filter(|number| take(limiter, &format!("workflow {number}"), NOW).allowed()).count();
        assert_eq!(running, 3);
    }
}

fn a_call_without_a_key_has_no_limit(test_store: &TestStore) {
    let limiter = test_store.store.unlimited(&unique("lease")).expect("a limiter");
    for number in 0..100 {
        let decision = enter(&limiter, &format!("workflow {number}"), 1, Some(longest_wait()), NOW);
        assert_eq!((decision.status, decision.limit, decision.lease), (Status::Granted, None, None));
        assert_eq!(release(&limiter, &decision.permit.expect("a permit"), NOW), Settlement::Unknown);
    }
}

fn at_most_three_of_ten_workflows_run_at_once(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("lease"), 3, 60);
    let mut running: HashMap<u64, (u64, String)> = HashMap::new();
    let mut done = Vec::new();
    for tick in 0..=50 {
        let at = NOW + tick * SECOND / 10;
        let ended: Vec<u64> = running.iter().filter(|(_, (end, _))| *end <= at).map(|(number, _)| *number).collect();
        for number in ended {
            assert_eq!(release(&limiter, &running.remove(&number).expect("one").1, at), Settlement::Released);
            done.push(number);
        }
        for number in (0..10).filter(|number| !done.contains(number)) {
            if !running.contains_key(&number)
                && let Some(permit) = enter(&limiter, &format!("workflow {number}"), 1, Some(longest_wait()), at).permit
            {
                running.insert(number, (at + 4 * SECOND, permit));
            }
            assert!(running.len() <= 3);
        }
    }
    done.sort_unstable();
    assert_eq!(done, [0, 1, 2]);
    let mut started: Vec<u64> = running.into_keys().collect();
    started.sort_unstable();
    assert_eq!(started, [3, 4, 5]);
}

fn a_cancelled_ticket_does_not_change_the_order(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("lease"), 1, 600);
    let mut holder = granted(&limiter, "holder", NOW);
    let waiters = ["a", "b", "c", "d", "e"];
    let numbers = waiters.map(|id| queued(&limiter, id, longest_wait(), NOW).0);
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    assert_eq!(cancel(&limiter, "b", NOW + 1), Settlement::Cancelled);
    assert_eq!(cancel(&limiter, "e", NOW + 1), Settlement::Cancelled);
    assert_eq!(cancel(&limiter, "b", NOW + 1), Settlement::Unknown);
    for (id, number, position) in [("a", numbers[0], 0), ("c", numbers[2], 1), ("d", numbers[3], 2)] {
        assert_eq!(queued(&limiter, id, existing_only(), NOW + 2), (number, position), "{id}");
    }
    for (next, later) in [("a", "c"), ("c", "d"), ("d", "f")] {
        release(&limiter, &holder, NOW + 3);
        queued(&limiter, later, longest_wait(), NOW + 3);
        holder = claimed(&limiter, next, NOW + 3);
    }
}

fn a_raised_limit_grants_waiters_and_a_lowered_limit_ends_no_lease(test_store: &TestStore) {
    let name = unique("lease");
    let limit = |limit| test_store.concurrent(&name, limit, 600);
    let running = [1, 2, 3].map(|number| granted(&limit(3), &format!("workflow {number}"), NOW));
    for waiter in ["workflow 4", "workflow 5"] {
        queued(&limit(3), waiter, longest_wait(), NOW);
    }
    assert_eq!(status(&limit(5), "workflow 5", NOW + 1), Status::Granted, "without waiting for a release");
    assert_eq!(status(&limit(5), "workflow 4", NOW + 1), Status::Granted);
    assert_eq!(take(&limit(5), "workflow 6", NOW + 1).status, Status::Refused);
    let lowered = peek(&limit(2), Request::cost(1), NOW + 2);
    assert_eq!((lowered.status, lowered.remaining), (Status::Refused, Some(0)), "never negative");
    assert_eq!(statistics(&limit(2), NOW + 2).leases, 5, "no lease is ended");
    for permit in &running {
        assert_eq!(take(&limit(2), "workflow 6", NOW + 3).status, Status::Refused);
        assert!(renew(&limit(2), permit, NOW + 3).is_some());
        assert_eq!(release(&limit(2), permit, NOW + 3), Settlement::Released);
    }
    assert_eq!(take(&limit(2), "workflow 6", NOW + 3).status, Status::Refused, "two leases are held");
    assert_eq!(cancel(&limit(2), "workflow 4", NOW + 4), Settlement::Cancelled);
    granted(&limit(2), "workflow 6", NOW + 4);
}

fn another_limiters_permit_releases_and_renews_nothing(test_store: &TestStore) {
    let (first_limiter, second_limiter) =
        (test_store.concurrent(&unique("here"), 1, 30), test_store.concurrent(&unique("there"), 1, 30));
    let (own, foreign) = (granted(&first_limiter, "own", NOW), granted(&second_limiter, "foreign", NOW));
    assert_eq!(release(&first_limiter, &foreign, NOW + SECOND), Settlement::Unknown);
    assert_eq!(renew(&first_limiter, &foreign, NOW + SECOND), None);
    assert_eq!(correct(&first_limiter, &foreign, 1, NOW + SECOND), Settlement::Unknown);
    assert_eq!(take(&first_limiter, "next", NOW + SECOND).status, Status::Refused);
    assert_eq!(release(&second_limiter, &foreign, NOW + SECOND), Settlement::Released);
    assert_eq!(release(&first_limiter, &own, NOW + SECOND), Settlement::Released);
    let rate = test_store.store.leaky(&unique("rate"), 1, Duration::from_secs(30)).expect("a limiter");
    assert_eq!((release(&rate, &own, NOW), renew(&rate, &own, NOW)), (Settlement::Unknown, None));
}

fn a_release_after_expiry_frees_no_other_lease(test_store: &TestStore) {
    for reclaimed in [false, true] {
        let limiter = test_store.concurrent(&unique("expired"), 1, 10);
        let late = granted(&limiter, "late", NOW);
        let at = NOW + 10 * SECOND;
        if reclaimed {
            granted(&limiter, "next", at);
            assert_eq!(release(&limiter, &late, at), Settlement::Late);
            assert_eq!(take(&limiter, "third", at).status, Status::Refused);
        } else {
            assert_eq!(release(&limiter, &late, at), Settlement::Late, "exactly at the expiry");
        }
        let counted = statistics(&limiter, at);
        assert_eq!((counted.overages, counted.held_time), (1, Micros(10 * SECOND)));
        assert_eq!((counted.leases, counted.reclaimed), (u64::from(reclaimed), u64::from(reclaimed)));
    }
}

fn late_releases_of_a_lease_count_once_and_those_of_unknown_leases_never(test_store: &TestStore) {
    for reclaimed in [false, true] {
        let limiter = test_store.concurrent(&unique("once"), 1, 10);
        let late = granted(&limiter, "late", NOW);
        let at = NOW + 20 * SECOND;
        if reclaimed {
            granted(&limiter, "next", at);
        }
        for _ in 0..5 {
            assert_eq!(release(&limiter, &late, at), Settlement::Late);
            assert_eq!(release(&limiter, &format!("made up:{NOW}:1"), at), Settlement::Late);
        }
        let counted = statistics(&limiter, at);
        assert_eq!((counted.overages, counted.held_time), (1, Micros(20 * SECOND)), "reclaimed: {reclaimed}");
    }
}

fn a_wait_ends_with_the_override_that_caused_it(test_store: &TestStore) {
    let set_override = |limiter: &Limiter, limit: paddlegate::Result<Limit>| {
        let changes = [LimitOverride::Set(limit.expect("a limit"))];
        let control =
            AdminCommand::Override { changes: &changes, expires: Some(Deadline::After(Micros(SECOND * 3 / 2))) };
        run(limiter, Operation::Admin { command: control }, NOW);
    };
    let minute = Duration::from_secs(60);
    let window = test_store.store.window(&unique("window"), 10, minute).expect("a limiter");
    let leases = test_store.concurrent(&unique("leases"), 10, 60);
    set_override(&window, Limit::window(1, minute));
    set_override(&leases, Limit::concurrency(0, minute));
    assert!(take(&window, "first", NOW).allowed());
    let end = NOW + SECOND * 3 / 2;
    for limiter in [&window, &leases] {
        let refused = take(limiter, "early", NOW + SECOND);
        assert_eq!((refused.status, refused.retry_after), (Status::Refused, Some(Micros(SECOND / 2))), "{limiter:?}");
        let peeked = peek(limiter, Request::cost(1), NOW + SECOND);
        assert_eq!(peeked.retry_after, Some(Micros(SECOND / 2)), "{limiter:?}");
        // A call whose maximum wait is shorter than `retry_after` is refused; one with a longer maximum wait is queued.
        assert_eq!(
            enter(limiter, "short wait", 1, Some(Wait::up_to(Micros(1_000))), NOW + SECOND).status,
            Status::Refused
        );
        queued(limiter, "long wait", Wait::up_to(Micros(SECOND)), NOW + SECOND);
        assert_eq!(status(limiter, "long wait", end - 1), Status::Queued);
        assert_eq!(status(limiter, "long wait", end), Status::Granted);
    }
    let refused = acquire(&window, Request::cost(9), end);
    assert!(refused.retry_after > Some(Micros(SECOND)), "the limit of the policy applies again: {refused:?}");
}

fn a_cancelled_ticket_cannot_be_claimed(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("gone"), 1, 30);
    let holder = granted(&limiter, "holder", NOW);
    assert_eq!(status(&limiter, "unknown", NOW), Status::NoTicket, "never queued");
    let (number, _) = queued(&limiter, "waiter", longest_wait(), NOW);
    assert_eq!(cancel(&limiter, "waiter", NOW + 1), Settlement::Cancelled);
    release(&limiter, &holder, NOW + 2);
    let gone = enter(&limiter, "waiter", 1, Some(existing_only()), NOW + 3);
    assert_eq!((gone.status, gone.permit, gone.ticket, gone.lease), (Status::NoTicket, None, None, None));
    assert_eq!(statistics(&limiter, NOW + 3).leases, 0, "nothing was taken");
    let claimed = {
        granted(&limiter, "holder", NOW + 4);
        queued(&limiter, "waiter", Wait { position: QueuePosition::Number(number), ..longest_wait() }, NOW + 4);
        assert_eq!(cancel(&limiter, "holder", NOW + 5), Settlement::Cancelled);
        claimed(&limiter, "waiter", NOW + 5)
    };
    release(&limiter, &claimed, NOW + 6);
    assert_eq!(status(&limiter, "waiter", NOW + 7), Status::NoTicket, "the ticket is already claimed");
}

/// A call that has to queue goes at once to the script that can queue it: a plain look in vain would cost a round trip.
#[test]
fn a_call_that_has_to_queue_asks_once_whichever_script_decided_before() {
    set_clock(NOW);
    let name = unique("room");
    // Without statistics every call may be plain, however long the test takes.
    let limiter = |name: &str| {
        let limiter = redis_with_clock().concurrent(name, 2, HOUR).expect("a limiter");
        limiter.without_statistics().expect("a limiter")
    };
    // Only the whole script describes the limits.
    let enter = |limiter: &Limiter, id: &str, limits: bool, wait| {
        let request = Request { limits, ..Request::cost(1) };
        match run(limiter, Operation::AcquireWithId { request, id, wait }, NOW) {
            Answer::Decision(decision) => decision,
            other => panic!("not a decision: {other:?}"),
        }
    };
    let is_plain = |limiter: &Limiter, wait| {
        let operation = Operation::AcquireWithId { request: Request::cost(1), id: "next", wait };
        let Ok(Prepared::Call(call)) = limiter.prepare(operation) else { panic!("not on redis") };
        // Only the whole script has verbs.
        !call.bytes().windows(11).any(|bytes| bytes == b"\r\nacquire\r\n")
    };
    let may_queue = || Some(longest_wait());
    for described in [false, true] {
        let erp = limiter(&name);
        let first = enter(&erp, "first", described, None).permit.expect("a permit");
        assert!(is_plain(&erp, may_queue()), "one more fits: {described}");
        let second = enter(&erp, "second", described, None).permit.expect("a permit");
        assert!(!is_plain(&erp, may_queue()), "none fits: {described}");
        assert!(is_plain(&erp, None), "nor does it queue: {described}");
        // Who finds no room knows it, too, and so does who is queued.
        let other = limiter(&name);
        assert!(is_plain(&other, may_queue()));
        assert_eq!(enter(&other, "third", described, None).status, Status::Refused);
        assert!(!is_plain(&other, may_queue()), "it was refused: {described}");
        let other = limiter(&name);
        assert_eq!(enter(&other, "third", true, may_queue()).status, Status::Queued);
        assert!(!is_plain(&other, may_queue()), "it was queued");
        assert_eq!(cancel(&other, "third", NOW), Settlement::Cancelled);
        let other = limiter(&name);
        assert_eq!(enter(&other, "third", true, Some(existing_only())).status, Status::NoTicket);
        assert!(is_plain(&other, may_queue()), "it learned nothing");
        assert_eq!(release(&erp, &second, NOW), Settlement::Released);
        assert!(is_plain(&erp, may_queue()), "one more fits again: {described}");
        assert_eq!(release(&erp, &first, NOW), Settlement::Released);
    }
}

/// The keys of a keyed limiter are made for one call, so what was seen of them is kept with the limiter.
#[test]
fn what_was_seen_of_a_key_spares_the_next_call_a_round_trip() {
    set_clock(NOW);
    let is_plain = |limiter: &Limiter, key: &str, wait: Option<Wait<'_>>| {
        let limiter = limiter.with_key(key).expect("a limiter of a key");
        let operation = match wait {
            None => Operation::Acquire(Request::cost(1)),
            Some(_) => Operation::AcquireWithId { request: Request::cost(1), id: "next", wait },
        };
        let Ok(Prepared::Call(call)) = limiter.prepare(operation) else { panic!("not on redis") };
        !call.bytes().windows(11).any(|bytes| bytes == b"\r\nacquire\r\n")
    };
    let api = redis_with_clock().window(&unique("api"), 2, HOUR).expect("a limiter").keyed().expect("a keyed limiter");
    let api = api.without_statistics().expect("a limiter");
    let ada = api.with_key("ada").expect("a limiter of a key");
    ada.admin(AdminCommand::Pause(Deadline::After(Micros(SECOND)))).expect("a pause");
    assert!(is_plain(&api, "ada", None), "nobody has asked");
    assert!(!ada.try_acquire(Request::cost(1)).expect("a decision").allowed());
    assert!(is_plain(&api, "bob", None) && !is_plain(&api, "ada", None));
    ada.admin(AdminCommand::Resume).expect("a resume");
    // The script decides the next calls, whoever makes them, and then a plain one is tried again.
    let plain = (0..100).filter(|_| is_plain(&api, "ada", None)).count();
    assert_eq!(plain, 100 - 62);

    let erp = redis_with_clock().concurrent(&unique("erp"), 1, HOUR).expect("a limiter");
    let erp = erp.without_statistics().expect("a limiter").keyed().expect("a keyed limiter");
    let ada = erp.with_key("ada").expect("a limiter of a key");
    let permit = granted(&ada, "first", NOW);
    let wait = Some(longest_wait());
    assert!(is_plain(&erp, "bob", wait) && !is_plain(&erp, "ada", wait), "none fits");
    assert_eq!(release(&ada, &permit, NOW), Settlement::Released);
    assert!(is_plain(&erp, "ada", wait), "one fits again");
}

fn the_fencing_token_rises_with_every_lease(test_store: &TestStore) {
    let name = unique("fencing token");
    let mut last = None;
    let mut assert_rises = |decision: &Decision| {
        assert!(decision.fencing_token > last, "{decision:?} after {last:?}");
        last = decision.fencing_token;
    };
    for number in 0..10 {
        // The token also rises within one microsecond, under another limit, and when the clock stands still or goes
        // backwards.
        let limiter = test_store.concurrent(&name, 3 + number, 1);
        let decision = take(&limiter, &format!("holder {number}"), NOW - number * 7);
        assert_rises(&decision);
        if number % 2 == 1 {
            release(&limiter, &decision.permit.expect("a permit"), NOW);
        }
    }
    let limiter = test_store.concurrent(&name, 5, 1);
    assert_rises(&take(&limiter, "much later", NOW + 3_600 * SECOND));
    limiter.reset().expect("a reset");
    assert_rises(&take(&limiter, "after a reset", NOW + 3_601 * SECOND));
}

fn a_renewed_lease_has_its_full_timeout_again(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("renewed"), 2, 10);
    let (first, second) = (granted(&limiter, "first", NOW), granted(&limiter, "second", NOW));
    assert_eq!(renew(&limiter, &first, NOW + 10 * SECOND - 1), Some(Micros(10 * SECOND)), "at the last moment");
    assert_eq!(renew(&limiter, &second, NOW + 10 * SECOND), None, "too late");
    granted(&limiter, "third", NOW + 10 * SECOND);
    assert_eq!(take(&limiter, "fourth", NOW + 10 * SECOND).status, Status::Refused);
    let peeked = peek(&limiter, Request::cost(1), NOW + 10 * SECOND);
    assert_eq!(peeked.retry_after, Some(Micros(10 * SECOND - 1)));
    assert_eq!(peeked.reset_after, Some(Micros(10 * SECOND)));
    assert_eq!(statistics(&limiter, NOW + 20 * SECOND - 2).leases, 2);
    assert_eq!(statistics(&limiter, NOW + 20 * SECOND - 1).leases, 1);
    assert_eq!(renew(&limiter, &first, NOW + 20 * SECOND - 1), None);
    // A renewal applies the lease timeout of the limiter that renews, not of the one that granted.
    let longer = test_store.concurrent(limiter.name(), 2, 60);
    let permit = granted(&longer, "fourth", NOW + 20 * SECOND);
    assert_eq!(renew(&limiter, &permit, NOW + 21 * SECOND), Some(Micros(10 * SECOND)));
    assert_eq!(statistics(&limiter, NOW + 31 * SECOND).leases, 0);
}

fn an_expired_ticket_gets_its_number_back(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("lapsed"), 1, 2);
    granted(&limiter, "holder", NOW);
    let (number, _) = queued(&limiter, "stopped", longest_wait(), NOW);
    let (second, _) = queued(&limiter, "second", longest_wait(), NOW);
    queued(&limiter, "third", longest_wait(), NOW + SECOND / 2);
    // The waiter should have retried after the time that it got; its ticket lapses one claim timeout after that.
    let expiry = NOW + FIRST_POLL + CLAIM_TIMEOUT;
    let at = |at: u64| enter(&limiter, "second", 1, Some(existing_only()), at);
    let retry_after = Some(Micros(expiry - NOW - 2 * SECOND));
    assert_eq!(at(NOW + 2 * SECOND).retry_after, retry_after, "until the first ticket expires");
    assert_eq!(at(expiry - 1).status, Status::Queued);
    let permit = at(expiry).permit.expect("a permit");
    assert_eq!(statistics(&limiter, expiry).lapsed, 1);
    assert_eq!(status(&limiter, "stopped", expiry), Status::NoTicket);
    // The waiter returns ahead of later tickets, but takes no lease that was granted in the meantime.
    let returned =
        queued(&limiter, "stopped", Wait { position: QueuePosition::Number(number), ..longest_wait() }, expiry);
    assert_eq!(returned, (number, 0));
    assert_eq!(queued(&limiter, "third", existing_only(), expiry).1, 1);
    release(&limiter, &permit, expiry + 1);
    assert_eq!(status(&limiter, "third", expiry + 1), Status::Queued);
    let permit = claimed(&limiter, "stopped", expiry + 1);
    release(&limiter, &permit, expiry + 2);
    claimed(&limiter, "third", expiry + 2);
    // A ticket number that was never issued does not move a waiter forward: it joins the end of the queue.
    let (last, _) = queued(&limiter, "fourth", longest_wait(), expiry + 3);
    assert!(last > second);
    let (joined, position) =
        queued(&limiter, "fifth", Wait { position: QueuePosition::Number(last + 100), ..longest_wait() }, expiry + 3);
    assert_eq!((joined, position), (last + 1, 1));
}

fn others_pass_a_job_by_that_does_not_call(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("passed"), 1, 600);
    let job = |id: &str, at: u64| enter(&limiter, id, 1, Some(Wait::of_job(paddlegate::MAX_SPAN, None)), at);
    let five = paddlegate::ADMISSION_CLAIM_TIMEOUT.0;
    let holder = granted(&limiter, "holder", NOW);
    assert_eq!(job("absent", NOW).retry_after, Some(Micros(FIRST_POLL)));
    assert_eq!(job("next", NOW).retry_after, Some(Micros(2 * FIRST_POLL)));
    release(&limiter, &holder, NOW + SECOND);
    // Its turn has come, and for five seconds nobody takes it.
    let passed = NOW + FIRST_POLL + five;
    assert_eq!(job("next", passed - 1).retry_after, Some(Micros(1)));
    assert_eq!(take(&limiter, "without a ticket", passed - 1).status, Status::Refused);
    let permit = job("next", passed).permit.expect("a lease");
    assert_eq!(statistics(&limiter, passed).tickets, 1);
    // It is the first again as soon as it calls, also of those that came in the meantime.
    assert_eq!(job("later", passed).status, Status::Queued);
    let back = job("absent", passed + 60 * SECOND).ticket.expect("a ticket");
    assert_eq!((back.number, back.position), (1, 0));
    release(&limiter, &permit, passed + 61 * SECOND);
    assert_eq!(job("later", passed + 61 * SECOND).status, Status::Queued);
    let permit = job("absent", passed + 61 * SECOND).permit.expect("a lease");
    // Without a call for a minute more its place is lost.
    let lost = job("slow", passed + 61 * SECOND);
    let end = passed + 61 * SECOND + lost.retry_after.expect("a time").0 + five + paddlegate::JOB_CLAIM_TIMEOUT.0;
    release(&limiter, &permit, end - 1);
    assert_eq!(enter(&limiter, "slow", 1, Some(existing_only()), end).status, Status::Granted, "its own call");
    assert_eq!(statistics(&limiter, end).lapsed, 1, "the later one");
}

fn tickets_of_dead_waiters_expire_once_and_other_waiters_pass(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("dead"), 1, 600);
    let holder = granted(&limiter, "holder", NOW);
    for number in 0..20 {
        queued(&limiter, &format!("dead {number}"), longest_wait(), NOW);
    }
    // A waiter without wake-ups retries at least every five seconds, so by then all dead waiters' tickets have lapsed.
    let mut next_check = NOW;
    let mut at = NOW;
    while next_check < NOW + paddlegate::MAX_POLL.0 + CLAIM_TIMEOUT {
        let decision = enter(&limiter, "alive", 1, Some(longest_wait()), next_check);
        assert_eq!(decision.status, Status::Queued);
        at = next_check;
        next_check += decision.retry_after.expect("a time").0;
    }
    assert_eq!(release(&limiter, &holder, at), Settlement::Released);
    let decision = enter(&limiter, "alive", 1, Some(longest_wait()), next_check);
    assert!(decision.allowed(), "{decision:?}");
    let counted = statistics(&limiter, next_check);
    assert_eq!((counted.lapsed, counted.tickets, counted.leases), (20, 0, 1));
    // With only dead waiters in the queue, the next caller is granted when their tickets have lapsed.
    release(&limiter, &decision.permit.expect("a permit"), next_check);
    granted(&limiter, "holder", next_check);
    for number in 0..20 {
        queued(&limiter, &format!("dead {number}"), longest_wait(), next_check);
    }
    cancel(&limiter, "holder", next_check);
    let expiry = next_check + 20 * FIRST_POLL + CLAIM_TIMEOUT;
    assert_eq!(take(&limiter, "new caller", expiry - 1).status, Status::Refused);
    granted(&limiter, "new caller", expiry);
    assert_eq!(statistics(&limiter, next_check).lapsed, 40);
}

fn many_expired_tickets_are_removed_by_several_calls(test_store: &TestStore) {
    for limit in [Limit::throttle(HOUR).unwrap(), Limit::bucket(1, HOUR).unwrap(), Limit::leaky(1, HOUR).unwrap()] {
        let limiter = test_store.store.limiter(&unique("many"), Policy::new([limit]).unwrap()).unwrap();
        assert!(take(&limiter, "first", NOW).allowed());
        for number in 0..1_250 {
            queued(&limiter, &format!("dead {number}"), longest_wait(), NOW);
        }
        // The tickets of all dead waiters have lapsed by then, and the limit is free again.
        let later = NOW + 5_000 * 3_600 * SECOND;
        let decisions: Vec<_> = (0..5).map(|i| take(&limiter, &format!("new caller {i}"), later)).collect();
        let passed: Vec<_> = decisions.iter().map(Decision::allowed).collect();
        assert_eq!(passed, [false, false, true, false, false], "{limiter:?}");
        assert_eq!(decisions[0].retry_after, Some(Micros(1)), "the caller may retry at once");
        assert_eq!(statistics(&limiter, later).lapsed, 1_250);
    }
}

fn a_waiter_keeps_its_position_while_the_limit_is_zero(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("closed"), 1, 600);
    let holder = granted(&limiter, "holder", NOW);
    let (first, _) = queued(&limiter, "first", longest_wait(), NOW);
    let (second, _) = queued(&limiter, "second", longest_wait(), NOW);
    let set_override = |amount: Option<u64>, at: u64| {
        let timeout = Duration::from_secs(600);
        let change = amount.map_or(LimitOverride::RemoveAll, |amount| {
            LimitOverride::Set(Limit::concurrency(amount, timeout).unwrap())
        });
        let control = AdminCommand::Override { changes: &[change], expires: None };
        run(&limiter, Operation::Admin { command: control }, at);
    };
    set_override(Some(0), NOW + 1);
    release(&limiter, &holder, NOW + 2);
    for recheck in 1..4 {
        let at = NOW + recheck * paddlegate::MAX_POLL.0;
        for (id, number) in [("second", second), ("first", first)] {
            let decision = enter(&limiter, id, 1, Some(longest_wait()), at);
            assert_eq!(
                (decision.status, decision.retry_after),
                (Status::Queued, Some(paddlegate::MAX_POLL)),
                "{decision:?}"
            );
            assert_eq!(decision.ticket.map(|ticket| ticket.number), Some(number));
        }
    }
    let at = NOW + 3 * paddlegate::MAX_POLL.0;
    let with_wakeups = Wait { channel: "wake-ups", ..longest_wait() };
    assert_eq!(enter(&limiter, "first", 1, Some(with_wakeups), at).retry_after, Some(paddlegate::RECHECK));
    assert_eq!(enter(&limiter, "first", 1, Some(longest_wait()), at).status, Status::Queued);
    assert_eq!(take(&limiter, "new caller", at).status, Status::Refused);
    assert_eq!(
        enter(&limiter, "new caller", 1, Some(longest_wait()), at).status,
        Status::Refused,
        "no time of a grant is known"
    );
    assert_eq!(
        enter(&limiter, "second", 1, Some(Wait::up_to(Micros(0))), at).status,
        Status::Refused,
        "its maximum wait is over"
    );
    set_override(None, at + 1);
    assert_eq!(enter(&limiter, "second", 1, Some(longest_wait()), at + 2).status, Status::Queued);
    granted(&limiter, "first", at + 2);
}

fn a_waiter_whose_channel_has_no_listener_is_skipped_at_once(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("skipped"), 1, 600);
    let mut inbox = test_store.inbox(&limiter);
    let channel = inbox.channel();
    let holder = granted(&limiter, "holder", NOW);
    let (number, _) = queued(&limiter, "skipped", Wait { channel: "nobody listens", ..longest_wait() }, NOW);
    queued(&limiter, "listening", Wait { channel: &channel, ..longest_wait() }, NOW);
    release(&limiter, &holder, NOW + 1);
    assert_eq!(woken(&inbox.take()), ["listening"]);
    // The skipped waiter is alive: its ticket number gives it its queue position back, with a channel or without.
    let skipped = enter(
        &limiter,
        "skipped",
        1,
        Some(Wait { position: QueuePosition::Number(number), ..longest_wait() }),
        NOW + 2,
    );
    let listening = enter(&limiter, "listening", 1, Some(existing_only()), NOW + 2);
    assert!(
        skipped.allowed() != listening.allowed(),
        "both have retried, so exactly one is granted: {skipped:?} {listening:?}"
    );
    let permit = skipped.permit.or(listening.permit).expect("a permit");
    release(&limiter, &permit, NOW + 3);
    let left = if skipped.status == Status::Granted { "listening" } else { "skipped" };
    claimed(&limiter, left, NOW + 3);
}

fn a_new_caller_waits_behind_the_queue(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("new callers"), 2, 600);
    let holders = ["a", "b"].map(|id| granted(&limiter, id, NOW));
    queued(&limiter, "waiter", longest_wait(), NOW);
    release(&limiter, &holders[0], NOW + 1);
    let peeked = peek(&limiter, Request::cost(1), NOW + 1);
    assert_eq!((peeked.status, peeked.remaining), (Status::Refused, Some(1)), "a slot is free, but a waiter is ahead");
    assert_eq!(acquire(&limiter, Request::cost(1), NOW + 1).status, Status::Refused);
    assert_eq!(take(&limiter, "new caller", NOW + 1).status, Status::Refused);
    release(&limiter, &holders[1], NOW + 2);
    granted(&limiter, "new caller", NOW + 2);
    claimed(&limiter, "waiter", NOW + 2);
}

fn a_cancelled_call_leaves_neither_ticket_nor_lease(test_store: &TestStore) {
    let limiter = test_store.concurrent(&unique("cancelled"), 1, 600);
    let mut inbox = test_store.inbox(&limiter);
    let channel = inbox.channel();
    let wait = Wait { channel: &channel, ..longest_wait() };
    granted(&limiter, "holder", NOW);
    for waiter in ["first", "second", "third"] {
        queued(&limiter, waiter, wait, NOW);
    }
    assert_eq!(cancel(&limiter, "first", NOW + 1), Settlement::Cancelled, "a ticket");
    assert_eq!(inbox.take(), []);
    assert_eq!(cancel(&limiter, "holder", NOW + 2), Settlement::Cancelled, "a lease");
    assert_eq!(woken(&inbox.take()), ["second"], "the next waiter is woken at once");
    assert_eq!(cancel(&limiter, "second", NOW + 3), Settlement::Cancelled, "cancelled after its wake-up");
    assert_eq!(woken(&inbox.take()), ["third"], "the next waiter is woken");
    assert_eq!(cancel(&limiter, "holder", NOW + 4), Settlement::Unknown);
    assert_eq!(statistics(&limiter, NOW + 4).refused, 0, "a cancellation is no refusal");
    run(&limiter, Operation::Cancel { id: "third", gave_up: true }, NOW + 5);
    let counted = statistics(&limiter, NOW + 5);
    assert_eq!((counted.refused, counted.tickets, counted.leases), (1, 0, 0), "a wait that is given up is a refusal");
}

fn a_waiter_for_a_lease_also_waits_for_the_rate(test_store: &TestStore) {
    let policy = Policy::new([
        Limit::concurrency(2, Duration::from_secs(60)).expect("a limit"),
        Limit::throttle(Duration::from_secs(10)).expect("a limit"),
    ]);
    let limiter = test_store.store.limiter(&unique("both"), policy.expect("a policy")).expect("a limiter");
    let permit = granted(&limiter, "first", NOW);
    let decision = enter(&limiter, "second", 1, Some(longest_wait()), NOW);
    assert_eq!((decision.status, decision.reason), (Status::Queued, Some(Reason::Limit(Kind::Throttle))));
    assert_eq!(decision.retry_after, Some(Micros(10 * SECOND)));
    release(&limiter, &permit, NOW + SECOND);
    assert_eq!(status(&limiter, "second", NOW + 10 * SECOND - 1), Status::Queued, "a release does not shorten a rate");
    claimed(&limiter, "second", NOW + 10 * SECOND);
    let too_short = enter(&limiter, "third", 1, Some(Wait::up_to(Micros(9 * SECOND))), NOW + 10 * SECOND);
    assert_eq!(
        (too_short.status, too_short.reason),
        (Status::Refused, Some(Reason::Limit(Kind::Throttle))),
        "the grant would come too late"
    );
    let refused = take(&limiter, "fourth", NOW + 11 * SECOND);
    assert_eq!((refused.status, statistics(&limiter, NOW + 11 * SECOND).leases), (Status::Refused, 1));
}

/// Leases and tickets as an observer counts them from the replies.
#[derive(Default)]
struct LeaseModel {
    /// The end of each lease by caller; a call without an id has a numbered key.
    leases: HashMap<String, u64>,
    tickets: HashMap<String, HeldTicket>,
    /// The last ticket number of each caller.
    numbers: HashMap<String, u64>,
    fencing_token: u64,
    without_id: usize,
}

/// A ticket that certainly stays in the queue until it lapses.
#[derive(Clone, Copy)]
struct HeldTicket {
    number: u64,
    expires_at: u64,
    claim_timeout: u64,
}

impl LeaseModel {
    fn live(&self, at: u64) -> u64 {
        self.leases.values().filter(|end| **end > at).count() as u64
    }

    fn observe(&mut self, runner: &Runner, step: &Step, step_result: &StepResult) -> Result<(), TestCaseError> {
        let at = runner.at;
        match (step, &step_result.answer) {
            (Step::Enter { caller, wait, .. }, Some(Answer::Decision(decision))) => {
                let caller = id(*caller);
                let previous_number =
                    wait.filter(|wait| wait.position == 1).and_then(|_| self.numbers.get(&caller).copied());
                self.record_decision(runner, &caller, decision, previous_number)?;
                self.numbers.extend(decision.ticket.map(|ticket| (caller.clone(), ticket.number)));
                self.tickets.remove(&caller);
                if let (Status::Queued, Some(ticket), Some(wait)) = (decision.status, decision.ticket, wait)
                    // No reply says when a ticket with a dead channel loses its queue position.
                    && wait.channel != Channel::Unsubscribed
                {
                    let expires_at = at + decision.retry_after.expect("a time").0 + wait.claim_timeout;
                    self.tickets.insert(
                        caller,
                        HeldTicket { number: ticket.number, expires_at, claim_timeout: wait.claim_timeout },
                    );
                }
            }
            (Step::Acquire { .. }, Some(Answer::Decision(decision))) => {
                self.without_id += 1;
                self.record_decision(runner, &format!("without id {}", self.without_id), decision, None)?;
            }
            (Step::Release { caller }, Some(Answer::Settlement(settlement))) => {
                let end = self.leases.remove(&id(*caller));
                prop_assert_eq!(*settlement == Settlement::Released, end.is_some_and(|end| end > at));
            }
            (Step::Renew { caller }, Some(Answer::Renewal(renewal))) => {
                let end = self.leases.get(&id(*caller)).copied();
                prop_assert_eq!(renewal.is_some(), end.is_some_and(|end| end > at));
                if let Some(lease) = renewal {
                    self.leases.insert(id(*caller), at + lease.0);
                }
            }
            (Step::ReleaseOld { .. }, Some(Answer::Settlement(settlement))) => {
                prop_assert_ne!(*settlement, Settlement::Released);
            }
            (Step::RenewOld { .. }, Some(Answer::Renewal(renewal))) => prop_assert_eq!(*renewal, None),
            (Step::Cancel { caller, .. }, _) => {
                self.leases.remove(&id(*caller));
                self.tickets.remove(&id(*caller));
            }
            (Step::Ready { .. }, Some(Answer::Ready(ready))) => {
                for id in &ready.ids {
                    if let Some(ticket) = self.tickets.get_mut(id) {
                        ticket.expires_at = ticket.expires_at.min(at + ticket.claim_timeout);
                    }
                }
            }
            (Step::Reset, _) => *self = Self::default(),
            _ => {}
        }
        for wakeup in &step_result.wakeups {
            if let Some(ticket) = self.tickets.get_mut(&wakeup.id) {
                ticket.expires_at = at + wakeup.delay.0 + ticket.claim_timeout;
            }
        }
        Ok(())
    }

    fn record_decision(
        &mut self,
        runner: &Runner,
        caller: &str,
        decision: &Decision,
        previous_number: Option<u64>,
    ) -> Result<(), TestCaseError> {
        let (at, limit) = (runner.at, runner.limits()[0].amount);
        let (Status::Granted, Some(lease)) = (decision.status, decision.lease) else { return Ok(()) };
        let end = at + lease.0;
        if self.leases.get(caller).is_some_and(|end| *end > at) {
            prop_assert_eq!(self.leases[caller], end, "the caller keeps its lease");
            return Ok(());
        }
        let number = decision.ticket.map(|ticket| ticket.number).or(previous_number).unwrap_or(u64::MAX);
        let ahead = self.tickets.iter().filter(|(other, ticket)| {
            other.as_str() != caller && ticket.expires_at > at && (ticket.number, other.as_str()) < (number, caller)
        });
        let before = self.live(at) + ahead.count() as u64;
        prop_assert!(
            before < limit,
            "{} of {} slots are held or due to others, and {} is granted",
            before,
            limit,
            caller
        );
        let fencing_token = decision.fencing_token.expect("a fencing token");
        prop_assert!(fencing_token > self.fencing_token, "the fencing token did not rise");
        self.fencing_token = fencing_token;
        self.leases.insert(caller.to_owned(), end);
        Ok(())
    }
}

/// Checks that live leases never exceed the limit, that no caller passes a waiter that retries in time, and that the
/// store counts the same leases.
fn keeps_its_guarantees(mut runner: Runner, workload: &Workload) -> Result<(), TestCaseError> {
    let mut model = LeaseModel::default();
    for step in &workload.steps {
        let step_result = runner.step(step);
        model.observe(&runner, step, &step_result)?;
        let counted = statistics(&runner.limiter, runner.at);
        prop_assert_eq!(counted.leases, model.live(runner.at), "after {:?}", step);
        let certain = model.tickets.values().filter(|ticket| ticket.expires_at > runner.at).count();
        prop_assert!(counted.tickets >= certain as u64, "a ticket was lost before its expiry: {:?}", step);
    }
    runner.limiter.reset().expect("a reset");
    Ok(())
}

thread_local! {
    static SERVER: Paddlegate = redis_with_clock();
}

fn on_redis(workload: &Workload) -> Runner {
    Runner::on_redis(&SERVER.with(Clone::clone), &test_url(), &unique("guarantee"), workload)
}

mod any_workload {
    use super::*;

    proptest! {
        #![proptest_config(config(400, SEEDS))]

        #[test]
        fn memory_keeps_the_guarantees_of_leases(workload in workload(&[Kind::Concurrency], 80, Costs::Labels)) {
            keeps_its_guarantees(Runner::in_memory(&workload), &workload)?;
        }

        #[test]
        fn memory_keeps_the_guarantees_of_leases_with_rates(
            workload in workload(&[Kind::Concurrency, Kind::Window, Kind::Throttle, Kind::Leaky], 80, Costs::Labels),
        ) {
            keeps_its_guarantees(Runner::in_memory(&workload), &workload)?;
        }
    }

    proptest! {
        #![proptest_config(config(50, SEEDS))]

        #[test]
        fn redis_keeps_the_guarantees_of_leases(workload in workload(&[Kind::Concurrency], 80, Costs::Labels)) {
            keeps_its_guarantees(on_redis(&workload), &workload)?;
        }

        #[test]
        fn redis_keeps_the_guarantees_of_leases_with_rates(
            workload in workload(&[Kind::Concurrency, Kind::Window, Kind::Throttle, Kind::Leaky], 80, Costs::Labels),
        ) {
            keeps_its_guarantees(on_redis(&workload), &workload)?;
        }
    }
}
