//! Mutants of kinds.

use super::Mutant;

pub const BUCKET: &[Mutant] = &[
    ("bucket: the offset is forgotten", "local elapsed = (now + offset) % interval", "local elapsed = now % interval"),
    (
        "bucket: the first microsecond of an interval belongs to the one before",
        "if now - last > elapsed then",
        "if now - last > elapsed + 1 then",
    ),
    (
        "bucket: the last microsecond is of the next interval",
        "if now - last > elapsed then",
        "if now - last >= elapsed then",
    ),
    ("bucket: counts are never forgotten", "    count = 0\n", "    count = count\n"),
    (
        "bucket: a count is not clamped to a smaller limit",
        "elseif held ~= limit and count > limit then",
        "elseif false then",
    ),
    (
        "bucket: a debt is clamped without a resize",
        "elseif held ~= limit and count > limit then",
        "elseif count > limit then",
    ),
    (
        "bucket: one less than the limit",
        "if cost and count + cost > limit then",
        "if cost and count + cost >= limit then",
    ),
    (
        "bucket: one more than the limit",
        "if cost and count + cost > limit then",
        "if cost and count + cost > limit + 1 then",
    ),
    ("bucket: waits a whole interval", "wait = interval - elapsed", "wait = interval"),
    ("bucket: waits a microsecond less", "wait = interval - elapsed", "wait = interval - elapsed - 1"),
    (
        "bucket: a debt has no end",
        "count = math.max(math.min(count + change, 2 * limit), 0)",
        "count = math.max(count + change, 0)",
    ),
    (
        "bucket: a debt is no more than the limit",
        "count = math.max(math.min(count + change, 2 * limit), 0)",
        "count = math.max(math.min(count + change, limit), 0)",
    ),
    (
        "bucket: more is given back than was taken",
        "count = math.max(math.min(count + change, 2 * limit), 0)",
        "count = math.min(count + change, 2 * limit)",
    ),
    ("bucket: less than nothing is left", "count < limit and limit - count or 0, count", "limit - count, count"),
    (
        "bucket: an untouched bucket has something to reset",
        "count > 0 and interval - elapsed or 0",
        "interval - elapsed",
    ),
    ("bucket: those ahead of many wait for one interval", "if taken > 2 * limit then", "if false then"),
    (
        "bucket: a debt is waited for behind others too",
        "local taken = math.min(count, limit) + cost",
        "local taken = count + cost",
    ),
];

pub const CONCURRENCY: &[Mutant] = &[
    (
        "concurrency: one less than the limit",
        "if cost and live + cost > limit then",
        "if cost and live + cost >= limit then",
    ),
    (
        "concurrency: one more than the limit",
        "if cost and live + cost > limit then",
        "if cost and live + cost > limit + 1 then",
    ),
    (
        "concurrency: whole when the first lease ends",
        "live > 0 and lease(live) - now or 0",
        "live > 0 and lease(1) - now or 0",
    ),
    ("concurrency: the first lease to end decides", "lease(ended) - now or timeout", "lease(1) - now or timeout"),
    (
        "concurrency: one lease more has to end",
        "local ended = live + cost - limit",
        "local ended = live + cost - limit + 1",
    ),
    ("concurrency: waits a microsecond less", "lease(ended) - now or timeout", "lease(ended) - now - 1 or timeout"),
    ("concurrency: those ahead of many wait for nothing", "lease(ended) - now or timeout", "lease(ended) - now or 1"),
    ("concurrency: a look has an end of its own", "elseif change > 0 then", "elseif change >= 0 then"),
    ("concurrency: the longer lease of another is forgotten", "math.max(reset, timeout)", "timeout"),
    ("concurrency: a grant is not counted in what is left", "live, reset = live + change,", "live, reset = live,"),
    (
        "concurrency: less than nothing is left",
        "return live, wait, math.max(limit - live, 0), reset",
        "return live, wait, limit - live, reset",
    ),
];

