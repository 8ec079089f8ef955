//! Lists the mutants of each file of the script.

macro_rules! lua {
    ($file:literal, $mutants:expr) => {
        Lua { file: $file, text: include_str!(concat!("../../../src/", $file)), mutants: $mutants }
    };
}

/// The body of a rule as a function.
macro_rules! function {
    ($file:literal, $head:literal, $results:literal, $mutants:expr) => {
        Lua {
            file: $file,
            text: concat!(
                "local function ",
                $head,
                "\n",
                include_str!(concat!("../../../src/", $file)),
                "return ",
                $results,
                "\nend\n"
            ),
            mutants: $mutants,
        }
    };
}

mod admin;
mod advance;
mod arithmetic;
mod enter;
mod extend;
mod fast_path;
mod hosts;
mod inspect;
mod join;
pub mod leases;
mod limits;
mod log;
mod permit;
pub mod plain;
mod queue;
mod quota;
mod ready;
mod recording;
mod refund;
mod refusal;
mod register;
mod state;
pub mod together;
mod upstream;

/// One small mistake: a description, the text to replace, which its file contains once, and the replacement.
/// No mutant is equivalent to the original.
pub type Mutant = (&'static str, &'static str, &'static str);

/// A file of the script, and its mutants.
pub struct Lua {
    pub file: &'static str,
    pub text: &'static str,
    pub mutants: &'static [Mutant],
}

/// The files, in the order in which `engine/script.rs` concatenates them.
pub const FILES: [Lua; 31] = [
    lua!("engine/one_limiter.lua", &[]),
    lua!("engine/register.lua", register::REGISTER),
    lua!("engine/state.lua", state::STATE),
    function!(
        "limits/bucket.lua",
        "bucket(count, held, own, largest, limit, interval, offset, last, now, cost, change)",
        "count, wait, remaining, reset",
        arithmetic::BUCKET
    ),
    function!(
        "limits/concurrency.lua",
        "concurrency(leases, live, limit, timeout, now, cost, change)",
        "live, wait, remaining, reset",
        arithmetic::CONCURRENCY
    ),
    function!(
        "limits/leaky.lua",
        "leaky(level, held, held_scale, own, largest, capacity, leak, scale, last, now, cost, change)",
        "level, wait, remaining, reset",
        arithmetic::LEAKY
    ),
    lua!("limits/quota.lua", quota::QUOTA),
    function!(
        "limits/window.lua",
        "window(log, length, limit, interval, now, cost, change, most)",
        "live, wait, remaining, reset",
        arithmetic::WINDOW
    ),
    lua!("engine/overrides.lua", state::OVERRIDES),
    lua!("engine/fast_path.lua", fast_path::FAST_PATH),
    lua!("engine/limits.lua", limits::LIMITS),
    lua!("engine/describe.lua", limits::DESCRIBE),
    lua!("engine/transaction/refusal.lua", refusal::REFUSAL),
    lua!("engine/recording.lua", recording::RECORDING),
    lua!("engine/transaction/acquire.lua", limits::WITHOUT_ID),
    lua!("engine/transaction/queue.lua", queue::QUEUE),
    lua!("engine/transaction/hosts.lua", hosts::HOSTS),
    lua!("engine/transaction/advance.lua", advance::ADVANCE),
    lua!("engine/transaction/permit.lua", permit::PERMIT),
    lua!("engine/transaction/refund.lua", refund::REFUND),
    lua!("engine/transaction/join.lua", join::JOIN),
    lua!("engine/transaction/enter.lua", enter::ENTER),
    lua!("engine/transaction/held_up.lua", &[]),
    lua!("engine/transaction/ready.lua", ready::READY),
    lua!("engine/transaction/log.lua", log::LOG),
    lua!("engine/transaction/admin.lua", admin::ADMIN),
    lua!("engine/transaction/record.lua", recording::RECORD),
    lua!("engine/transaction/extend.lua", extend::EXTEND),
    lua!("engine/transaction/upstream.lua", upstream::UPSTREAM),
    lua!("engine/transaction/inspect.lua", inspect::INSPECT),
    lua!("engine/dispatch.lua", &[]),
];
