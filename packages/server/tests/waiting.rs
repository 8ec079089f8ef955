//! Requests that are held until a limit allows them, and what becomes of them when a side goes away.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::{Client, Running, Store, until};
use paddlegate_server::Options;
use serde_json::json;

fn tickets(client: &mut Client, store: &Store) -> u64 {
    client.get(&store.path("workers", "")).expect(200)["ticket_count"].as_u64().unwrap()
}

#[test]
fn a_release_lets_the_request_that_waits_go_on() {
    for store in Store::all() {
        let server = store.server();
        let (mut client, mut waiter) = (server.client(), server.client());
        let acquire = store.path("workers", "/acquire");
        let held = client.post(&acquire, &json!({})).expect(200);
        waiter.send("POST", &acquire, Some(&json!({ "wait_timeout": 250 })));
        until("the call is in the queue", || tickets(&mut client, &store) == 1);
        client.post(&store.path("workers", "/release"), &json!({ "permit": held["permit"] })).expect(200);
        assert_eq!(waiter.receive().expect(200)["allowed"], true, "{}", store.name());
        assert_eq!(tickets(&mut client, &store), 0);
    }
}

#[test]
fn wake_ups_reach_the_requests_that_wait() {
    // A queue of one call after another, each let in by the release of the one before.
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let acquire = store.path("workers", "/acquire");
        let mut permit = client.post(&acquire, &json!({})).expect(200)["permit"].clone();
        let mut waiter = server.client();
        for _ in 0..20 {
            waiter.send("POST", &acquire, Some(&json!({ "wait_timeout": 250 })));
            until("the call is in the queue", || tickets(&mut client, &store) == 1);
            client.post(&store.path("workers", "/release"), &json!({ "permit": permit })).expect(200);
            permit = waiter.receive().expect(200)["permit"].clone();
        }
        // A ticket may be taken before its connection is there, and a call may look by itself on a machine that stalls.
        assert!(server.app.wakeups() >= 5, "{}: {}", store.name(), server.app.wakeups());
    }
}

#[test]
fn a_wait_ends_with_a_refusal() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let acquire = store.path("workers", "/acquire");
        client.post(&acquire, &json!({})).expect(200);
        let refused = client.post(&acquire, &json!({ "wait_timeout": 0.2 })).expect(200);
        assert_eq!((&refused["allowed"], &refused["status"]), (&json!(false), &json!("refused")));
        assert_eq!(tickets(&mut client, &store), 0);
    }
}

#[test]
fn a_wait_is_cut_to_the_longest() {
    for store in Store::all() {
        let max_wait = Duration::from_millis(100);
        let limits = Some(store.limits());
        let server = Running::start(Options { redis: store.url.clone(), limits, max_wait, ..Options::default() });
        let mut client = server.client();
        let acquire = store.path("workers", "/acquire");
        client.post(&acquire, &json!({})).expect(200);
        let refused = client.post(&acquire, &json!({ "wait_timeout": "1d" })).expect(200);
        assert_eq!((&refused["allowed"], &refused["status"]), (&json!(false), &json!("refused")));
    }
}

#[test]
fn a_client_that_goes_away_gives_up_its_ticket() {
    for store in Store::all() {
        let server = store.server();
        let mut client = server.client();
        let acquire = store.path("workers", "/acquire");
        client.post(&acquire, &json!({})).expect(200);
        for body in [json!({ "wait_timeout": 250 }), json!({ "wait_timeout": 250, "id": "mine" })] {
            let mut waiter = server.client();
            waiter.send("POST", &acquire, Some(&body));
            until("the call is in the queue", || tickets(&mut client, &store) == 1);
            drop(waiter);
            until("the ticket is given up", || tickets(&mut client, &store) == 0);
        }
    }
}

#[test]
fn a_stop_gives_up_waits_and_loses_no_decision() {
    for store in Store::all() {
        let mut server = store.server();
        // Another server of the same store looks on, where there is one.
        let mut client = server.client();
        let acquire = store.path("workers", "/acquire");
        client.post(&acquire, &json!({})).expect(200);
        let mut waiter = server.client();
        waiter.send("POST", &acquire, Some(&json!({ "wait_timeout": 250 })));
        until("the call is in the queue", || tickets(&mut client, &store) == 1);

        let (granted, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let path = store.path("busy", "/acquire");
        let body = json!({ "policy": { "bucket": { "limit": 1_000_000, "per": "day" } } });
        let address = server.address;
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut client = Client::connect(address);
                    while !is_over.load(Ordering::Relaxed) {
                        client.send("POST", &path, Some(&body));
                        let Some(response) = client.try_receive() else { break };
                        if response.status == 200 {
                            granted.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
            until("calls are made", || granted.load(Ordering::Relaxed) > 100);
            server.begin_to_stop();
            let response = waiter.receive();
            assert_eq!(response.expect(503)["code"], "stopping");
            until("the server takes no connection", || std::net::TcpStream::connect(address).is_err());
            is_over.store(true, Ordering::Relaxed);
        });
        let app = server.app.clone();
        drop(server);
        let Some(url) = &store.url else { continue };
        assert!(app.paddlegate().unlimited("x").is_ok());
        // What was answered was counted, and what was counted was answered.
        let pg = paddlegate::Paddlegate::open(url, None).unwrap();
        let name = format!("{}busy", store.prefix);
        let busy = pg.bucket(&name, 1_000_000, Duration::from_secs(86_400)).unwrap();
        let statistics = busy.statistics().unwrap();
        assert_eq!(statistics.granted, granted.load(Ordering::Relaxed));
        let workers = pg.concurrent(&format!("{}workers", store.prefix), 1, Duration::from_secs(3_600));
        let inspection = workers.unwrap().inspect(paddlegate::Page::default()).unwrap();
        assert_eq!((inspection.ticket_count, inspection.lease_count), (0, 1));
    }
}
