//! What a server reads of limiters once a minute: how much was left, and how many calls waited.

use crate::support::{Client, Running, Store, advance, until};
use paddlegate::Micros;
use paddlegate_server::Options;
use serde_json::{Value, json};

/// The beginning of an hour.
const START: u64 = 1_800_000_000_000_000;

/// The time from the start of a server to the next minute, in which no ticket lapses.
const SOON: u64 = 2;

fn server(store: &Store) -> Running {
    server_at(store, START + (60 - SOON) * 1_000_000)
}

fn server_at(store: &Store, time: u64) -> Running {
    let (limits, test_clock) = (Some(store.limits()), Some(Micros(time)));
    Running::start(Options { redis: store.url.clone(), limits, test_clock, ..Options::default() })
}

/// Memory, and a Redis without the limiters of others: theirs may be more than a server reads, of another time.
fn stores() -> [Store; 2] {
    [Store { url: None, prefix: String::new() }, Store::database(2)]
}

/// Waits until the minute that is not over has been read, and returns all minutes.
fn sampled(client: &mut Client, store: &Store, name: &str) -> Value {
    let mut found = Value::Null;
    until(&format!("{name} is read"), || {
        found = client.get(&store.path(name, "/samples")).expect(200);
        !found["minutes"][59]["waiting"].is_null()
    });
    found
}

#[test]
fn the_least_that_was_left_and_the_most_that_waited_are_kept_by_minute_and_hour() {
    for store in stores() {
        let server = server(&store);
        let mut client = server.client();
        let nothing = client.get(&store.path("api", "/samples")).expect(200);
        assert_eq!((&nothing["since"], &nothing["minutes"][59]["waiting"]), (&Value::Null, &Value::Null));
        assert_eq!(
            (nothing["minutes"].as_array().unwrap().len(), nothing["hours"].as_array().unwrap().len()),
            (60, 48)
        );

        client.post(&store.path("api", "/acquire"), &json!({ "cost": 2 })).expect(200);
        client.post(&store.path("both", "/acquire"), &json!({})).expect(200);
        let held = client.post(&store.path("workers", "/acquire"), &json!({})).expect(200);
        client.post(&store.path("workers", "/enqueue"), &json!({ "id": "waiter" })).expect(200);
        advance(&mut client, SOON);
        let api = sampled(&mut client, &store, "api");
        assert_eq!(api["limits"], json!({ "bucket": 5 }));
        let start = 1_800_000_000.0;
        let minute = |at: f64, waiting: u64, remaining: Value| json!({ "start": at, "waiting": waiting, "remaining": remaining });
        assert_eq!(api["minutes"][59], minute(start + 60.0, 0, json!({ "bucket": 3 })));
        assert_eq!(api["hours"][47], minute(start, 0, json!({ "bucket": 3 })));
        assert!(api["since"].as_f64().is_some_and(|since| since <= start + 60.0), "{api}");
        let both = sampled(&mut client, &store, "both");
        assert_eq!(both["minutes"][59]["remaining"], json!({ "rpd": 8, "rpm": 2 }));
        let workers = sampled(&mut client, &store, "workers");
        assert_eq!(workers["minutes"][59], minute(start + 60.0, 1, json!({ "concurrency": 0 })));

        client.post(&store.path("workers", "/cancel"), &json!({ "id": "waiter" })).expect(200);
        // Of a limiter that nobody calls there are samples for as long as something is taken.
        for minute in 2..6 {
            advance(&mut client, 60);
            let found = sampled(&mut client, &store, "workers");
            assert_eq!(found["minutes"][59]["start"], start + f64::from(minute) * 60.0);
        }
        client.post(&store.path("workers", "/release"), &json!({ "permit": held["permit"] })).expect(200);
        advance(&mut client, 60);
        let freed = sampled(&mut client, &store, "workers");
        assert_eq!(freed["minutes"][59], minute(start + 360.0, 0, json!({ "concurrency": 1 })));
        assert_eq!(freed["minutes"][58], minute(start + 300.0, 0, json!({ "concurrency": 0 })));
        assert_eq!(freed["hours"][47], minute(start, 1, json!({ "concurrency": 0 })), "the worst of the hour");
        advance(&mut client, 3_600);
        let later = client.get(&store.path("workers", "/samples")).expect(200);
        assert_eq!(later["hours"][46], minute(start, 1, json!({ "concurrency": 0 })));
        let page = client.get(&format!("/ui/limiters/{}workers", store.prefix)).text();
        for text in [
            "Remaining of concurrency in the last two days: from 0 to 0",
            "Waiting in the last two days: from 1 to 1",
            "by this server",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }
}

#[test]
fn a_keyed_limiter_has_no_samples() {
    for store in stores() {
        let server = server(&store);
        let mut client = server.client();
        for name in ["per-user", "api"] {
            let key = if name == "api" { Value::Null } else { json!("alice") };
            client.post(&store.path(name, "/acquire"), &json!({ "key": key })).expect(200);
        }
        advance(&mut client, 60);
        sampled(&mut client, &store, "api");
        let found = client.get(&store.path("per-user", "/samples")).expect(200);
        assert_eq!((&found["since"], &found["limits"]), (&Value::Null, &json!({})));
        assert!(found["minutes"].as_array().unwrap().iter().all(|minute| minute["waiting"].is_null()));
        let page = client.get(&format!("/ui/limiters/{}per-user", store.prefix)).text();
        assert!(!page.contains("looks each minute") && !page.contains("Remaining of"), "{page}");
        client.get("/v1/limiters/nobody/samples").expect(404);
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test waits for a server")]
fn a_limiter_that_is_ahead_keeps_no_other_from_events() {
    let store = Store::database(3);
    let ahead = server_at(&store, START + 3_600_000_000);
    ahead.client().post(&store.path("api", "/acquire"), &json!({})).expect(200);
    let server = server(&store);
    let (mut client, mut reader) = (server.client(), server.client());
    reader.send("GET", "/v1/events?kinds=refused", None);
    assert_eq!(reader.line().as_deref(), Some("HTTP/1.1 200 OK"));
    client.post(&store.path("mail", "/acquire"), &json!({})).expect(200);
    let name = format!("{}mail", store.prefix);
    std::thread::scope(|scope| {
        let (told, is_told) = std::sync::mpsc::channel();
        scope.spawn(move || {
            let is_event = |line: String| line.starts_with("data: ") && line.contains(&name);
            let found = (0..100).map_while(|_| reader.line()).any(is_event);
            let _ = told.send(found);
        });
        // The list is read again every two seconds, and by then both have been used.
        for _ in 0..20 {
            client.post(&store.path("mail", "/acquire"), &json!({})).expect(200);
            std::thread::sleep(std::time::Duration::from_millis(400));
        }
        let told = is_told.recv_timeout(std::time::Duration::from_secs(5));
        // A reader without an event would read on.
        drop(server.app.stopping().clone().drop_guard());
        assert_eq!(told, Ok(true));
    });
}

#[test]
fn a_limiter_that_is_ahead_keeps_no_other_from_samples() {
    let store = Store::database(3);
    let ahead = server_at(&store, START + 3_600_000_000);
    ahead.client().post(&store.path("api", "/acquire"), &json!({})).expect(200);
    let server = server(&store);
    let mut client = server.client();
    client.post(&store.path("shop", "/acquire"), &json!({ "cost": 1 })).expect(200);
    advance(&mut client, SOON);
    let found = sampled(&mut client, &store, "shop");
    assert_eq!(found["minutes"][59]["remaining"], json!({ "points": 999 }));
}
