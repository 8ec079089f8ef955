//! Tests a Redis Cluster, started by this file, whose slots move and whose nodes fail.

use crate::server;
use std::thread;
use std::time::Duration;

use crate::server::{Server, wait_until};
use paddlegate::{
    AdminRequest, ErrorKind, KeyChange, Limit, Limiter, MAX_SPAN, OnUnavailable, Operation, Paddlegate, Policy,
    Prepared, QueuePosition, Request, Settlement, SignalHandling, Status, Wait,
};

const HOUR: Duration = Duration::from_secs(3_600);

mod redis_cluster {
    use super::*;

    #[test]
    fn a_moving_slot_is_followed_and_no_call_counts_twice() {
        let cluster = Cluster::start();
        let pg = cluster.open();
        let limiter = pg.leaky("moves", 20, HOUR).expect("a limiter");
        let (from, to) = cluster.ends_of(&limiter);
        let mut left = 20;
        let mut take_one = |when: &str| {
            left -= 1;
            assert_eq!(take(&limiter).remaining, Some(left), "{when}");
        };
        take_one("before");
        cluster.start_to_move(&limiter);
        take_one("the key has not moved yet");
        cluster.move_keys(&limiter);
        take_one("the key has moved to a server without the script");
        take_one("a second call after the move");
        cluster.finish_to_move(&limiter);
        take_one("the slot has moved too");
        take_one("the store knows the new node");
        assert_eq!(keys(from), 0);
        assert_eq!(keys(to), 3, "the state, the statistics and the list of limiters");
        let new_store = cluster.open().leaky("moves", 20, HOUR).expect("a limiter");
        assert_eq!(take(&new_store).remaining, Some(13), "a new store finds the slot");
    }

