//! Checks that the history stays small, and that foreign values in it stop nothing.

use paddlegate::{Kind, Operation, Request};

use super::{HOUR, NOW, key, limit};
use crate::script::Script;
use crate::support::raw::Reply;

const MINUTE: u64 = HOUR / 60;

fn acquire(script: &mut Script, at: u64) -> Reply {
    script.run(Operation::Acquire(Request::cost(2)), at)
}

fn field(script: &mut Script, field: &str) -> String {
    let key = key(script, ":m:");
    match script.raw.execute(&[&b"HGET"[..], &key, field.as_bytes()]) {
        Reply::Text(text) => String::from_utf8_lossy(&text).into_owned(),
        other => panic!("{field}: {other:?}"),
    }
}

pub(super) fn size(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Leaky, 1_000)]);
    // An hour of calls in each minute, then two days and more of calls in each hour.
    let minutes = (0..100).chain((2..60).map(|hour| hour * 60));
    for minute in minutes.clone() {
        acquire(&mut script, NOW + minute * MINUTE);
        let lengths = ["minutes", "hours"]
            .map(|name| if minute == 0 { 0 } else { field(&mut script, name).matches(';').count() });
        if lengths[0] > 60 || lengths[1] > 48 {
            return Err(format!("{lengths:?} entries after {minute} minutes"));
        }
    }
    let key = key(&mut script, ":m:");
    match script.raw.execute(&[&b"HLEN"[..], &key]) {
        // granted, units, both of the last minute, minutes and hours
        Reply::Integer(6) => Ok(()),
        other => Err(format!("{other:?} fields")),
    }
}

pub(super) fn damaged(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Leaky, 1_000)]);
    acquire(&mut script, NOW);
    let key = key(&mut script, ":m:");
    let long = format!(";{} 1 1 1 1", NOW / MINUTE).repeat(2_000);
    for (name, count) in
        [("g007", "1"), ("g8", "x"), ("w10:99", "5"), ("minutes", &*long), ("hours", ";1 2;x;;3 1 1 1 -1")]
    {
        script.raw.execute(&[&b"HSET"[..], &key, name.as_bytes(), count.as_bytes()]);
    }
    for minute in 1..3 {
        if let reply @ Reply::Error(_) = acquire(&mut script, NOW + minute * MINUTE) {
            return Err(format!("{reply:?}"));
        }
    }
    let minute = NOW / MINUTE;
    let minutes = field(&mut script, "minutes");
    if minutes == format!(";{} 1 0 0 1;{minute} 1 0 0 1", minute + 1) { Ok(()) } else { Err(minutes) }
}
