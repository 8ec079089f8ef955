//! One test for each way in.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use crate::support::{Client, LIMITS, Running, Store, cases, file, until};
use paddlegate_server::{Failure, Options};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;

const EVERYWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// `secret` may do everything, `reader` reads names that begin with `a`, `worker` decides on `api`.
fn tokens() -> PathBuf {
    file(
        r#"{"tokens": [
        {"name": "root", "sha256": "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
         "read": [""], "decide": [""], "operate": [""]},
        {"name": "reader", "sha256": "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30", "read": ["a"]},
        {"name": "worker", "sha256": "87eba76e7f3164534045ba922e7770fb58bbd14ad732bbf5ba6f11cc56989e6e", "decide": ["api"]}
    ]}"#,
    )
}

fn guarded() -> Running {
    Running::start(Options { limits: Some(file(LIMITS)), tokens: Some(tokens()), ojs: true, ..Options::default() })
}

fn open() -> Running {
    Running::start(Options { limits: Some(file(LIMITS)), ..Options::default() })
}

fn failure(options: Options) -> String {
    match Running::try_start(options) {
        Err(Failure::Input(message)) => message,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it started"),
    }
}

#[test]
fn an_address_of_the_network_needs_tokens_and_tls() {
    let tokens = Some(tokens());
    assert!(failure(Options { listen: EVERYWHERE, ..Options::default() }).contains("--tokens"));
    assert!(failure(Options { metrics: Some(EVERYWHERE), ..Options::default() }).contains("--metrics"));
    assert!(failure(Options { grpc: Some(EVERYWHERE), ..Options::default() }).contains("--grpc"));
    let without_tls = Options { listen: EVERYWHERE, tokens: tokens.clone(), ..Options::default() };
    assert!(failure(without_tls).contains("--insecure-http"));
    let behind_a_proxy = Options { listen: EVERYWHERE, tokens, insecure_http: true, ..Options::default() };
    assert!(Running::try_start(behind_a_proxy).is_ok());
}