    #[test]
    fn a_call_waits_while_the_keys_of_a_slot_are_on_two_nodes() {
        let cluster = Cluster::start();
        let policy = || Policy::new([Limit::window(20, HOUR)?, Limit::points(20, HOUR)?]);
        let limiter = cluster.open().limiter("torn", policy().expect("a policy")).expect("a limiter");
        let permit = limiter.try_acquire(Request::estimate(2)).expect("a decision").permit.expect("a permit");
        cluster.start_to_move(&limiter);
        assert_eq!(limiter.try_acquire(Request::cost(1)).expect("all keys are there").remaining, Some(17));
        let state = cluster.keys_of(&limiter).into_iter().find(|key| key.contains(":s:")).expect("the state");
        cluster.move_key(&limiter, &state);
        for error in [
            limiter.try_acquire(Request::cost(1)).expect_err("half of the keys"),
            limiter.correct(&permit, 1).expect_err("half of the keys"),
        ] {
            assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, false), "{error}");
        }
        thread::scope(|scope| {
            let call = scope.spawn(|| {
                // A call that exceeds its deadline fails, so the thread calls again until the slot has moved.
                let mut decision = None;
                wait_until("the slot has moved", || {
                    decision = limiter.try_acquire(Request::cost(1)).ok();
                    decision.is_some()
                });
                decision.expect("a decision")
            });
            cluster.move_keys(&limiter);
            cluster.finish_to_move(&limiter);
            assert_eq!(call.join().expect("a call").remaining, Some(16), "nothing was charged before");
        });
        assert_eq!(limiter.correct(&permit, 1).expect("a settlement"), Settlement::Settled);
    }

    #[test]
    fn leases_are_renewed_and_released_while_their_slot_moves() {
        let cluster = Cluster::start();
        let limiter = cluster.open().concurrent("moves", 3, Duration::from_secs(60)).unwrap();
        let lease = || limiter.try_acquire(Request::default()).unwrap().permit.expect("a permit");
        let (first, second, _) = (lease(), lease(), lease());
        cluster.start_to_move(&limiter);
        assert!(limiter.renew(&first).unwrap().is_some(), "no key has moved");
        assert_eq!(limiter.release(&first).unwrap(), Settlement::Released);
        cluster.move_keys(&limiter);
        assert!(limiter.renew(&second).unwrap().is_some(), "all keys have moved");
        assert_eq!(limiter.release(&second).unwrap(), Settlement::Released);
    }

    #[test]
    fn leases_and_tickets_move_with_their_slot() {
        let cluster = Cluster::start();
        let pg = cluster.open();
        let limiter = pg.concurrent("leases move", 1, HOUR).expect("a limiter");
        let enter = |id: &str, place: QueuePosition| {
            let wait = Wait { position: place, ..Wait::up_to(MAX_SPAN) };
            limiter.acquire_with_id(Request::cost(1), id, Some(wait)).unwrap_or_else(|error| panic!("{id}: {error}"))
        };
        let holder = enter("holder", QueuePosition::End);
        let number = enter("waiter", QueuePosition::End).ticket.expect("a ticket").number;
        cluster.start_to_move(&limiter);
        // The limiter has no permits to correct, so one key of the call does not exist, and the cluster sends no
        // redirection.
        let error = limiter.acquire_with_id(Request::cost(1), "third", None).expect_err("a key that is not there");
        assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, false), "{error}");
        cluster.move_keys(&limiter);
        cluster.finish_to_move(&limiter);
        assert_eq!(
            limiter.acquire_with_id(Request::cost(1), "third", None).expect("a decision").status,
            Status::Refused
        );
        let again = enter("waiter", QueuePosition::Number(number));
        let ticket = again.ticket.expect("a ticket");
        assert_eq!((again.status, ticket.number, ticket.position), (Status::Queued, number, 0));
        assert_eq!(limiter.release(&holder.permit.expect("a permit")).expect("a settlement"), Settlement::Released);
        let granted = enter("waiter", QueuePosition::Number(number));
        assert!(granted.allowed() && granted.fencing_token > holder.fencing_token, "{granted:?}");
        let statistics = limiter.statistics().expect("statistics");
        assert_eq!((statistics.granted, statistics.waited, statistics.leases, statistics.tickets), (2, 1, 1, 0));
    }

    /// Returns a limiter of every role of key, and one whose windows are others, both of one name and in use.
    fn two_policies(pg: &Paddlegate, name: &str) -> (Limiter, Limiter) {
        let minute = Limit::window(5, HOUR).and_then(|limit| limit.labelled("rpm")).expect("a limit");
        let policy =
            Policy::new([Limit::window(5, HOUR).expect("a limit"), Limit::concurrency(1, HOUR).expect("a limit")]);
        let first = pg.limiter(name, policy.expect("a policy")).expect("a limiter");
        let second = pg.limiter(name, Policy::new([minute]).expect("a policy")).expect("a limiter");
        assert_eq!(take(&second).remaining, Some(4));
        let holder = first.acquire_with_id(Request::estimate(1), "holder", None).expect("a decision");
        assert!(holder.allowed(), "{holder:?}");
        let waiter =
            first.acquire_with_id(Request::cost(1), "waiter", Some(Wait::up_to(MAX_SPAN))).expect("a decision");
        assert_eq!(waiter.status, Status::Queued);
        (first, second)
    }

    /// Returns the roles of the limiter's keys on a node.
    fn roles_on(node: &Server, limiter: &Limiter) -> Vec<String> {
        let keys = node.execute(&["KEYS", &format!("*:{}", limiter.name())]);
        let role = |key: &str| key.split_once("}:").expect("a tag").1.split(':').next().expect("a role").to_owned();
        let mut roles: Vec<String> = keys.lines().map(role).collect();
        roles.sort();
        roles
    }

    #[test]
    fn a_reset_also_removes_the_windows_of_another_policy() {
        let cluster = Cluster::start();
        let pg = cluster.open();
        for i in 0..12 {
            let (first, second) = two_policies(&pg, &format!("reset {i}"));
            let (node, _) = cluster.ends_of(&first);
            assert_eq!(roles_on(node, &first), ["h", "m", "p", "q", "s", "t", "w", "w.rpm"]);
            let resetting = if i % 2 == 0 { &first } else { &second };
            resetting.reset().expect("a reset");
            assert!(roles_on(node, &first).is_empty(), "{:?}", roles_on(node, &first));
            assert_eq!(take(&second).remaining, Some(4));
            assert!(take(&first).allowed());
        }
    }

    #[test]
    fn a_reset_while_keys_of_a_slot_are_on_two_nodes_fails_and_removes_nothing() {
        let cluster = Cluster::start();
        let (first, second) = two_policies(&cluster.open(), "torn");
        let (from, to) = cluster.ends_of(&first);
        let moved = |role: &str| {
            let key = cluster.keys_of(&first).into_iter().find(|key| key.contains(&format!(":{role}:")));
            cluster.move_key(&first, &key.expect("a key"));
        };
        let fails = |limiter: &Limiter| {
            let roles = || (roles_on(from, limiter), roles_on(to, limiter));
            let before = roles();
            let error = limiter.reset().expect_err("half of the keys");
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            assert_eq!(roles(), before);
        };
        cluster.start_to_move(&first);
        // The call names no key that is not there, but the state lists a window that has moved.
        moved("w.rpm");
        fails(&first);
        fails(&second);
        moved("s");
        fails(&first);
        cluster.move_keys(&first);
        cluster.finish_to_move(&first);
        second.reset().expect("a reset");
        assert!(roles_on(to, &first).is_empty(), "{:?}", roles_on(to, &first));
        assert_eq!(take(&second).remaining, Some(4));
    }

    /// Returns one limiter per node, each with its limit of two used up on its node.
    fn exhausted(pg: &Paddlegate, mode: OnUnavailable) -> Vec<Limiter> {
        let names = (0..).map(|i| pg.window(&format!("of a node {i}"), 2, HOUR).expect("a limiter"));
        let mut owners = std::collections::BTreeMap::new();
        for limiter in names {
            owners.entry(slot_of(&limiter) / Cluster::SHARE).or_insert(limiter.with_on_unavailable(mode));
            if owners.len() == 3 {
                break;
            }
        }
        let limiters: Vec<Limiter> = owners.into_values().collect();
        for limiter in &limiters {
            let granted = (0..4).filter(|_| take(limiter).allowed()).count();
            assert_eq!(granted, 2);
        }
        limiters
    }

    #[test]
    fn a_dead_node_does_not_switch_off_the_limits_of_the_others() {
        for mode in [OnUnavailable::FailOpen, OnUnavailable::Local { share_percent: 100 }] {
            let mut cluster = Cluster::start();
            let limiters = exhausted(&cluster.open(), mode);
            cluster.nodes.remove(0).stop();
            for _ in 0..10 {
                // More calls than the limiter makes before it stops asking the dead node.
                (0..6).for_each(|_| assert!(take(&limiters[0]).degraded, "its node is dead"));
                for limiter in &limiters[1..] {
                    let decision = take(limiter);
                    assert!(!decision.degraded && !decision.allowed(), "{mode:?}: {decision:?}");
                }
            }
        }
    }

    #[test]
    fn calls_made_together_keep_their_connections_and_wait_for_no_other_node() {
        let cluster = Cluster::start();
        let pg = cluster.open();
        let mut limiters: Vec<Limiter> =
            (0..100).map(|i| pg.window(&format!("together {i}"), 1_000, HOUR).expect("a limiter")).collect();
        limiters.sort_by_key(|limiter| slot_of(limiter) / Cluster::SHARE);
        limiters.dedup_by_key(|limiter| slot_of(limiter) / Cluster::SHARE);
        let [silent, second, third] = &limiters[..] else { panic!("a limiter for each of three nodes") };
        let each = |limiters: &[&Limiter]| {
            let calls: Vec<_> = limiters.iter().map(|limiter| (*limiter, Request::default())).collect();
            Limiter::acquire_each(&calls, SignalHandling::Ignore)
        };
        let connections = || {
            let info = cluster.nodes[2].execute(&["INFO", "stats"]);
            let line = info.lines().find(|line| line.starts_with("total_connections_received:")).expect("a number");
            line.split(':').next_back().expect("a number").trim().parse::<u64>().expect("a number")
        };
        for _ in 0..2 {
            assert!(each(&[silent, second, silent, third]).iter().all(Result::is_ok));
        }
        let before = connections();
        (0..10).for_each(|_| assert!(each(&[silent, second, silent, third]).iter().all(Result::is_ok)));
        assert_eq!(connections() - before, 1, "that of the question");

        cluster.nodes[0].process().signal("STOP");
        let decided = each(&[silent, second, silent, second, third]);
        cluster.nodes[0].process().signal("CONT");
        for result in [&decided[0], &decided[2]] {
            assert!(result.as_ref().expect_err("a silent node").may_have_counted());
        }
        for result in [&decided[1], &decided[3], &decided[4]] {
            assert!(result.as_ref().expect("another node").allowed());
        }
    }

    #[test]
    fn an_unserved_slot_does_not_switch_off_the_limits_of_its_node() {
        let cluster = Cluster::start();
        let pg = cluster.open();
        let limiters = exhausted(&pg, OnUnavailable::FailOpen);
        let neighbour = (0..1_000)
            .map(|i| pg.window(&format!("neighbour {i}"), 1, HOUR).expect("a limiter"))
            .find(|other| slot_of(other) / Cluster::SHARE == 0 && slot_of(other) != slot_of(&limiters[0]))
            .expect("a name")
            .with_on_unavailable(OnUnavailable::FailOpen);
        for node in &cluster.nodes {
            node.execute(&["CLUSTER", "DELSLOTS", &slot_of(&limiters[0]).to_string()]);
        }
        assert!(take(&neighbour).allowed());
        for _ in 0..10 {
            (0..6).for_each(|_| assert!(take(&limiters[0]).degraded, "no node serves its slot"));
            let decision = take(&neighbour);
            assert!(!decision.degraded && !decision.allowed(), "{decision:?}");
        }
    }

    #[test]
    fn limiters_of_one_group_decide_together_and_others_do_not() {
        let cluster = Cluster::start();
        let pg = cluster.open();
        let named = |name: &str| pg.concurrent(name, 2, HOUR).expect("a limiter");
        let alone: Vec<Limiter> = ["org", "user", "team", "key"].map(named).into();
        assert!(alone.iter().any(|limiter| slot_of(limiter) != slot_of(&alone[0])));
        let error = pg.together(&alone.iter().collect::<Vec<_>>()).expect("a limiter").try_acquire(Request::cost(1));
        let error = error.expect_err("several slots");
        assert_eq!((error.kind(), error.argument()), (ErrorKind::Invalid, Some("group")));
        assert!(!error.may_have_counted());

        let grouped: Vec<Limiter> = alone.iter().map(|limiter| limiter.with_group("acme").expect("a group")).collect();
        assert!(grouped.iter().all(|limiter| slot_of(limiter) == slot_of(&grouped[0])));
        let all = pg.together(&grouped.iter().collect::<Vec<_>>()).expect("a limiter");
        let first = take(&all).permit.expect("a permit");
        assert_eq!(take(&all).remaining, Some(0));
        assert_eq!(all.renew(&first).expect("a renewal"), Some(paddlegate::Micros(3_600_000_000)));
        // The slot moves to a node without the script, where a release and a renewal name only keys that exist.
        cluster.start_to_move(&grouped[0]);
        cluster.move_keys(&grouped[0]);
        assert!(all.renew(&first).expect("a renewal").is_some());
        assert_eq!(all.release(&first).expect("a settlement"), Settlement::Released);
        cluster.finish_to_move(&grouped[0]);
        assert!(take(&all).allowed() && !take(&all).allowed());
        let wait = Wait::up_to(paddlegate::Micros(60_000_000));
        assert_eq!(all.acquire_with_id(Request::cost(1), "id", Some(wait)).expect("a decision").status, Status::Queued);
        assert_eq!(all.cancel("id").expect("a settlement"), Settlement::Cancelled);
        for limiter in &alone {
            assert_eq!(limiter.peek(Request::cost(0)).expect("a decision").remaining, Some(2), "another state");
        }
    }

    #[test]
    fn the_keys_of_all_nodes_are_changed() {
        let cluster = Cluster::start();
        let users = cluster.open().bucket("users", 5, HOUR).and_then(|limiter| limiter.keyed()).expect("a limiter");
        let mut expected: Vec<String> = (0..300).map(|i| format!("user-{i}")).collect();
        expected.sort_unstable();
        for key in &expected {
            take(&users.with_key(key).expect("a key"));
        }
        // A store that has learned nothing of the slots, and one that has.
        for store in [cluster.open(), cluster.open()] {
            let users = store.bucket("users", 5, HOUR).and_then(|limiter| limiter.keyed()).expect("a limiter");
            for change in [KeyChange::Admin(&AdminRequest::Resume), KeyChange::Reset] {
                let (mut changed, mut cursor) = (Vec::new(), None);
                loop {
                    let page = users.change_keys(change, cursor.as_deref()).expect("a page");
                    changed.extend(page.changed);
                    cursor = page.cursor;
                    if cursor.is_none() {
                        break;
                    }
                }
                changed.sort_unstable();
                changed.dedup();
                assert_eq!(changed, expected);
            }
            for key in &expected {
                assert_eq!(take(&users.with_key(key).expect("a key")).remaining, Some(4), "{key}");
            }
        }
    }

    #[test]
    fn a_dead_node_fails_only_the_limiters_of_its_slots() {
        let mut cluster = Cluster::start();
        let pg = cluster.open();
        let limiters: Vec<Limiter> =
            (0..30).map(|i| pg.leaky(&format!("dead-{i}"), 5, HOUR).expect("a limiter")).collect();
        for limiter in &limiters {
            assert_eq!(take(limiter).remaining, Some(4));
        }
        let on_the_first: Vec<bool> = limiters.iter().map(|limiter| slot_of(limiter) < Cluster::SHARE).collect();
        assert!(on_the_first.contains(&true) && on_the_first.contains(&false));
        cluster.nodes.remove(0).stop();
        for (limiter, dead) in limiters.iter().zip(on_the_first) {
            match limiter.try_acquire(Request::cost(1)) {
                Err(error) if dead => {
                    assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, false));
                }
                Ok(decision) if !dead => assert_eq!(decision.remaining, Some(3)),
                other => panic!("{} {dead}: {other:?}", limiter.name()),
            }
        }
    }
}

