//! The Lua script: the rules of every kind, the parsing of a call and the handlers, joined at compile time.

use std::borrow::Cow;

use once_cell::race::OnceBox;

#[cfg(feature = "redis-rs")]
use crate::engine::guard;
#[cfg(all(feature = "redis-rs", feature = "aio"))]
use crate::engine::if_version;
use crate::engine::together;

/// The body of a rule as a function.
macro_rules! function {
    ($head:literal, $body:expr, $results:literal) => {
        concat!("local function ", $head, "\n", $body, "return ", $results, "\nend\n")
    };
}

/// The text that `EVAL` sends.
pub const SCRIPT: &str = concat!(
    include_str!("one_limiter.lua"),
    include_str!("register.lua"),
    include_str!("state.lua"),
    function!(
        "bucket(count, held, own, largest, limit, interval, offset, last, now, cost, change)",
        include_str!("../limits/bucket.lua"),
        "count, wait, remaining, reset"
    ),
    function!(
        "concurrency(leases, live, limit, timeout, now, cost, change)",
        include_str!("../limits/concurrency.lua"),
        "live, wait, remaining, reset"
    ),
    function!(
        "leaky(level, held, held_scale, own, largest, capacity, leak, scale, last, now, cost, change)",
        include_str!("../limits/leaky.lua"),
        "level, wait, remaining, reset"
    ),
    include_str!("../limits/quota.lua"),
    function!(
        "window(log, length, limit, interval, now, cost, change, most)",
        include_str!("../limits/window.lua"),
        "live, wait, remaining, reset"
    ),
    include_str!("overrides.lua"),
    include_str!("fast_path.lua"),
    include_str!("limits.lua"),
    include_str!("describe.lua"),
    include_str!("transaction/refusal.lua"),
    include_str!("recording.lua"),
    include_str!("transaction/acquire.lua"),
    include_str!("transaction/queue.lua"),
    include_str!("transaction/hosts.lua"),
    include_str!("transaction/advance.lua"),
    include_str!("transaction/permit.lua"),
    include_str!("transaction/refund.lua"),
    include_str!("transaction/join.lua"),
    include_str!("transaction/enter.lua"),
    include_str!("transaction/held_up.lua"),
    include_str!("transaction/ready.lua"),
    include_str!("transaction/log.lua"),
    include_str!("transaction/admin.lua"),
    include_str!("transaction/record.lua"),
    include_str!("transaction/extend.lua"),
    include_str!("transaction/upstream.lua"),
    include_str!("transaction/inspect.lua"),
    include_str!("dispatch.lua"),
);

/// Returns the text that `EVAL` sends for a call to several limiters.
pub fn script_of_several() -> &'static str {
    &Script::of_several().text
}

/// The head of the function that is the script of one limiter.
const DECIDE: &str = "local function decide(KEYS, ARGV, dry_run, MAX_REMOVALS, MAX_EXPIRED)";

/// A script and the digest that `EVALSHA` sends.
pub(crate) struct Script {
    pub(crate) text: Cow<'static, str>,
    pub(crate) digest: String,
}

impl Script {
    /// Returns the script of calls to one limiter.
    pub(crate) fn of_one() -> &'static Self {
        static SCRIPT_OF_ONE: OnceBox<Script> = OnceBox::new();
        SCRIPT_OF_ONE.get_or_init(|| Self::new(SCRIPT.into()).into())
    }

    /// Returns the script of calls to several limiters, in which the script of one limiter is a function.
    pub(crate) fn of_several() -> &'static Self {
        static SCRIPT_OF_SEVERAL: OnceBox<Script> = OnceBox::new();
        SCRIPT_OF_SEVERAL.get_or_init(|| {
            let (_, body) = SCRIPT.split_once("= false, 1000, 500\n").unwrap_or_default();
            Self::new(format!("{}\n{body}end\n{}", DECIDE, together::SCRIPT).into()).into()
        })
    }

    /// Returns the script in which the functions of a caller run around a call to several limiters.
    #[cfg(feature = "redis-rs")]
    pub(crate) fn guarded(before: &str, after: &str) -> Self {
        let of_several = &Self::of_several().text;
        let (decide, together) = of_several.split_at(of_several.len() - together::SCRIPT.len());
        let function = |name: &str, body: &str| format!("local function {name}(KEYS, ARGV)\n{body}\nend\n");
        let functions = [function("together", together), function("before", before), function("after", after)];
        Self::new(format!("{decide}{}{}", functions.concat(), guard::SCRIPT).into())
    }

    /// Returns the script of changes on the condition that the limiter has a known version.
    #[cfg(all(feature = "redis-rs", feature = "aio"))]
    pub(crate) fn if_version() -> &'static Self {
        static SCRIPT_IF_VERSION: OnceBox<Script> = OnceBox::new();
        SCRIPT_IF_VERSION.get_or_init(|| {
            let of_several = &Self::of_several().text;
            let decide = &of_several[..of_several.len() - together::SCRIPT.len()];
            Self::new(format!("{decide}{}", if_version::SCRIPT).into()).into()
        })
    }

    pub(super) fn new(text: Cow<'static, str>) -> Self {
        let digest = sha1_smol::Sha1::from(&*text).hexdigest();
        Self { text, digest }
    }
}
