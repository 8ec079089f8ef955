//! Calls over TLS while signals come all the time.
#![allow(clippy::disallowed_methods)] // A peer that does not read is waited for in real time.
#![allow(clippy::disallowed_types)] // One thread makes the certificate, and the process does not fork.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::*;
use crate::client::paddlegate::Paddlegate;
use crate::client::prepared::Prepared;
use crate::model::operation::Operation;
use crate::model::request::Request;
use crate::store::redis::config::RedisConfig;
use crate::store::redis::tally::Tally;

const PATIENT: Duration = Duration::from_secs(30);

/// Both configurations, with a certificate made for this run.
fn configs() -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    static MADE: OnceLock<(Arc<ClientConfig>, Arc<ServerConfig>)> = OnceLock::new();
    MADE.get_or_init(|| {
        let dir = std::env::temp_dir().join(format!("paddlegate-tls-unit-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let script = "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=test-ca 2>/dev/null &&
            openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost 2>/dev/null &&
            printf 'subjectAltName=DNS:localhost\\nbasicConstraints=CA:FALSE\\n' > ext &&
            openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt -days 2 -extfile ext 2>/dev/null";
        assert!(Command::new("sh").args(["-c", script]).current_dir(&dir).status().unwrap().success(), "openssl");
        let certificate = |name: &str| CertificateDer::from_pem_file(dir.join(name)).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate("ca.crt")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let client = client.unwrap().with_root_certificates(roots).with_no_client_auth();
        let server = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let key = PrivateKeyDer::from_pem_file(dir.join("server.key")).unwrap();
        let server = server.unwrap().with_no_client_auth().with_single_cert(vec![certificate("server.crt")], key);
        std::fs::remove_dir_all(dir).unwrap();
        (Arc::new(client), Arc::new(server.unwrap()))
    })
    .clone()
}

/// A connection and the server's end of it.
fn connected() -> (Socket, StreamOwned<ServerConnection, UnixStream>) {
    let (client, server) = configs();
    let (near, far) = UnixStream::pair().unwrap();
    let far = thread::spawn(move || {
        let mut far = StreamOwned::new(ServerConnection::new(server).unwrap(), far);
        far.conn.complete_io(&mut far.sock).unwrap();
        far
    });
    let client = ClientConnection::new(client, ServerName::try_from("localhost").unwrap()).unwrap();
    let mut socket = Socket::interrupted(near, client, monotonic() + PATIENT);
    // Its last words of the handshake go with the first write, and the server waits for them.
    Waiter { deadline: monotonic() + PATIENT, interrupt: SignalHandling::Ignore }
        .write(&mut socket, &mut &b""[..])
        .unwrap();
    (socket, far.join().unwrap())
}

fn call() -> Call {
    let limiter = Paddlegate::open("redis://localhost", None).unwrap().leaky("tls", 5, PATIENT).unwrap();
    match limiter.prepare(Operation::Acquire(Request::cost(1))) {
        Ok(Prepared::Call(call)) => call,
        other => panic!("no call: {other:?}"),
    }
}

#[test]
fn what_is_written_arrives_once_however_often_it_is_interrupted() {
    let (mut socket, mut far) = connected();
    let bytes: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8).collect();
    let sent = bytes.clone();
    let near = thread::spawn(move || {
        let mut waiter = Waiter { deadline: monotonic() + PATIENT, interrupt: SignalHandling::Ignore };
        waiter.write(&mut socket, &mut &sent[..]).unwrap();
        socket
    });
    let mut received = vec![0; bytes.len()];
    far.read_exact(&mut received).unwrap();
    assert!(received == bytes);
    drop(near.join().unwrap());
    assert_eq!(far.read(&mut [0; 16]).unwrap_or_default(), 0, "nothing came twice");
}

#[test]
fn a_write_that_nobody_reads_ends_at_the_deadline() {
    let (mut socket, _far) = connected();
    let mut waiter = Waiter { deadline: monotonic() + Duration::from_millis(100), interrupt: SignalHandling::Ignore };
    let error = waiter.write(&mut socket, &mut &vec![0; 10_000_000][..]).unwrap_err();
    assert!(!error.may_have_counted(), "{error}");
}

