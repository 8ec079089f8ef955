//! Mutants of the arithmetic of each kind of limit.

use super::Mutant;

pub const BUCKET: &[Mutant] = &[
    ("bucket: the offset is ignored", "(now + offset) % interval", "now % interval"),
    (
        "bucket: the first microsecond of an interval belongs to the one before",
        "if now - last > elapsed then",
        "if now - last > elapsed + 1 then",
    ),
    (
        "bucket: the last microsecond of an interval belongs to the next one",
        "if now - last > elapsed then",
        "if now - last >= elapsed then",
    ),
    ("bucket: a new interval does not clear the count", "  count = 0\n", "  count = count\n"),
    (
        "bucket: a count is not clamped to a smaller limit of another policy",
        "elseif held ~= own then",
        "elseif false then",
    ),
    ("bucket: a debt is clamped without a resize", "elseif held ~= own then", "else"),
    (
        "bucket: a lower limit that rules for a time forgets what was taken",
        "elseif held ~= own then",
        "elseif held ~= limit then",
    ),
    ("bucket: another policy forgets what fits the limit that rules", "2 * largest or largest)", "2 * largest or own)"),
    (
        "bucket: what was taken under a higher limit is clamped as of another policy",
        "held == 4503599627370496 and 2 * largest or largest",
        "largest",
    ),
    (
        "bucket: one unit less than the limit is granted",
        "if cost and count + cost > limit then",
        "if cost and count + cost >= limit then",
    ),
    (
        "bucket: one unit more than the limit is granted",
        "if cost and count + cost > limit then",
        "if cost and count + cost > limit + 1 then",
    ),
    ("bucket: the wait is a whole interval", "wait = interval - elapsed", "wait = interval"),
    ("bucket: the wait is one microsecond too short", "wait = interval - elapsed", "wait = interval - elapsed - 1"),
    (
        "bucket: a debt has no maximum",
        "count = math.max(math.min(count + change, 2 * largest), 0)",
        "count = math.max(count + change, 0)",
    ),
    (
        "bucket: a debt stops at one limit instead of two",
        "count = math.max(math.min(count + change, 2 * largest), 0)",
        "count = math.max(math.min(count + change, largest), 0)",
    ),
    (
        "bucket: a correction makes the count negative",
        "count = math.max(math.min(count + change, 2 * largest), 0)",
        "count = math.min(count + change, 2 * largest)",
    ),
    ("bucket: the remaining units can be negative", "count < limit and limit - count or 0\n", "limit - count\n"),
    ("bucket: an unused bucket has a reset time", "count > 0 and interval - elapsed or 0", "interval - elapsed"),
    ("bucket: the wait behind many units is one interval", "if taken > 2 * limit then", "if false then"),
    (
        "bucket: a debt counts again for a caller behind others",
        "local taken = math.min(count, limit) + cost",
        "local taken = count + cost",
    ),
];

pub const CONCURRENCY: &[Mutant] = &[
    (
        "concurrency: one lease less than the limit is granted",
        "cost and live + cost > limit\n",
        "cost and live + cost >= limit\n",
    ),
    (
        "concurrency: one lease more than the limit is granted",
        "cost and live + cost > limit\n",
        "cost and live + cost > limit + 1\n",
    ),
    ("concurrency: the reset time is the end of the first lease", "leases, '-1', '-1',", "leases, '0', '0',"),
    ("concurrency: the reset is a time", "or 0.5) - now\nend\nif is_full", "or 0.5)\nend\nif is_full"),
    ("concurrency: the wait ends with the last lease", "if ended < live then", "if false then"),
    ("concurrency: the wait needs the end of one lease too many", "live + ended - 1)", "live + ended)"),
    (
        "concurrency: the rank of a lease ignores those that have ended",
        "call('ZCARD', leases) - live + ended - 1",
        "ended - 1",
    ),
    ("concurrency: the wait ends with the first lease", "call('ZCARD', leases) - live + ended - 1", "0"),
    (
        "concurrency: the wait is one microsecond too short",
        "or 0.5) - now\n  end\nend",
        "or 0.5) - now - 1\n  end\nend",
    ),
    (
        "concurrency: the wait behind many callers is one microsecond",
        "ended > live and timeout or reset",
        "ended > live and 1 or reset",
    ),
    ("concurrency: any wait is accepted", " or wait % 1 ~= 0", ""),
    ("concurrency: a fractional expiry is accepted", "reset % 1 ~= 0 or", ""),
    ("concurrency: an expiry above the maximum is accepted", " or reset > 9007199254740992 - now", ""),
    ("concurrency: a peek changes the reset time", "if change > 0 and not is_full", "if not is_full"),
    ("concurrency: a refusal takes a lease", "if change > 0 and not is_full", "if change > 0"),
    ("concurrency: the longer lease of another caller is ignored", "math.max(reset, timeout)", "timeout"),
    (
        "concurrency: a grant does not reduce the remaining leases",
        "live, reset = live + change,",
        "live, reset = live,",
    ),
    ("concurrency: the remaining leases can be negative", "math.max(limit - live, 0)", "limit - live"),
];

