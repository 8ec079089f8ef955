//! Checks limiters with keys and limiters without statistics.

use paddlegate::{AdminCommand, Answer, Limiter, Operation, Request};

use super::{NOW, limit};
use crate::script::Script;
use crate::support::set_clock;
use crate::support::workload::Form;

pub(super) fn keys_and_statistics(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(paddlegate::Kind::Leaky, 5)]);
    script.raw.command("FLUSHALL");
    let of = |form: Form, script: &Script| form.of(script.limiter().clone());
    let (alice, uncounted) = (of(Form::Keyed, &script), of(Form::Uncounted, &script));
    let bob = alice.with_key("bob").map_err(|error| error.to_string())?;
    if is_in_use(&mut script, &bob)? {
        return Err("a key is in use that no call has used".to_owned());
    }
    for limiter in [&alice, &bob, &uncounted] {
        script.on(limiter, Operation::Acquire(Request::cost(2)), NOW)?;
        script.on(limiter, Operation::Acquire(Request::cost(5)), NOW)?;
    }
    let counted: Vec<String> =
        script.raw.keys(":m:").iter().map(|key| String::from_utf8_lossy(key).into_owned()).collect();
    if counted.is_empty() || counted.iter().any(|key| !key.contains("}k:m:mutant")) {
        return Err(format!("other statistics than those of all keys: {counted:?}"));
    }
    let carol = alice.with_key("carol").map_err(|error| error.to_string())?;
    for i in 0..64 {
        // One of these keys has the hash tag of `alice`, so that the statistics of its hash tag exist.
        let other = carol.with_key(&format!("carol-{i}")).map_err(|error| error.to_string())?;
        if is_in_use(&mut script, &other)? {
            return Err(format!("a key is in use because another one was used: {i}"));
        }
    }
    if !is_in_use(&mut script, &alice)? {
        return Err("a used key is not in use".to_owned());
    }
    Ok(())
}

fn is_in_use(script: &mut Script, limiter: &Limiter) -> Result<bool, String> {
    set_clock(NOW);
    match script.on(limiter, Operation::Admin { command: AdminCommand::Get }, NOW)? {
        Answer::RuntimeState(state) => Ok(state.in_use),
        other => Err(format!("no runtime state: {other:?}")),
    }
}
