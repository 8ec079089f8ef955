//! A proxy that loses or delays what a server says.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

/// What happens to the replies of the server.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Fault {
    None = 0,
    /// They are thrown away and the connection is closed.
    Reset = 1,
    /// They are thrown away and the connection stays.
    Swallow = 2,
    /// They come a byte at a time.
    Dribble = 3,
}

pub(crate) struct Proxy {
    pub(crate) port: u16,
    fault: Arc<AtomicU8>,
}

impl Proxy {
    pub(crate) fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let fault = Arc::new(AtomicU8::new(0));
        let shared = fault.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(upstream) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let (mut from, mut to) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
                thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
                let fault = shared.clone();
                thread::spawn(move || answer(upstream, client, &fault));
            }
        });
        Self { port, fault }
    }

    pub(crate) fn set(&self, fault: Fault) {
        self.fault.store(fault as u8, Ordering::SeqCst);
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

fn answer(mut upstream: TcpStream, mut client: TcpStream, fault: &AtomicU8) {
    let mut buffer = [0; 4096];
    while let Ok(size @ 1..) = upstream.read(&mut buffer) {
        match fault.load(Ordering::SeqCst) {
            0 => client.write_all(&buffer[..size]).unwrap_or_default(),
            1 => break,
            2 => {}
            _ => dribble(&mut client, &buffer[..size]),
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}

#[allow(clippy::disallowed_methods)]
fn dribble(client: &mut TcpStream, bytes: &[u8]) {
    for byte in bytes {
        if client.write_all(&[*byte]).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
}
