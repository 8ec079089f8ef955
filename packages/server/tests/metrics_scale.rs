//! The metrics of many limiters: what a scrape asks of Redis, and how much of it the server holds at once. A program of its own,
//! because it counts the commands of the whole Redis.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use paddlegate::{Limit, Paddlegate, Policy, Request};
use serde_json::json;
use support::{Running, Store, unique, until};

const LIMITERS: usize = 3_000;

/// The most bytes of a part of the body: 64 KiB and the lines of one limiter.
const CHUNK: usize = 72 << 10;

/// Returns how often each command was called, also by scripts.
fn commands(url: &str) -> BTreeMap<String, u64> {
    let address = url.trim_start_matches("redis://").split('/').next().expect("an address");
    let mut stream = BufReader::new(TcpStream::connect(address).expect("a connection"));
    stream.get_mut().write_all(b"INFO commandstats\r\n").expect("sent");
    let mut line = String::new();
    stream.read_line(&mut line).expect("a length");
    let mut text = vec![0; line[1..].trim().parse().expect("a number")];
    stream.read_exact(&mut text).expect("a text");
    let text = String::from_utf8(text).expect("text");
    let called = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
    };
    text.lines().filter_map(called).collect()
}

/// Reads the parts of the body of `/metrics`.
fn parts(server: &Running) -> Vec<Vec<u8>> {
    let mut stream = BufReader::new(TcpStream::connect(server.address).expect("a connection"));
    stream.get_ref().set_read_timeout(Some(Duration::from_secs(120))).expect("a timeout");
    let request = format!("GET /metrics HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", server.address);
    stream.get_mut().write_all(request.as_bytes()).expect("sent");
    let mut lines = Vec::new();
    while lines.last().is_none_or(|line: &String| !line.trim().is_empty()) {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).expect("a line") > 0, "{lines:?}");
        lines.push(line);
    }
    assert!(
        lines[0].contains("200") && lines.iter().any(|line| line.trim() == "transfer-encoding: chunked"),
        "{lines:?}"
    );
    let mut parts = Vec::new();
    loop {
        let mut length = String::new();
        stream.read_line(&mut length).expect("a length");
        let mut part = vec![0; usize::from_str_radix(length.trim(), 16).expect("a number")];
        stream.read_exact(&mut part).expect("a part");
        stream.read_line(&mut String::new()).expect("the end of a part");
        if part.is_empty() {
            return parts;
        }
        parts.push(part);
    }
}

#[test]
fn a_scrape_asks_little_of_redis_and_is_sent_in_parts() {
    // A database of its own: other tests leave limiters without statistics, which a scrape asks for too.
    let mut store = Store::redis();
    let server = store.url.map(|url| url.split('/').take(3).collect::<Vec<_>>().join("/"));
    store.url = server.map(|url| format!("{url}/63"));
    let url = store.url.as_deref().expect("a url");
    let names: Vec<String> = (0..LIMITERS).map(|i| unique(&format!("scale{i}-"))).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let pg = Paddlegate::open(url, Some(Duration::from_secs(60))).expect("a store");
    runtime.block_on(async {
        let calls = names.iter().map(|name| {
            let policy =
                Policy::new([Limit::bucket(7, Duration::from_secs(86_400)).expect("a limit")]).expect("a policy");
            let limiter = pg.limiter(name, policy).expect("a limiter");
            async move { limiter.try_acquire_async(Request::cost(2)).await.expect("a decision").allowed() }
        });
        assert!(futures_util::future::join_all(calls).await.into_iter().all(|allowed| allowed));
    });
    pg.close();
    let scripts = |commands: &BTreeMap<String, u64>| {
        ["eval", "evalsha"].iter().map(|name| commands.get(*name).copied().unwrap_or(0)).sum::<u64>()
    };
    let without = scripts(&commands(url));
    let server = Running::start(paddlegate_server::Options {
        redis: store.url.clone(),
        timeout: Some(Duration::from_secs(60)),
        ..paddlegate_server::Options::default()
    });
    server.client().put(&format!("/v1/limiters/{}/override", names[0]), &json!({ "limit": 5 })).expect(200);
    // A look each minute at no more limiters than this.
    until("the first look is over", || scripts(&commands(url)) >= without + 2_000);
    assert!(
        scripts(&commands(url)) <= without + 2_100,
        "and the override, and those that say that they load the script"
    );
    let (before, parts, after) = (commands(url), parts(&server), commands(url));

    let longest = parts.iter().map(Vec::len).max().expect("parts");
    assert!(longest <= CHUNK && parts.len() > 10, "longest={longest} parts={}", parts.len());
    assert!(parts.iter().all(|part| part.ends_with(b"\n")), "a part ends with a whole line");
    let text = String::from_utf8(parts.concat()).expect("text");
    let mut lines = BTreeSet::new();
    let twice: Vec<&str> = text.lines().filter(|line| !lines.insert(*line)).collect();
    assert_eq!(twice, Vec::<&str>::new(), "each sample once");
    for name in &names {
        let granted = format!("paddlegate_requests_total{{limiter=\"{name}\",result=\"granted\"}} 1");
        let units = format!("paddlegate_units_total{{limiter=\"{name}\",phase=\"actual\"}} 2");
        let left = if *name == names[0] { 3 } else { 5 };
        let left = format!("paddlegate_remaining{{limiter=\"{name}\",limit=\"bucket\"}} {left}");
        let waits = format!("paddlegate_wait_seconds_bucket{{limiter=\"{name}\",le=\"+Inf\"}} 0");
        assert!([&granted, &units, &left, &waits].iter().all(|line| lines.contains(line.as_str())), "{name}");
    }
    assert!(!text.contains(&format!("paddlegate_wait_seconds_bucket{{limiter=\"{}\",le=\"0.001\"}}", names[0])));
    assert!(lines.contains(
        format!("paddlegate_override_info{{limiter=\"{}\",limit=\"bucket\",amount=\"5\"}} 1", names[0]).as_str()
    ));

    let limiters = text.lines().filter(|line| line.starts_with("paddlegate_lapsed_total{")).count() as u64;
    let called = |name: &str| after.get(name).copied().unwrap_or(0) - before.get(name).copied().unwrap_or(0);
    let overridden = text.lines().filter(|line| line.starts_with("paddlegate_override_info{")).count() as u64;
    let scripts = scripts(&after) - scripts(&before);
    assert!(limiters >= LIMITERS as u64 && overridden >= 1);
    // A script for the state of each; one more where an override rules; and those that load the script, or say that they must.
    assert!(scripts <= limiters + overridden + 300, "scripts={scripts} limiters={limiters}");
    // Of a keyed limiter there is a hash for each part of its keys.
    let keyed =
        text.lines().filter(|line| line.starts_with("paddlegate_lapsed_total{") && line.contains("keyed=\"true\""));
    // A late call is made again, as on a machine that does much else.
    let hashes = limiters + 16 * keyed.count() as u64 + 300;
    assert!((limiters..=hashes).contains(&called("hgetall")), "hashes={} limiters={limiters}", called("hgetall"));
}
