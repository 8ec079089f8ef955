//! Composes the scripts of plain calls, one for each shape of a policy: the pieces for the kinds of its limits, in their order.
//!
//! The rule of a limit is in `limits/NAME.lua`, once: it stands in a block of each script here, and is the body of a function of
//! the whole script. See `plain/state.lua`.

use once_cell::race::OnceBox;

use crate::engine::script::Script;

/// The shape of calls that acquire a lease.
pub(crate) const LEASE: &str = "c";
/// The shape of calls that release one.
pub(crate) const RELEASE: &str = "r";

/// A file of `plain` or `limits`, and its text.
type Piece = (&'static str, &'static str);

macro_rules! piece {
    ($file:literal) => {
        ($file, include_str!(concat!("../", $file)))
    };
}

/// What a piece is instead, which tests change.
type Edit<'a> = &'a dyn Fn(&'static str, &'static str) -> String;

/// A script of plain calls; each is made once in a process.
struct Composed {
    shape: String,
    script: Script,
    next: OnceBox<Self>,
}

/// Returns the script of plain calls to limits of a shape: a letter for each, `m` meter, `b` bucket, `w` window, and `p` behind them
/// if the calls have a permit.
pub(crate) fn script(shape: &str) -> &'static Script {
    // A list without a lock, which a fork could leave locked; a program has few shapes.
    static FIRST: OnceBox<Composed> = OnceBox::new();
    let mut link = &FIRST;
    loop {
        let composed = link.get_or_init(|| {
            let script = Script::new(compose(shape, &|_, text| text.into()).into());
            Composed { shape: shape.into(), script, next: OnceBox::new() }.into()
        });
        if composed.shape == shape {
            return &composed.script;
        }
        link = &composed.next;
    }
}

/// Returns the text that `EVAL` sends for plain calls of a shape, of pieces that may be others.
#[must_use]
pub fn compose(shape: &str, edit: Edit<'_>) -> String {
    let piece = |(file, text): Piece| code(&edit(file, text));
    let state = piece(piece!("engine/plain/state.lua"));
    match shape {
        LEASE => {
            let names = "local units, id, server_time = ARGV[5], ARGV[6], ARGV[7]\n";
            let rule = piece(piece!("limits/concurrency.lua"));
            return [names, &state, &piece(piece!("engine/plain/lease.lua")).replace(RULE, &rule)].concat();
        }
        RELEASE => {
            let names = "local id, granted_at, server_time = ARGV[5], ARGV[6], ARGV[7]\n";
            return [names, &state, &piece(piece!("engine/plain/release.lua"))].concat();
        }
        _ => {}
    }
    let kinds = shape.trim_end_matches('p');
    let (has_permit, limits) = (kinds != shape, kinds.len());
    let (mut checks, mut entries, mut levels, mut logs) = (String::new(), String::new(), 0, 0);
    for (i, kind) in kinds.bytes().enumerate() {
        let (at, units) = (3 + 3 * i, 3 + 3 * limits + i);
        let (a, b, c) = (at, at + 1, at + 2);
        let (number, names, frame, rule) = if kind == b'w' {
            logs += 1;
            let names = format!("local log, lifetime, units = KEYS[{}], ARGV[{c}], ARGV[{units}] + 0", logs + 1);
            entries += &numbered(&block(&names, &piece(piece!("engine/plain/entries.lua"))), logs);
            checks += &numbered("local length_N, live_N\n", logs);
            let names = format!("local log, limit, interval = KEYS[{}], ARGV[{a}] + 0, ARGV[{b}] + 0", logs + 1);
            (logs, names, piece!("engine/plain/window.lua"), piece!("limits/window.lua"))
        } else {
            levels += 1;
            let (names, frame, rule) = match kind {
                b'b' => ("limit, interval, offset", piece!("engine/plain/bucket.lua"), piece!("limits/bucket.lua")),
                _ => ("capacity, leak, scale", piece!("engine/plain/meter.lua"), piece!("limits/leaky.lua")),
            };
            let names = format!("local {names} = ARGV[{a}] + 0, ARGV[{b}] + 0, ARGV[{c}] + 0");
            (levels, names, frame, rule)
        };
        // A limit from which a call takes nothing does not delay the call.
        let names = format!("{names}\nlocal change = ARGV[{units}] + 0\nlocal cost = change > 0 and change or nil");
        let body = piece(frame).replace(RULE, &piece(rule)) + &piece(piece!("engine/plain/decided.lua"));
        checks += &numbered(&block(&names, &body), number);
    }
    let (more, refusal, grant) = (3 + 4 * limits, piece!("engine/plain/refusal.lua"), piece!("engine/plain/grant.lua"));
    let (permit, time) = if has_permit {
        let words = format!("ARGV[{more}], ARGV[{}], ARGV[{}] + 0", more + 1, more + 2);
        let names = format!("local permit, charge, settle_within, permits = {words}, KEYS[{}]", logs + 2);
        (block(&names, &piece(piece!("engine/plain/permit.lua"))), more + 3)
    } else {
        (String::new(), more)
    };
    let names = format!("local server_time, windows, is_refused, longest_reset = ARGV[{time}], '', false, 0\n");
    [names, state, checks, piece(refusal), permit, entries, piece(grant)].concat()
}

/// Returns a block of Lua with names of its own.
fn block(names: &str, body: &str) -> String {
    format!("do\n{names}\n{body}end\n")
}

/// Returns a text whose names that end with `_N` have this number.
fn numbered(text: &str, number: usize) -> String {
    text.replace("_N", &format!("_{number}"))
}

/// The place of the rule of a limit.
const RULE: &str = "-- RULE\n";

/// Returns a piece without its comments, and without what is for the whole script alone.
fn code(text: &str) -> String {
    let (mut code, mut is_full) = (String::new(), false);
    for line in text.lines() {
        match line.trim_start() {
            "-- FULL" => is_full = true,
            "-- END" => is_full = false,
            other if is_full || other.is_empty() || other.starts_with("--") && other != "-- RULE" => {}
            _ => code.extend([line, "\n"]),
        }
    }
    code
}