#[test]
fn a_wrong_tokens_file_is_told_without_what_is_in_it() {
    let fault = |text: &str| failure(Options { tokens: Some(file(text)), ..Options::default() });
    assert!(fault("{}").contains("at line 1 column 2"), "{}", fault("{}"));
    assert!(fault(r#"{"tokens": []}"#).contains("has no token"));
    let pasted = fault(r#"{"tokens": [{"name": "a", "sha256": "the-token-itself"}]}"#);
    assert!(pasted.contains("at $.tokens[0].sha256") && !pasted.contains("the-token-itself"), "{pasted}");
    let pasted = fault(r#"{"tokens": [{"name": "a", "the-token-itself": 1}]}"#);
    assert!(!pasted.contains("the-token-itself"), "{pasted}");
}

#[test]
fn nothing_but_health_is_told_without_a_token() {
    let server = guarded();
    let mut client = server.client();
    assert_eq!(client.get("/healthz").status, 200);
    assert_eq!(client.get("/readyz").status, 200);
    for path in ["/v1/limiters", "/v1/limiters/api", "/v1/audit", "/v1/events", "/metrics"] {
        let refused = client.get(path);
        assert_eq!(refused.expect(401)["code"], "unauthorized", "{path}");
        assert!(refused.header("www-authenticate").is_some_and(|schemes| schemes.starts_with("Bearer")));
    }
    assert_eq!(client.post("/v1/limiters/api/acquire", &json!({})).status, 401);
    for wrong in ["Bearer wrong", "Bearer ", "Basic d3Jvbmc=", "Basic %%%", "secret", "Digest secret", "Bearer secret2"]
    {
        let mut client = server.client().with("authorization", wrong);
        assert_eq!(client.get("/v1/limiters").status, 401, "{wrong}");
    }
}

#[test]
fn a_token_allows_its_scopes_and_prefixes_alone() {
    let server = guarded();
    let of = |token: &str| server.client().with("authorization", &format!("Bearer {token}"));
    let (mut root, mut reader, mut worker) = (of("secret"), of("reader"), of("worker"));
    let acquire = json!({});
    assert_eq!(root.post("/v1/limiters/api/acquire", &acquire).status, 200);
    assert_eq!(root.post("/v1/limiters/shop/acquire", &json!({ "cost": 1 })).status, 200);
    assert_eq!(worker.post("/v1/limiters/api/acquire", &acquire).status, 200);
    assert_eq!(worker.post("/v1/limiters/shop/acquire", &acquire).expect(403)["code"], "forbidden");
    assert_eq!(reader.post("/v1/limiters/api/acquire", &acquire).status, 403);
    let both = json!({ "limiters": [{ "name": "api" }, { "name": "shop" }], "cost": 1 });
    assert_eq!(worker.post("/v1/together", &both).status, 403);
    assert_eq!(worker.get("/v1/limiters/api").status, 403);
    assert_eq!(reader.get("/v1/limiters/api").status, 200);
    assert_eq!(reader.get("/v1/limiters/shop").status, 403);
    let names = |client: &mut Client| -> Vec<String> {
        let page = client.get("/v1/limiters").expect(200);
        page["limiters"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&mut root), ["api", "both", "mail", "per-user", "shop", "workers"]);
    assert_eq!(names(&mut reader), ["api"]);
    assert!(!reader.get("/metrics").text().contains("shop"));
    // A policy of one's own would be a way around every limit.
    let own = json!({ "policy": { "unlimited": true } });
    assert_eq!(worker.post("/v1/limiters/api/acquire", &own).status, 403);
    for client in [&mut reader, &mut worker] {
        assert_eq!(client.put("/v1/limiters/api/pause", &json!({ "expires_in": 1 })).status, 403);
        assert_eq!(client.put("/v1/limiters/api/override", &json!({ "limit": 9 })).status, 403);
        assert_eq!(client.put("/v1/limiters/api/mode", &json!({ "mode": "shadow" })).status, 403);
        assert_eq!(client.post("/v1/limiters/api/reset", &json!({})).status, 403);
        assert_eq!(client.delete("/v1/limiters/api/pause").status, 403);
        assert_eq!(client.delete("/v1/limiters/api/override").status, 403);
    }
    root.put("/v1/limiters/shop/pause", &json!({ "expires_in": 1, "reason": "why" })).expect(200);
    assert_eq!(reader.get("/v1/audit").expect(200)["entries"], json!([]));
    assert_eq!(root.get("/v1/audit").expect(200)["entries"][0]["who"], "root");
    // A browser sends the token as the password.
    let mut browser = server.client().with("authorization", "Basic YW55OnNlY3JldA==");
    assert_eq!(browser.get("/v1/limiters").status, 200);
}

#[test]
fn a_name_of_another_site_that_leads_here_is_refused() {
    let server = open();
    let port = server.address.port();
    for host in
        ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "localhost.evil.example", "a,localhost"]
    {
        let response = server.client().with("host", host).get("/v1/limiters");
        assert_eq!(response.status, 403, "{host}");
    }
    for host in
        [format!("localhost:{port}"), format!("127.0.0.1:{port}"), "LOCALHOST".to_owned(), format!("[::1]:{port}")]
    {
        assert_eq!(server.client().with("host", &host).get("/v1/limiters").status, 200, "{host}");
    }
    let mut client = server.client();
    client.write(b"GET /v1/limiters HTTP/1.1\r\n\r\n");
    assert_eq!(client.receive().status, 400, "no host");
    let twice = server.client().with("host", "localhost").with("host", "evil.example").get("/v1/limiters");
    assert_eq!(twice.status, 400);
    let named = Running::start(Options { hosts: vec!["limits.example".to_owned()], ..Options::default() });
    assert_eq!(named.client().with("host", "limits.example:443").get("/v1/limiters").status, 200);
}

#[test]
fn a_page_of_another_site_cannot_call() {
    let server = open();
    let own = format!("http://{}", server.address);
    let acquire = |name: &str, value: &str| {
        server.client().with(name, value).post("/v1/limiters/api/acquire", &json!({ "cost": 0 })).status
    };
    for origin in ["http://evil.example", "null", "http://localhost:1", "file://", &format!("{own}.evil.example")] {
        assert_eq!(acquire("origin", origin), 403, "{origin}");
    }
    assert_eq!(acquire("origin", &own), 200);
    for site in ["cross-site", "same-site", "other"] {
        assert_eq!(acquire("sec-fetch-site", site), 403, "{site}");
    }
    assert_eq!((acquire("sec-fetch-site", "same-origin"), acquire("sec-fetch-site", "none")), (200, 200));
    let image =
        server.client().with("sec-fetch-site", "cross-site").with("sec-fetch-mode", "no-cors").get("/v1/limiters");
    assert_eq!(image.status, 403);
    // What a form of another site can send without asking.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let mut client = server.client();
        let body = r#"{"cost":0}"#;
        let head =
            format!("POST /v1/limiters/api/acquire HTTP/1.1\r\nhost: {}\r\ncontent-type: {kind}\r\n", server.address);
        client.write(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes());
        assert_eq!(client.receive().status, 415, "{kind}");
    }
    let preflight = {
        let mut client = server.client().with("origin", "http://evil.example");
        client.send("OPTIONS", "/v1/limiters/api/acquire", None);
        client.receive()
    };
    assert!(preflight.header("access-control-allow-origin").is_none());
}

#[test]
fn every_response_forbids_what_a_page_does_not_need() {
    let server = open();
    for path in ["/v1/limiters", "/nowhere", "/healthz"] {
        let response = server.client().get(path);
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        let policy = response.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    }
}

#[test]
fn a_large_body_is_refused() {
    let server = Running::start(Options { limits: Some(file(LIMITS)), ojs: true, ..Options::default() });
    let mut client = server.client();
    let body = json!({ "share": "x".repeat(1 << 20) });
    assert_eq!(client.post("/v1/limiters/api/acquire", &body).status, 413);
    // Without a length, in chunks.
    let mut client = server.client();
    let head =
        format!("POST /v1/limiters/api/acquire HTTP/1.1\r\nhost: {}\r\ntransfer-encoding: chunked\r\n", server.address);
    client.write(format!("{head}content-type: application/json\r\n\r\n").as_bytes());
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    for _ in 0..17 {
        client.write(chunk.as_bytes());
    }
    assert_eq!(client.receive().status, 413);
    let job = json!({ "type": "test", "args": ["x".repeat(1 << 20)] });
    assert_eq!(server.client().post("/ojs/v1/jobs", &job).status, 413, "a job");
    let form = format!("reason={}", "x".repeat(3 << 19));
    let mut client = server.client();
    let head = format!("POST /ui/limiters/api/pause HTTP/1.1\r\nhost: {}\r\n", server.address);
    let head = format!("{head}content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n", form.len());
    client.write(format!("{head}\r\n{form}").as_bytes());
    assert_eq!(client.receive().status, 413, "a form");
}

#[test]
fn a_deep_body_is_refused() {
    let server = open();
    for deep in ["[".repeat(100_000), r#"{"cost":"#.repeat(100_000)] {
        let mut client = server.client();
        let head = format!("POST /v1/limiters/api/acquire HTTP/1.1\r\nhost: {}\r\n", server.address);
        client.write(
            format!("{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{deep}", deep.len()).as_bytes(),
        );
        assert_eq!(client.receive().status, 400);
    }
    assert_eq!(server.client().get("/healthz").status, 200);
}

#[test]
fn a_slow_client_is_dropped() {
    let client_timeout = Duration::from_millis(100);
    let server = Running::start(Options { client_timeout, ojs: true, ..Options::default() });
    let mut silent = server.client();
    assert!(silent.try_receive().is_none_or(|response| response.status == 408), "no head");
    let mut slow = server.client();
    slow.write(b"POST /v1/limiters/api/acquire HTTP/1.1\r\nhost: loc");
    assert!(slow.try_receive().is_none_or(|response| response.status == 408), "half a head");
    let paths = [
        ("/v1/limiters/api/acquire", "application/json"),
        ("/ojs/v1/jobs", "application/openjobspec+json"),
        ("/ui/limiters/api/pause", "application/x-www-form-urlencoded"),
    ];
    for (path, kind) in paths {
        let mut slow = server.client();
        let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n");
        slow.write(format!("{head}content-length: 10\r\n\r\n{{").as_bytes());
        assert_eq!(slow.receive().status, 408, "half a body: {path}");
    }
}

#[test]
fn a_client_of_grpc_that_is_not_there_is_dropped() {
    let grpc = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let options = Options { grpc, client_timeout: Duration::from_millis(100), ..Options::default() };
    let server = Running::start(options);
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let settings = [&preface[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat();
    // It answers no ping, and the last one has announced a message that does not come.
    let headers = [&settings[..], &[0, 0, 1, 1, 4, 0, 0, 0, 1, 0x83]].concat();
    for said in [&b""[..], preface, &settings, &headers] {
        let mut stream = TcpStream::connect(server.grpc.expect("an address")).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out");
        stream.write_all(said).expect("what it says");
        match stream.read_to_end(&mut Vec::new()) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{said:?}"),
        }
    }
}

#[test]
fn beyond_the_bound_only_health_is_told() {
    let server = Running::start(Options { max_connections: 3, ..Options::default() });
    let mut held: Vec<Client> = (0..3).map(|_| server.client()).collect();
    for client in &mut held {
        assert_eq!(client.get("/healthz").status, 200);
    }
    for path in ["/healthz", "/readyz"] {
        let answer = server.client().get(path);
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")), "{path}");
    }
    let refused = server.client().get("/v1/limiters");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.expect(503)["code"], "busy");
    for client in &mut held {
        assert_eq!(client.get("/v1/limiters").status, 200, "those go on");
    }
    drop(held.pop());
    until("its place is free", || server.client().get("/v1/limiters").status == 200);
}

#[test]
fn an_answer_has_no_secret() {
    let redis = Store::redis().url.unwrap().replace("redis://", "redis://someone:hunter2@");
    let server = Running::start(Options { redis: Some(redis), limits: Some(file(LIMITS)), ..Options::default() });
    let mut client = server.client();
    for path in ["/readyz", "/metrics", "/v1/limiters"] {
        let text = client.get(path).text();
        assert!(!text.contains("hunter2") && !text.contains("someone"), "{text}");
    }
    let text = client.post("/v1/limiters/api/acquire", &json!({})).text();
    assert!(!text.contains("hunter2") && !text.contains("someone"), "{text}");
    let url = "redis://someone:hunter2@host:port".to_owned();
    assert!(!failure(Options { redis: Some(url), ..Options::default() }).contains("hunter2"));
}

/// The lists of scanners: files that others leave open, and ways out of a folder.
#[test]
fn a_scan_finds_nothing() {
    let server = open();
    let mut client = server.client();
    for path in [
        "/.git/config",
        "/.env",
        "/etc/passwd",
        "/../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/admin",
        "/admin/",
        "/phpinfo.php",
        "/index.php?page=../../etc/passwd",
        "/server-status",
        "/actuator/env",
        "/wp-login.php",
        "/cgi-bin/test-cgi",
        "/debug/pprof/",
        "/metrics/",
        "/v1",
        "/v1/",
        "/v1/limiters/",
        "/v1/limiters/api/",
        "/v1//limiters",
        "/v1/limiters/api/acquire/",
        "/static/../Cargo.toml",
        "//evil.example",
        "/v1/limiters/..%2f..%2fapi",
        "/openapi.json/",
        "/config.json",
        "/limits.json",
        "/tokens.json",
        "/~root",
    ] {
        let response = client.get(path);
        assert!((400..500).contains(&response.status), "{path}: {} {}", response.status, response.text());
    }
    for method in ["TRACE", "CONNECT", "PROPFIND", "DELETE", "PATCH", "FOO"] {
        let mut client = server.client();
        client.send(method, "/v1/limiters", None);
        let response = client.receive();
        assert!((400..500).contains(&response.status), "{method}: {}", response.status);
    }
}

/// Requests that are wrong somewhere: each gets a 4xx or the end of its connection, and the server goes on.
#[test]
fn malformed_requests_do_no_harm() {
    let server = open();
    let mut seed = [0; 32];
    seed[..16].copy_from_slice(&u128::from_str_radix(&paddlegate::random_word().unwrap(), 16).unwrap().to_le_bytes());
    if let Ok(given) = std::env::var("PADDLEGATE_SEED") {
        seed[..16].copy_from_slice(&u128::from_str_radix(&given, 16).unwrap().to_le_bytes());
    }
    println!("PADDLEGATE_SEED={:032x}", u128::from_le_bytes(seed[..16].try_into().unwrap()));
    let config = Config { cases: cases(10_000), failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let good = format!(
        "POST /v1/limiters/nobody/acquire HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n\
         {{\"cost\":1}}",
        server.address
    );
    let change = (0..good.len(), prop::option::of(any::<u8>()), 0..good.len());
    let sent = prop::collection::vec(change, 1..4);
    let run = runner.run(&sent, |changes| {
        let mut bytes = good.clone().into_bytes();
        for (at, byte, cut) in changes {
            let at = at.min(bytes.len().saturating_sub(1));
            match byte {
                Some(byte) => bytes[at] = byte,
                None => drop(bytes.drain(at..(at + cut % 8).min(bytes.len()))),
            }
        }
        let mut client = server.client();
        client.write(&bytes);
        client.end();
        // The limiter does not exist, so nothing that reaches it is granted.
        if let Some(response) = client.try_receive() {
            prop_assert!(
                (400..500).contains(&response.status),
                "{} {:?}",
                response.status,
                String::from_utf8_lossy(&bytes)
            );
        }
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
    until("the server answers", || server.client().get("/healthz").status == 200);
}

#[test]
fn a_token_is_known_only_as_a_whole() {
    let server = guarded();
    let hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    let long = "secret".repeat(1_000);
    let parts = ["s", "secre", "secrets", "SECRET", "Secret", "root", "secret\u{e9}", "*", "\"secret\"", hash, &long];
    for guess in parts {
        for scheme in ["Bearer", "bearer"] {
            let mut client = server.client().with("authorization", &format!("{scheme} {guess}"));
            assert_eq!(client.get("/v1/limiters").status, 401, "{scheme} {}", &guess[..1]);
        }
    }
    let mut twice = server.client().with("authorization", "Bearer wrong").with("authorization", "Bearer secret");
    assert_eq!(twice.get("/v1/limiters").status, 401, "the first one counts");
    assert_eq!(server.client().with("authorization", "bearer secret").get("/v1/limiters").status, 200);
    assert_eq!(server.client().get("/v1/limiters?token=secret&access_token=secret").status, 401, "never in an address");
    let mut cookie = server.client().with("cookie", "token=secret; authorization=Bearer%20secret");
    assert_eq!(cookie.get("/v1/limiters").status, 401);
}

/// Names, passwords and paths that scanners try.
#[test]
fn a_scan_with_guessed_passwords_lets_nobody_in() {
    use base64::Engine;
    let server = guarded();
    let guesses = [
        "admin:admin",
        "admin:",
        "root:root",
        "root:toor",
        ":",
        "admin:password",
        "paddlegate:paddlegate",
        "' or 1=1--:x",
    ];
    let encoded = guesses.map(|guess| format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(guess)));
    let bearers = [
        "Bearer admin",
        "Bearer null",
        "Bearer undefined",
        "Bearer eyJhbGciOiJub25lIn0.e30.",
        "Negotiate YQ==",
        "Basic",
    ];
    let paths = [
        "/",
        "/ui/limiters",
        "/ui/limiters/api",
        "/ui/changes",
        "/ui/events",
        "/v1/limiters",
        "/v1/limiters/api",
        "/v1/limiters/api/statistics",
        "/v1/limiters/api/history",
        "/v1/limiters/api/most-refused",
        "/v1/audit",
        "/v1/events",
        "/metrics",
        "/ojs/v1/health",
        "/ojs/v1/rate-limits",
        "/ojs/manifest",
        "/v1/limiters/../limiters",
        "/v1/limiters/api;a=b",
        "/V1/limiters",
        "/v1/limiters%00",
    ];
    for authorization in encoded.iter().map(String::as_str).chain(bearers) {
        for path in paths {
            for method in ["GET", "POST", "PUT", "DELETE", "OPTIONS"] {
                let mut client =
                    server.client().with("authorization", authorization).with("x-original-url", "/healthz");
                client.send(method, path, None);
                let status = client.receive().status;
                assert!((300..500).contains(&status), "{authorization} {method} {path}: {status}");
            }
        }
    }
    let mut root = server.client().with("authorization", "Bearer secret");
    assert_eq!(root.get("/v1/audit").expect(200)["entries"], json!([]), "nothing was changed");
    assert_eq!(root.get("/v1/limiters/api/statistics").expect(200)["granted"], 0, "nothing was used");
}

#[test]
fn a_request_of_two_lengths_is_one_request() {
    let server = open();
    let inner = "GET /v1/limiters HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let body = format!("{{}}{inner}");
    let head = "POST /v1/limiters/api/peek HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    for lengths in [
        format!("content-length: 2\r\ncontent-length: {}\r\n", body.len()),
        format!("content-length: 2, {}\r\n", body.len()),
        "content-length: +2\r\n".to_owned(),
        "content-length: 2\r\ntransfer-encoding: identity\r\n".to_owned(),
        "content-length: 2\r\ntransfer-encoding: chunked, identity\r\n".to_owned(),
        "content-length: 2\r\ntransfer-encoding : chunked\r\n".to_owned(),
    ] {
        let mut client = server.client();
        client.write(format!("{head}{lengths}\r\n{body}").as_bytes());
        client.end();
        let answered = std::iter::from_fn(|| client.try_receive()).collect::<Vec<_>>();
        assert!(answered.iter().all(|it| (400..500).contains(&it.status)), "{lengths} {answered:?}");
        assert!(answered.len() <= 1, "{lengths} {answered:?}");
    }
    // With both, the chunks count; what follows them is no part of the body.
    let mut client = server.client();
    let both = "content-length: 2\r\ntransfer-encoding: chunked\r\n";
    client.write(format!("{head}{both}\r\n2\r\n{{}}\r\n0\r\n\r\n").as_bytes());
    assert_eq!(client.receive().status, 200);
    // A server that sees an end before it has answered does not answer.
    client.end();
    assert!(client.try_receive().is_none(), "one answer to one request");
}

#[test]
fn a_large_head_is_refused() {
    let server = open();
    let long = server.client().with("x-long", &"x".repeat(100_000)).get("/healthz");
    assert_eq!(long.status, 431);
    let mut many = server.client();
    for i in 0..100 {
        many = many.with(&format!("x-{i}"), "1");
    }
    assert_eq!(many.get("/healthz").status, 431);
    let path = format!("/v1/limiters/{}", "x".repeat(100_000));
    let mut client = server.client();
    client.send("GET", &path, None);
    assert!(client.try_receive().is_none_or(|response| (400..500).contains(&response.status)));
    assert_eq!(server.client().get("/healthz").status, 200);
}

#[test]
fn a_client_that_reads_nothing_is_dropped() {
    let options = Options { max_connections: 1, client_timeout: Duration::from_millis(200), ..Options::default() };
    let server = Running::start(options);
    let mut greedy = server.client();
    // More answers than the buffers of both sides hold: it stays open until the server ends it.
    for _ in 0..400 {
        greedy.send("GET", "/openapi.json", None);
    }
    until("its place is free again", || server.client().get("/v1/limiters").status == 200);
    drop(greedy);
}

#[test]
fn metrics_are_read_while_clients_have_all_connections() {
    let metrics = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    // Nobody is dropped meanwhile.
    let client_timeout = Duration::from_secs(300);
    let server = Running::start(Options { max_connections: 2, metrics, client_timeout, ..Options::default() });
    let _held: Vec<Client> = (0..4).map(|_| server.client()).collect();
    for path in ["/metrics", "/healthz", "/readyz"].repeat(2) {
        assert_eq!(Client::connect(server.metrics.expect("an address")).get(path).status, 200, "{path}");
    }
}

#[test]
fn a_token_that_is_taken_away_ends_its_streams() {
    let path = tokens();
    let options = Options { limits: Some(file(LIMITS)), tokens: Some(path.clone()), ..Options::default() };
    let server = Running::start(options);
    let mut root = server.client().with("authorization", "Bearer secret");
    root.post("/v1/limiters/api/acquire", &json!({})).expect(200);
    let mut streams = ["/v1/events", "/ui/live"].map(|path| {
        let mut reader = server.client().with("authorization", "Bearer reader");
        reader.send("GET", path, None);
        assert_eq!(reader.line().as_deref(), Some("HTTP/1.1 200 OK"));
        reader
    });
    let without = std::fs::read_to_string(&path).unwrap().replace("3d0941964a", "0000000000");
    std::fs::write(&path, without).unwrap();
    server.app.reload().unwrap();
    root.put("/v1/limiters/api/pause", &json!({ "expires_in": 1 })).expect(200);
    for reader in &mut streams {
        loop {
            match reader.line() {
                None => break,
                Some(line) if line == "0" => break,
                Some(line) => assert!(!line.contains("pause"), "{line}"),
            }
        }
    }
    assert_eq!(server.client().with("authorization", "Bearer reader").get("/v1/events").status, 401);
}

#[test]
fn metrics_may_have_an_address_of_their_own() {
    let metrics = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let options = Options { limits: Some(file(LIMITS)), metrics, ..Options::default() };
    let server = Running::start(options);
    let mut client = server.client();
    assert_eq!(client.get("/metrics").status, 404);
    let mut metrics = Client::connect(server.metrics.expect("an address"));
    assert_eq!(metrics.get("/metrics").status, 200);
    assert_eq!(metrics.get("/v1/limiters").status, 404);
    assert_eq!(Client::connect(server.metrics.unwrap()).with("host", "evil.example").get("/metrics").status, 403);
}
