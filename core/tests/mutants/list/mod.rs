//! The mutants, beside the texts that they change.

mod acquire;
mod arithmetic;
mod call;
mod learn;
mod limits;
mod plain;
mod queue;
mod verb;

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
pub const FILES: [Lua; 12] = [
    lua!("limits/bucket.lua", arithmetic::BUCKET),
    lua!("limits/concurrency.lua", arithmetic::CONCURRENCY),
    lua!("limits/leaky.lua", arithmetic::LEAKY),
    lua!("limits/window.lua", arithmetic::WINDOW),
    lua!("engine/state.lua", call::REDIS),
    lua!("engine/overrides.lua", call::CONTROL),
    lua!("engine/fast_path.lua", plain::PLAIN),
    lua!("engine/limits.lua", limits::LIMITS),
    lua!("engine/transaction/queue.lua", queue::QUEUE),
    lua!("engine/transaction/enter.lua", verb::VERB),
    lua!("engine/transaction/upstream.lua", learn::LEARN),
    lua!("engine/dispatch.lua", acquire::ACQUIRE),
];