/// A cluster of three masters with a third of the slots each.
struct Cluster {
    nodes: Vec<Server>,
}

impl Cluster {
    const SHARE: u16 = 5_462;

    fn start() -> Self {
        let nodes: Vec<Server> = (0..3)
            .map(|_| {
                let options = ["--cluster-enabled", "yes", "--cluster-require-full-coverage", "no"];
                Server::start_somewhere(bus_port, &options)
            })
            .collect();
        for (number, (node, first)) in (1..).zip(nodes.iter().zip((0..).step_by(Self::SHARE.into()))) {
            let slots: Vec<String> = (first..(first + Self::SHARE).min(16_384)).map(|slot| slot.to_string()).collect();
            let mut words = vec!["CLUSTER", "ADDSLOTS"];
            words.extend(slots.iter().map(String::as_str));
            assert_eq!(node.execute(&words), "OK");
            // Without a config epoch each, the nodes agree on epochs only later, and two may disagree on a slot that
            // moves.
            assert_eq!(node.execute(&["CLUSTER", "SET-CONFIG-EPOCH", &format!("{number}")]), "OK");
            node.execute(&["CLUSTER", "MEET", "127.0.0.1", &nodes[0].port.to_string()]);
        }
        let cluster = Self { nodes };
        cluster.settle();
        cluster
    }

