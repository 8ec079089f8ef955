//! The one script: the arithmetic of every kind, the reading of the call, and the ways through it, joined when this crate is compiled.

use std::sync::OnceLock;

/// The text that `EVAL` sends.
pub const SCRIPT: &str = concat!(
    include_str!("../../limit/bucket.lua"),
    include_str!("../../limit/concurrency.lua"),
    include_str!("../../limit/leaky.lua"),
    include_str!("../../limit/window.lua"),
    include_str!("../redis.lua"),
    include_str!("../../control.lua"),
    include_str!("../plain.lua"),
    include_str!("../limits.lua"),
    include_str!("../without_id.lua"),
    include_str!("../../queue.lua"),
    include_str!("../permit.lua"),
    include_str!("../verb.lua"),
    include_str!("../log.lua"),
    include_str!("../admin.lua"),
    include_str!("../../learn.lua"),
    include_str!("../acquire.lua"),
);

/// The digest that `EVALSHA` sends.
pub(crate) fn digest() -> &'static str {
    static DIGEST: OnceLock<String> = OnceLock::new();
    DIGEST.get_or_init(|| sha1_smol::Sha1::from(SCRIPT).hexdigest())
}
