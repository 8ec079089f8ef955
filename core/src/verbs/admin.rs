//! `pause`, `block`, `resume`, `override` and `state`: changes for all processes. The script's part is in
//! `engine/transaction/admin.lua`.

use super::numbers::{decode_limit, encode_deadline, encode_limit};
use super::prelude::*;
use crate::model::limit::Limit;
use crate::model::mode::Mode;
use crate::model::overrides::{AdminCommand, LimitOverride, RuntimeState};
use crate::model::policy::tag;

pub(crate) struct Admin<'a> {
    pub(crate) command: AdminCommand<'a>,
    /// Whether a command that sets something adds the limiter to the list of limiters.
    pub(crate) is_listed: bool,
}

impl Verb for Admin<'_> {
    fn without_state(&self, _: &Policy) -> Result<Answer> {
        Err(Error::internal("a command works on the state of the name"))
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        Ok(Answer::RuntimeState(held.transaction("")?.admin(&self.command)?.into()))
    }

    fn encode(&self, _: &Policy, listed: Listed) -> Words {
        let words = match self.command {
            AdminCommand::Get => Default::default(),
            AdminCommand::Pause(until) => [encode_deadline(Some(until)), String::new(), String::new()],
            AdminCommand::Block(until) => [format!("!{}", encode_deadline(Some(until))), String::new(), String::new()],
            AdminCommand::Resume => ["0".to_owned(), String::new(), String::new()],
            AdminCommand::Override { changes, expires } => {
                let changes = changes.iter().map(|change| match change {
                    // An override replaces one of another kind.
                    LimitOverride::Set(limit) => format!("-{},{}={}", limit.label(), tag(limit), encode_limit(limit)),
                    LimitOverride::Remove(label) => format!("-{label}"),
                    LimitOverride::RemoveAll => "-".to_owned(),
                    LimitOverride::Mode(mode) => format!("M={}", mode.letter()),
                    LimitOverride::RemoveMode => "-M".to_owned(),
                });
                [String::new(), encode_deadline(expires), changes.collect::<Vec<_>>().join(",")]
            }
        };
        let mut control = Words::new("control", KeySet::WithId, [String::new()]);
        control.is_listed = listed.is_some();
        control.more.extend(words.into_iter().chain(listed.map(|(_, entry)| entry)));
        control
    }

    fn decoder(&self, _: &Arc<Policy>) -> Decoder {
        Decoder::of(|items| runtime_state(items).map(|state| Answer::RuntimeState(state.into())))
    }

    fn leaves_unknown(&self) -> bool {
        matches!(self.command, AdminCommand::Get)
    }

    fn listing(&self) -> Listing {
        let sets = !matches!(self.command, AdminCommand::Get | AdminCommand::Resume);
        if sets && self.is_listed { Listing::Now } else { Listing::Never }
    }
}

pub(crate) fn runtime_state(items: &[Value]) -> Result<RuntimeState> {
    let [version, pause, expires, overrides, learned, in_use, Value::Text(mode), block] = items else {
        return Err(garbled());
    };
    let number = |value| integer(value).and_then(|number| u64::try_from(number).ok()).ok_or_else(garbled);
    let limits = |value: &Value| -> Result<Vec<Limit>> {
        let Value::Text(text) = value else { return Err(garbled()) };
        let text = std::str::from_utf8(text).map_err(|_| garbled())?;
        text.split(',').filter(|word| !word.is_empty()).map(|word| decode_limit(word).ok_or_else(garbled)).collect()
    };
    let span = |span: u64| (span > 0).then_some(Micros(span));
    Ok(RuntimeState {
        version: number(version)?,
        in_use: number(in_use)? == 1,
        paused_for: span(number(pause)?),
        blocked_for: span(number(block)?),
        mode: overriding_mode(mode)?,
        overrides: limits(overrides)?,
        expires_after: span(number(expires)?),
        learned: limits(learned)?,
    }
    .sorted())
}

/// Decodes the override of the mode.
pub(crate) fn overriding_mode(letter: &[u8]) -> Result<Option<Mode>> {
    match letter {
        b"" => Ok(None),
        [letter] => Ok([Mode::Shadow, Mode::Enforce].into_iter().find(|mode| mode.letter() == char::from(*letter))),
        _ => Err(garbled()),
    }
}
