//! `Link`: a connection to one node; JavaScript owns its socket.

use std::collections::VecDeque;

use paddlegate::Error;
use paddlegate::store::redis::{Address, Completion, ConnectionState};

pub(crate) struct Link {
    pub(crate) id: u32,
    pub(crate) node: Address,
    pub(crate) session: ConnectionState,
    /// Completed calls that did not fit into the rows yet.
    pub(crate) finished: VecDeque<Completion>,
    /// Bytes that did not fit into the output buffer.
    unsent: Vec<u8>,
    pub(crate) broken: Option<Error>,
}

impl Link {
    pub(crate) fn new(id: u32, node: Address, session: ConnectionState) -> Self {
        Self { id, node, session, finished: VecDeque::new(), unsent: Vec::new(), broken: None }
    }

    /// Moves bytes to send into `to_send`. Returns their number.
    pub(crate) fn take_output(&mut self, to_send: &mut [u8]) -> usize {
        let output = self.session.output();
        if self.unsent.is_empty() {
            self.unsent = output;
        } else {
            self.unsent.extend(output);
        }
        let size = self.unsent.len().min(to_send.len());
        to_send[..size].copy_from_slice(&self.unsent[..size]);
        self.unsent.drain(..size);
        size
    }
}