pub const LEAKY: &[Mutant] = &[
    (
        "leaky: a part of a unit is forgiven at a resize",
        "level = math.ceil(level / held_scale) * 1.0 * scale",
        "level = math.floor(level / held_scale) * 1.0 * scale",
    ),
    ("leaky: another scale is not noticed", "if held_scale ~= scale then", "if false then"),
    (
        "leaky: a level is not clamped to a smaller capacity",
        "if held_capacity ~= capacity and level > full then",
        "if false then",
    ),
    (
        "leaky: a debt is clamped without a resize",
        "if held_capacity ~= capacity and level > full then",
        "if level > full then",
    ),
    (
        "leaky: a level below nothing",
        "level = elapsed < level / leak and level - elapsed * leak or 0",
        "level = level - elapsed * leak",
    ),
    ("leaky: nothing leaks", "level = elapsed < level / leak and level - elapsed * leak or 0", "level = level"),
    (
        "leaky: time runs a little faster",
        "local full, elapsed = capacity * scale, now - last",
        "local full, elapsed = capacity * scale, now - last + 1",
    ),
    (
        "leaky: one less than the capacity",
        "if cost and level + cost * scale > full then",
        "if cost and level + cost * scale >= full then",
    ),
    (
        "leaky: a part more than the capacity",
        "if cost and level + cost * scale > full then",
        "if cost and level + cost * scale > full + scale - 1 then",
    ),
    (
        "leaky: waits a microsecond less",
        "wait = math.ceil((level + cost * scale - full) / leak)",
        "wait = math.floor((level + cost * scale - full) / leak)",
    ),
    (
        "leaky: waits a microsecond more",
        "wait = math.ceil((level + cost * scale - full) / leak)",
        "wait = math.ceil((level + cost * scale - full) / leak) + 1",
    ),
    (
        "leaky: waits as if there were no debt",
        "wait = math.ceil((level + cost * scale - full) / leak)",
        "wait = math.ceil(math.min(level + cost * scale - full, cost * scale) / leak)",
    ),
    (
        "leaky: a debt has no end",
        "level = math.max(math.min(level + change * scale, 2 * full), 0)",
        "level = math.max(level + change * scale, 0)",
    ),
    (
        "leaky: more is given back than was taken",
        "level = math.max(math.min(level + change * scale, 2 * full), 0)",
        "level = math.min(level + change * scale, 2 * full)",
    ),
    (
        "leaky: a part of a unit is already there",
        "math.floor((full - level) / scale)",
        "math.ceil((full - level) / scale)",
    ),
    (
        "leaky: less than nothing is left",
        "level < full and math.floor((full - level) / scale) or 0",
        "math.floor((full - level) / scale)",
    ),
    ("leaky: whole a microsecond early", "math.ceil(level / leak)\nend", "math.floor(level / leak)\nend"),
];

pub const WINDOW: &[Mutant] = &[
    (
        "window: an entry one interval old still counts",
        "local live, step, cutoff = length, 1, now - interval",
        "local live, step, cutoff = length, 1, now - interval - 1",
    ),
    (
        "window: an entry expires a microsecond early",
        "local live, step, cutoff = length, 1, now - interval",
        "local live, step, cutoff = length, 1, now - interval + 1",
    ),
    ("window: closed at the probe", "if at(probe) > cutoff then", "if at(probe) >= cutoff then"),
    ("window: closed in the search", "if at(middle) > cutoff then", "if at(middle) >= cutoff then"),
    ("window: the search stops one late", "local low = probe + 1", "local low = probe + 2"),
    (
        "window: one less than the limit",
        "if cost and live + cost > limit then",
        "if cost and live + cost >= limit then",
    ),
    (
        "window: one more than the limit",
        "if cost and live + cost > limit then",
        "if cost and live + cost > limit + 1 then",
    ),
    ("window: the wrong entry decides", "at(live - expired)", "at(math.max(live - expired - 1, 0))"),
    ("window: the newest entry decides", "at(live - expired)", "at(0)"),
    (
        "window: waits a microsecond less",
        "at(live - expired) + interval - now or",
        "at(live - expired) + interval - now - 1 or",
    ),
    ("window: a look has an end of its own", "elseif change > 0 then", "elseif change >= 0 then"),
    (
        "window: whole when the oldest entry expires",
        "reset = at(0) + interval - now",
        "reset = at(live - 1) + interval - now",
    ),
    ("window: a grant is not counted in what is left", "(wait == 0 and change or 0)", "0"),
    (
        "window: less than nothing is left",
        "math.max(limit - live - (wait == 0 and change or 0), 0)",
        "limit - live - (wait == 0 and change or 0)",
    ),
    (
        "window: those ahead of many wait for one interval",
        "if expired > live and expired > limit then",
        "if false then",
    ),
    (
        "window: a whole limit ahead is an interval more",
        "math.floor((expired - 1) / limit)",
        "math.floor(expired / limit)",
    ),
];
