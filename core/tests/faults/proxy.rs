//! A TCP proxy that drops or delays the replies of a server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// What happens to the replies of the server.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Fault {
    None = 0,
    /// The proxy drops them and closes the connection.
    Reset = 1,
    /// The proxy drops them and keeps the connection open.
    DropReplies = 2,
    /// The proxy sends them one byte at a time.
    SingleBytes = 3,
    /// The proxy drops only the next reply and keeps the connection open.
    DropOneReply = 4,
    /// The proxy keeps them until there is no fault.
    Hold = 5,
}

pub(crate) struct Proxy {
    pub(crate) port: u16,
    fault: Arc<AtomicU8>,
    dead_connections: DeadConnections,
}

/// Marks connections as dead: they stay open, but the proxy forwards no more requests on them.
#[derive(Clone, Default)]
pub(crate) struct DeadConnections {
    opened: Arc<AtomicUsize>,
    dead: Arc<AtomicUsize>,
}

impl DeadConnections {
    /// Marks all connections that are open now as dead.
    pub(crate) fn mark_open_as_dead(&self) {
        self.dead.store(self.opened.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    /// Returns the number of a new connection.
    fn open(&self) -> usize {
        self.opened.fetch_add(1, Ordering::SeqCst)
    }

    fn contains(&self, number: usize) -> bool {
        number < self.dead.load(Ordering::SeqCst)
    }
}

impl Proxy {
    pub(crate) fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let fault = Arc::new(AtomicU8::new(0));
        let (shared, dead_connections) = (fault.clone(), DeadConnections::default());
        let opened = dead_connections.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(upstream) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let (mut from, mut to) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
                let (number, dead_connections) = (opened.open(), opened.clone());
                thread::spawn(move || {
                    let mut buffer = [0; 4_096];
                    while let Ok(size @ 1..) = from.read(&mut buffer) {
                        if !dead_connections.contains(number) && to.write_all(&buffer[..size]).is_err() {
                            break;
                        }
                    }
                    let _ = to.shutdown(Shutdown::Both);
                });
                let fault = shared.clone();
                thread::spawn(move || answer(upstream, client, &fault));
            }
        });
        Self { port, fault, dead_connections }
    }

    pub(crate) fn dead_connections(&self) -> DeadConnections {
        self.dead_connections.clone()
    }

    pub(crate) fn set(&self, fault: Fault) {
        self.fault.store(fault as u8, Ordering::SeqCst);
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

#[allow(clippy::disallowed_methods)]
fn answer(mut upstream: TcpStream, mut client: TcpStream, fault: &AtomicU8) {
    let mut buffer = [0; 4096];
    while let Ok(size @ 1..) = upstream.read(&mut buffer) {
        match fault.load(Ordering::SeqCst) {
            0 => client.write_all(&buffer[..size]).unwrap_or_default(),
            1 => break,
            2 => {}
            4 => fault.store(0, Ordering::SeqCst),
            5 => {
                while fault.load(Ordering::SeqCst) == 5 {
                    thread::sleep(Duration::from_millis(2));
                }
                client.write_all(&buffer[..size]).unwrap_or_default();
            }
            _ => send_single_bytes(&mut client, &buffer[..size]),
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}

#[allow(clippy::disallowed_methods)]
fn send_single_bytes(client: &mut TcpStream, bytes: &[u8]) {
    for byte in bytes {
        if client.write_all(&[*byte]).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
}
