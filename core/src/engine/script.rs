//! The Lua script: the rules of every kind, the parsing of a call and the handlers, joined at compile time.

use std::sync::OnceLock;

/// The text that `EVAL` sends.
pub const SCRIPT: &str = concat!(
    include_str!("../limits/bucket.lua"),
    include_str!("../limits/concurrency.lua"),
    include_str!("../limits/leaky.lua"),
    include_str!("../limits/window.lua"),
    include_str!("state.lua"),
    include_str!("overrides.lua"),
    include_str!("fast_path.lua"),
    include_str!("limits.lua"),
    include_str!("transaction/acquire.lua"),
    include_str!("transaction/queue.lua"),
    include_str!("transaction/permit.lua"),
    include_str!("transaction/enter.lua"),
    include_str!("transaction/log.lua"),
    include_str!("transaction/admin.lua"),
    include_str!("transaction/upstream.lua"),
    include_str!("dispatch.lua"),
);

/// Returns the digest that `EVALSHA` sends.
pub(crate) fn digest() -> &'static str {
    static DIGEST: OnceLock<String> = OnceLock::new();
    DIGEST.get_or_init(|| sha1_smol::Sha1::from(SCRIPT).hexdigest())
}
