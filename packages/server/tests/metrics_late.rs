//! A scrape while the connection to Redis breaks: what was on its way is read again. A program of its own, because it has a database
//! of its own.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::{Running, Store, unique, until};
use paddlegate::{Paddlegate, Request};

/// A way to the server that breaks the next connection on which there is a call of scripts, once for each time that it is told to.
struct Breaking {
    address: SocketAddr,
    breaks: Arc<AtomicBool>,
}

impl Breaking {
    fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let breaks = Arc::<AtomicBool>::default();
        let of_threads = breaks.clone();
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let server = TcpStream::connect(server).expect("the server");
                let (answers, asker) = (server.try_clone().expect("a stream"), client.try_clone().expect("a stream"));
                thread::spawn(move || carry(answers, asker, |_| true));
                let breaks = of_threads.clone();
                thread::spawn(move || {
                    carry(client, server, |bytes| {
                        let is_script = bytes.windows(7).any(|word| word == b"EVALSHA");
                        !(is_script && breaks.swap(false, Ordering::SeqCst))
                    });
                });
            }
        });
        Self { address, breaks }
    }
}

/// Carries bytes for as long as they pass, then ends both directions.
fn carry(mut from: TcpStream, mut to: TcpStream, passes: impl Fn(&[u8]) -> bool) {
    let mut bytes = [0; 4096];
    while let Ok(count) = from.read(&mut bytes) {
        if count == 0 || !passes(&bytes[..count]) || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[test]
fn a_scrape_reads_again_what_a_broken_connection_has_lost() {
    let url = Store::redis().url.expect("a url");
    let address = url.trim_start_matches("redis://").split('/').next().expect("an address").to_owned();
    let server: SocketAddr = address.parse().expect("an address");
    let way = Breaking::before(server);
    let prefix = unique("late");
    let pg = Paddlegate::open(&format!("redis://{address}/11"), Some(Duration::from_secs(60))).expect("a store");
    let names: Vec<String> = (0..40).map(|i| format!("{prefix}{i}")).collect();
    for name in &names {
        pg.window(name, 5, Duration::from_secs(86_400))
            .expect("a limiter")
            .try_acquire(Request::cost(1))
            .expect("a decision");
    }
    let running = Running::start(paddlegate_server::Options {
        redis: Some(format!("redis://{}/11", way.address)),
        timeout: Some(Duration::from_secs(60)),
        ..paddlegate_server::Options::default()
    });
    let mut client = running.client();
    let mut scrape = || client.get("/metrics").text();
    // Redis then knows the scripts.
    until("all are there", || names.iter().all(|name| scrape().contains(&format!("\"{name}\""))));
    for round in 0..5 {
        way.breaks.store(true, Ordering::SeqCst);
        let text = scrape();
        assert!(!way.breaks.load(Ordering::SeqCst), "round {round}: nothing was lost");
        assert!(text.contains("\npaddlegate_up 1\n"), "round {round}: {text}");
        for name in &names {
            let left = format!("paddlegate_remaining{{limiter=\"{name}\",limit=\"window\"}} 4\n");
            assert!(text.contains(&left), "round {round}: {name}");
        }
    }
}
