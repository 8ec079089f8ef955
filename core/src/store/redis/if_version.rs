//! Changes on the condition that the limiter has a known version.

use super::call::{Call, Expects};
use super::guard::Stopped;
use super::reply::garbled;
use super::wire::Value;
use crate::base::error::Result;
use crate::engine::script::Script;
use crate::model::operation::Answer;
use crate::verbs::admin::runtime_state;

impl Call {
    /// Returns this change on the condition that the limiter has one of the versions. `stopped` gets another version.
    pub(crate) fn if_version(self, versions: &[u64], stopped: &Stopped) -> Result<Self> {
        let slot = self.slot();
        let versions: Vec<String> = versions.iter().map(|version| format!("{version},")).collect();
        let versions = versions.concat();
        let script = Script::if_version();
        let command = self.command.guarded(script, &[], &[versions.as_bytes()])?;
        let mut call = Self::with_slot(slot, command, expects(stopped.clone()));
        call.script = script;
        Ok(call)
    }
}

/// Returns what such a change expects. The answer is of no interest when the version was another one.
fn expects(stopped: Stopped) -> Expects {
    Expects::Reply(Box::new(move |reply| match reply {
        Value::Array(items) => match items.as_slice() {
            [Value::Integer(-1), Value::Text(version)] => {
                let _ = stopped.set(version.clone().into());
                Ok(Answer::Reset)
            }
            items => runtime_state(items).map(|state| Answer::RuntimeState(Box::new(state))),
        },
        Value::Integer(_) => Ok(Answer::Reset),
        _ => Err(garbled()),
    }))
}
