//! The mutants, beside the texts that they change.

mod acquire;
mod admin;
mod arithmetic;
mod call;
mod learn;
mod limits;
mod log;
mod permit;
mod plain;
mod queue;

/// One small mistake: what is wrong, the text it replaces, which its file has once, and by what. None of them is another
/// way to write the same.
pub type Mutant = (&'static str, &'static str, &'static str);

/// A file of the script.
pub struct Lua {
    pub file: &'static str,
    pub text: &'static str,
    pub mutants: &'static [Mutant],
}

macro_rules! lua {
    ($file:literal, $mutants:expr) => {
        Lua { file: $file, text: include_str!(concat!("../../../src/", $file)), mutants: $mutants }
    };
}

/// In the order in which `engine/script.rs` joins them.
pub const FILES: [Lua; 16] = [
    lua!("limits/bucket.lua", arithmetic::BUCKET),
    lua!("limits/concurrency.lua", arithmetic::CONCURRENCY),
    lua!("limits/leaky.lua", arithmetic::LEAKY),
    lua!("limits/window.lua", arithmetic::WINDOW),
    lua!("engine/state.lua", call::REDIS),
    lua!("engine/overrides.lua", call::CONTROL),
    lua!("engine/fast_path.lua", plain::PLAIN),
    lua!("engine/limits.lua", limits::LIMITS),
    lua!("engine/transaction/acquire.lua", limits::WITHOUT_ID),
    lua!("engine/transaction/queue.lua", queue::QUEUE),
    lua!("engine/transaction/permit.lua", permit::PERMIT),
    lua!("engine/transaction/enter.lua", acquire::ACQUIRE),
    lua!("engine/transaction/log.lua", log::LOG),
    lua!("engine/transaction/admin.lua", admin::ADMIN),
    lua!("engine/transaction/upstream.lua", learn::LEARN),
    lua!("engine/dispatch.lua", &[]),
];