#[test]
fn a_call_that_a_signal_ends_while_it_is_written_is_not_sent_again() {
    let (socket, _far) = connected();
    let location = RedisConfig::parse("redis://localhost").unwrap();
    let session = ConnectionState::new(&location, location.nodes[0].clone());
    let connection = Connection { session, socket, used_at: monotonic() };
    let mut waiter = Waiter { deadline: monotonic() + PATIENT, interrupt: SignalHandling::Ask(&|| true) };
    match connection.exchange(call(), &mut waiter) {
        Err(Failure::Lost(error)) => assert_eq!((error.cause(), error.may_have_counted()), (Cause::Signal, false)),
        Err(Failure::Unsent(_, error)) => panic!("it would be sent again: {error}"),
        Ok((_, outcome)) => panic!("{outcome:?}"),
    }
}

#[test]
fn counts_that_were_written_in_full_are_not_sent_again() {
    let path = std::env::temp_dir().join(format!("paddlegate-counts-{}", std::process::id()));
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let location = RedisConfig::parse(&format!("unix://{}", path.display())).unwrap();
    let node = location.nodes[0].clone();
    let socket = Socket::connect(&location, &node, monotonic() + PATIENT).unwrap();
    let connection = Connection { session: ConnectionState::new(&location, node), socket, used_at: monotonic() };
    // The system takes a few of the reports, since nobody reads them, but not all.
    let (all, long) = (Arc::default(), "w".repeat(60_000));
    let tallies: Vec<_> = (0..100).map(|slot| Arc::new(Tally::new(slot, "key".to_owned(), &all))).collect();
    for tally in &tallies {
        tally.count(Micros(1), Some(&long), 1, false, None);
    }
    let call = call().with_reports(all.all(None));
    let mut waiter = Waiter { deadline: monotonic() + Duration::from_secs(4), interrupt: SignalHandling::Ignore };
    let Err(Failure::Unsent(..)) = connection.exchange(call, &mut waiter) else { panic!("it was sent") };
    let again = all.all(None).len();
    assert!(again > 0 && again < 100, "{again}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_connection_with_an_unexpected_reply_is_not_reused() {
    let (mut socket, mut far) = connected();
    // The tickets for later sessions, which have come with the handshake, are no replies.
    assert!(!socket.is_stale() && !socket.has_unread());
    far.write_all(b":1\r\n").unwrap();
    far.flush().unwrap();
    let until = monotonic() + PATIENT;
    while !socket.is_stale() {
        assert!(monotonic() < until, "not seen");
    }
    assert!(socket.has_unread(), "also when it was taken from the system already");
}

#[test]
fn a_connection_that_was_idle_for_long_is_not_used_again() {
    let path = std::env::temp_dir().join(format!("paddlegate-idle-{}", std::process::id()));
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let location = RedisConfig::parse(&format!("unix://{}", path.display())).unwrap();
    let (node, pool) = (&location.nodes[0], Pool::default());
    let idle = |time: Duration| {
        let socket = Socket::connect(&location, node, monotonic() + PATIENT).unwrap();
        let used_at = monotonic().checked_sub(time).expect("a machine that has run for so long");
        pool.put(node, Connection { session: ConnectionState::new(&location, node.clone()), socket, used_at });
    };
    let count = || locked(&pool.unused).get(node).map_or(0, Vec::len);
    idle(Duration::ZERO);
    assert!(pool.take(node).is_some());
    idle(MAX_IDLE);
    assert!(pool.take(node).is_none() && count() == 0);
    idle(MAX_IDLE);
    idle(Duration::ZERO);
    assert_eq!(count(), 1, "the old one makes room");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn sockets_are_kept_alive() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let location = RedisConfig::parse(&format!("redis://{}", listener.local_addr().unwrap())).unwrap();
    let socket = Socket::connect(&location, &location.nodes[0], monotonic() + PATIENT).unwrap();
    assert_eq!(rustix::net::sockopt::socket_keepalive(&socket), Ok(true));
    assert_eq!(rustix::net::sockopt::tcp_keepidle(&socket), Ok(Duration::from_secs(10)));
}