pub const LEAKY: &[Mutant] = &[
    (
        "leaky: a resize rounds a fraction of a unit down",
        "level = math.ceil(level / held_scale) * 1.0 * scale",
        "level = math.floor(level / held_scale) * 1.0 * scale",
    ),
    ("leaky: a changed scale is ignored", "  if held_scale ~= scale then", "  if false then"),
    (
        "leaky: a level is not clamped to a smaller capacity of another policy",
        "is_kept and most or math.min(largest, countable) * scale",
        "most",
    ),
    (
        "leaky: a lower limit that rules for a time forgets what was taken",
        "local is_kept = held == own or",
        "local is_kept = held == capacity or",
    ),
    (
        "leaky: what was taken under a higher limit is clamped as of another policy",
        "held == own or held == math.floor(4503599627370496 / held_scale)",
        "held == own",
    ),
    ("leaky: the level can be negative", "if elapsed < level / leak then", "if true then"),
    ("leaky: the level does not drain", "  level = level - elapsed * leak\n", ""),
    (
        "leaky: a throttle loses the fraction by which it was free",
        "if capacity == 1 and elapsed < level / leak + 1 then",
        "if false then",
    ),
    (
        "leaky: a throttle earns starts while it is idle",
        "if capacity == 1 and elapsed < level / leak + 1 then",
        "if capacity == 1 then",
    ),
    (
        "leaky: a throttle earns a start in a whole microsecond",
        "if capacity == 1 and elapsed < level / leak + 1 then",
        "if capacity == 1 and elapsed <= level / leak + 1 then",
    ),
    (
        "leaky: other meters earn a fraction of a microsecond too",
        "if capacity == 1 and elapsed < level / leak + 1 then",
        "if elapsed < level / leak + 1 then",
    ),
    (
        "leaky: the level drains one microsecond too much",
        "capacity * scale, now - last,",
        "capacity * scale, now - last + 1,",
    ),
    (
        "leaky: one unit less than the capacity is granted",
        "if cost and level + cost * scale > full then",
        "if cost and level + cost * scale >= full then",
    ),
    (
        "leaky: a fraction of a unit above the capacity is granted",
        "if cost and level + cost * scale > full then",
        "if cost and level + cost * scale > full + scale - 1 then",
    ),
    (
        "leaky: the wait is one microsecond too short",
        "wait = math.ceil((level + cost * scale - full) / leak)",
        "wait = math.floor((level + cost * scale - full) / leak)",
    ),
    (
        "leaky: the wait is one microsecond too long",
        "wait = math.ceil((level + cost * scale - full) / leak)",
        "wait = math.ceil((level + cost * scale - full) / leak) + 1",
    ),
    (
        "leaky: the wait ignores the debt",
        "wait = math.ceil((level + cost * scale - full) / leak)",
        "wait = math.ceil(math.min(level + cost * scale - full, cost * scale) / leak)",
    ),
    (
        "leaky: a debt has no maximum",
        "level = math.max(math.min(level + change * scale, most) - early, 0)",
        "level = math.max(level + change * scale - early, 0)",
    ),
    (
        "leaky: a correction makes the level negative",
        "level = math.max(math.min(level + change * scale, most) - early, 0)",
        "level = math.min(level + change * scale, most) - early",
    ),
    (
        "leaky: the remaining units are rounded up",
        "math.floor((full - level) / scale)",
        "math.ceil((full - level) / scale)",
    ),
    (
        "leaky: the remaining units can be negative",
        "level < full and math.floor((full - level) / scale) or 0",
        "math.floor((full - level) / scale)",
    ),
    (
        "leaky: the reset time is one microsecond too short",
        "or 0, math.ceil(level / leak)",
        "or 0, math.floor(level / leak)",
    ),
];

pub const WINDOW: &[Mutant] = &[
    ("window: an entry that is one interval old still counts", "now - interval, length", "now - interval - 1, length"),
    ("window: an entry expires a microsecond early", "now - interval, length", "now - interval + 1, length"),
    ("window: an entry at the cutoff counts", "elseif entry > cutoff then", "elseif entry >= cutoff then"),
    ("window: the search ends too late", "low, step = probe + 1, nil", "low, step = probe + 2, nil"),
    ("window: it does not gallop to the end", "live - step or 0", "live - step or 1"),
    ("window: the oldest is the second", "from_end == 1 and '-1'", "from_end == 1 and '-2'"),
    ("window: the second is the third", "from_end == 2 and '-2'", "from_end == 2 and '-3'"),
    ("window: a fraction is accepted", " and entry % 1 == 0)", ")"),
    ("window: an entry before time is accepted", "entry and entry >= 0 and", "entry and"),
    ("window: any entry that the search has seen decides", "live - expired == probe and entry", "entry"),
    ("window: any entry that the search has seen is the newest", "probe == 0 and entry", "entry"),
    (
        "window: one unit less than the limit is granted",
        "cost and live + cost > limit\n",
        "cost and live + cost >= limit\n",
    ),
    (
        "window: one unit more than the limit is granted",
        "cost and live + cost > limit\n",
        "cost and live + cost > limit + 1\n",
    ),
    ("window: the wait ends with the wrong entry", "log, live - expired)", "log, math.max(live - expired - 1, 0))"),
    ("window: the wait ends with the newest entry", "log, live - expired)", "log, 0)"),
    (
        "window: the wait is one microsecond too short",
        "wait = wait + expires + interval - now",
        "wait = wait + expires + interval - now - 1",
    ),
    ("window: a peek changes the reset time", "elseif change > 0 and live < most then", "elseif live < most then"),
    (
        "window: the reset time is the expiry of the oldest entry",
        "call('LINDEX', log, '0')",
        "call('LINDEX', log, live - 1)",
    ),
    ("window: a grant does not reduce the remaining units", "(wait == 0 and change or 0)", "0"),
    (
        "window: the remaining units can be negative",
        "math.max(limit - live - (wait == 0 and change or 0), 0)",
        "limit - live - (wait == 0 and change or 0)",
    ),
    (
        "window: the wait behind many units is one interval",
        "if expired > live and expired > limit then",
        "if false then",
    ),
    (
        "window: the wait behind exactly one limit is one interval too long",
        "math.floor((expired - 1) / limit)",
        "math.floor(expired / limit)",
    ),
];
