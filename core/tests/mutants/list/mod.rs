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

/// In the order in which `store/redis/script.rs` joins them.
pub const FILES: [Lua; 16] = [
    lua!("limit/bucket.lua", arithmetic::BUCKET),
    lua!("limit/concurrency.lua", arithmetic::CONCURRENCY),
    lua!("limit/leaky.lua", arithmetic::LEAKY),
    lua!("limit/window.lua", arithmetic::WINDOW),
    lua!("store/redis.lua", call::REDIS),
    lua!("control.lua", call::CONTROL),
    lua!("store/plain.lua", plain::PLAIN),
    lua!("store/limits.lua", limits::LIMITS),
    lua!("store/without_id.lua", limits::WITHOUT_ID),
    lua!("queue.lua", queue::QUEUE),
    lua!("store/permit.lua", permit::PERMIT),
    lua!("store/verb.lua", acquire::ACQUIRE),
    lua!("store/log.lua", log::LOG),
    lua!("store/admin.lua", admin::ADMIN),
    lua!("learn.lua", learn::LEARN),
    lua!("store/acquire.lua", &[]),
];
