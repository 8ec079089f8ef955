//! Checks what the script keeps of extended permits.

use paddlegate::{Answer, Kind, Micros, Operation, Request};

use super::expiry::check_expiry;
use super::{NOW, key, limit};
use crate::script::Script;
use crate::support::raw::Reply;

const SECOND: u64 = 1_000_000;

pub(super) fn estimate(script: &mut Script, request: Request<'_>, at: u64) -> Result<String, String> {
    script.decision(Operation::Acquire(request), at)?.permit.ok_or("no permit".to_owned())
}

pub(super) fn extend(script: &mut Script, permit: &str, at: u64) -> Result<(), String> {
    match script.answer(Operation::Extend { permit, units: 1.into() }, at)? {
        Answer::Extension(extension) if extension.allowed() => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

fn charges(script: &mut Script) -> Result<i64, String> {
    let key = key(script, ":e:");
    match script.raw.execute(&[&b"HLEN"[..], &key]) {
        // One is the cursor, and each has its times beside its units.
        Reply::Integer(fields) => Ok((fields - 1) / 2),
        other => Err(format!("{other:?}")),
    }
}

pub(super) fn expiry(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Points, 1_000_000)]);
    let hour = Request::estimate(1).settle_within(Micros(3_600 * SECOND));
    for (request, expected) in [(Request::estimate(1), 300_000), (hour, 3_600_000), (Request::estimate(1), 3_600_000)] {
        let permit = estimate(&mut script, request, NOW)?;
        extend(&mut script, &permit, NOW)?;
        check_expiry(&mut script, ":e:", expected, "an extension")?;
    }
    if charges(&mut script)? != 3 {
        return Err("not three charges".to_owned());
    }
    // Two have lapsed.
    let late = NOW + 300 * SECOND;
    let permit = estimate(&mut script, Request::estimate(1), late)?;
    extend(&mut script, &permit, late)?;
    match charges(&mut script)? {
        2 => Ok(()),
        other => Err(format!("{other} charges")),
    }
}

/// Checks that those which have lapsed are removed from a hash that a walk does not read at once, a few by each call.
pub(super) fn lapsed(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Points, 1_000_000)]);
    let mut at = NOW;
    for (count, most) in [(700, 700), (300, 301)] {
        for _ in 0..count {
            let permit = estimate(&mut script, Request::estimate(1), at)?;
            extend(&mut script, &permit, at)?;
        }
        let found = charges(&mut script)?;
        if found > most || found < count {
            return Err(format!("{found} charges after {count} extensions"));
        }
        at += 300 * SECOND;
    }
    Ok(())
}

/// Checks that a value of another program stops the call before its first write.
pub(super) fn foreign(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Points, 1_000_000)]);
    let permit = estimate(&mut script, Request::estimate(1), NOW)?;
    extend(&mut script, &permit, NOW)?;
    let (permits, extensions) = (key(&mut script, ":p:"), key(&mut script, ":e:"));
    let other = estimate(&mut script, Request::estimate(1), NOW + 1)?;
    script.raw.execute(&[&b"SET"[..], &extensions, b"foreign"]);
    let before = script.raw.execute(&[&b"ZRANGE"[..], &permits, b"0", b"-1"]);
    match script.run(Operation::Extend { permit: &other, units: 1.into() }, NOW + 1) {
        Reply::Error(_) => {}
        other => return Err(format!("{other:?} with a foreign value")),
    }
    if script.raw.execute(&[&b"ZRANGE"[..], &permits, b"0", b"-1"]) != before {
        return Err("the permit was changed".to_owned());
    }
    Ok(())
}