    /// Waits until every node knows all other nodes and their slots.
    fn settle(&self) {
        for node in &self.nodes {
            wait_until("the nodes form a cluster", || {
                let info = node.execute(&["CLUSTER", "INFO"]);
                info.contains("cluster_state:ok")
                    && info.contains("cluster_slots_ok:16384")
                    && info.contains("cluster_size:3")
                    && info.contains("cluster_current_epoch:3")
            });
        }
    }

    fn open(&self) -> Paddlegate {
        let nodes: Vec<String> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        Paddlegate::open(&format!("redis://{}", nodes.join(",")), Some(Duration::from_secs(5))).expect("a store")
    }

    /// Returns the node that owns the limiter's slot at first, and the node that the slot moves to.
    fn ends_of(&self, limiter: &Limiter) -> (&Server, &Server) {
        let owner = usize::from(slot_of(limiter) / Self::SHARE);
        (&self.nodes[owner], &self.nodes[(owner + 1) % 3])
    }

    fn start_to_move(&self, limiter: &Limiter) {
        let (from, to) = self.ends_of(limiter);
        let slot = slot_of(limiter).to_string();
        assert_eq!(to.execute(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(from)]), "OK");
        assert_eq!(from.execute(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(to)]), "OK");
    }

    /// Returns the limiter's keys on the first owner of its slot.
    fn keys_of(&self, limiter: &Limiter) -> Vec<String> {
        let (from, _) = self.ends_of(limiter);
        from.execute(&["CLUSTER", "GETKEYSINSLOT", &slot_of(limiter).to_string(), "100"])
            .lines()
            .map(str::to_owned)
            .collect()
    }

    fn move_keys(&self, limiter: &Limiter) {
        for key in self.keys_of(limiter) {
            self.move_key(limiter, &key);
        }
    }

    fn move_key(&self, limiter: &Limiter, key: &str) {
        let (from, to) = self.ends_of(limiter);
        assert_eq!(from.execute(&["MIGRATE", "127.0.0.1", &to.port.to_string(), key, "0", "5000"]), "OK");
    }

    fn finish_to_move(&self, limiter: &Limiter) {
        let (from, to) = self.ends_of(limiter);
        let slot = slot_of(limiter).to_string();
        for node in [to, from] {
            assert_eq!(node.execute(&["CLUSTER", "SETSLOT", &slot, "NODE", &id(to)]), "OK");
        }
    }
}

/// Returns a port for a cluster node. The bus port, 10,000 higher, is also below the ports that the kernel assigns.
fn bus_port() -> u16 {
    10_000 + server::free_port()
}

fn id(node: &Server) -> String {
    node.execute(&["CLUSTER", "MYID"])
}

fn keys(node: &Server) -> usize {
    node.execute(&["DBSIZE"]).parse().expect("a number")
}

fn slot_of(limiter: &Limiter) -> u16 {
    match limiter.prepare(Operation::Reset) {
        Ok(Prepared::Call(call)) => call.slot(),
        other => panic!("not on redis: {other:?}"),
    }
}

fn take(limiter: &Limiter) -> paddlegate::Decision {
    limiter.try_acquire(Request::cost(1)).unwrap_or_else(|error| panic!("{}: {error}", limiter.name()))
}
