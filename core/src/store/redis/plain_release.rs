//! `PlainRelease`: the release of a lease while no call waits in the queue, decided by a script of plain calls.

use std::sync::Arc;

use super::call::Call;
use super::command::Command;
use super::keys::Keys;
use super::reply::garbled;
use super::wire::{Value, header, word, word_of_number};
use crate::base::charge::Charge;
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::engine::compose;
use crate::model::permit::{Permit, Settlement};

/// A release, and what the whole script needs when it was not plain.
pub(super) struct PlainRelease {
    keys: Arc<Keys>,
    id: String,
    granted_at: u64,
    charged: Charge,
    at: Option<Micros>,
}

impl Call {
    /// Creates a release that a script of plain calls decides; `None` for one that needs the whole script.
    pub(crate) fn plain_release(keys: &Arc<Keys>, permit: &Permit<'_>, at: Option<Micros>) -> Option<Self> {
        let (arguments, _) = keys.plain(false).filter(|(_, limits)| limits.grants_leases())?;
        let script = compose::script(compose::RELEASE);
        let mut bytes = Vec::with_capacity(arguments.bytes.len() + 192);
        header(&mut bytes, 2 + arguments.words + 2 + usize::from(at.is_some()));
        word(&mut bytes, b"EVALSHA");
        word(&mut bytes, script.digest.as_bytes());
        bytes.extend_from_slice(&arguments.bytes);
        word(&mut bytes, permit.id.as_bytes());
        word_of_number(&mut bytes, permit.granted_at);
        if let Some(at) = at {
            word_of_number(&mut bytes, at.0);
        }
        let Permit { id, granted_at, charged } = *permit;
        let release = PlainRelease { keys: keys.clone(), id: id.to_owned(), granted_at, charged, at };
        Some(Self::of_plain_release(script, keys.slot(), Command::new(bytes), release))
    }
}

impl PlainRelease {
    /// Returns the call with the whole script.
    pub(super) fn whole(&self) -> Call {
        let Self { keys, id, granted_at, charged, at } = self;
        Call::release(keys, &Permit { id, granted_at: *granted_at, charged: *charged }, *at)
    }

    /// Returns the answer; `None` when the state was not plain.
    pub(super) fn answer(&self, reply: &Value) -> Option<Result<Settlement>> {
        match reply {
            Value::Integer(0) => {
                self.keys.was_not_plain();
                None
            }
            Value::Array(items) => Some(self.released(items).ok_or_else(garbled)),
            _ => Some(Err(garbled())),
        }
    }

    fn released(&self, items: &[Value]) -> Option<Settlement> {
        let [Value::Integer(1), Value::Integer(now)] = items else { return None };
        self.keys.note_room();
        self.keys.count_held(u64::try_from(*now).ok()?.saturating_sub(self.granted_at));
        Some(Settlement::Released)
    }
}
