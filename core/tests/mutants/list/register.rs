//! Mutants of `register.lua`.

use super::Mutant;

pub const REGISTER: &[Mutant] = &[
    (
        "list: no limiter is added",
        "if type(redis.pcall('ZADD', limiters, string.format('%.0f', now + ttl), entry)) == 'number' then",
        "if false then",
    ),
    (
        "list: a foreign key gets an expiry",
        "type(redis.pcall('ZADD', limiters, string.format('%.0f', now + ttl), entry)) == 'number'",
        "redis.pcall('ZADD', limiters, string.format('%.0f', now + ttl), entry)",
    ),
    ("statistics: a foreign key gets an expiry", "if fields.err then", "if false then"),
    ("list: the list never expires", "redis.call('PEXPIRE', limiters, lifetime)", "redis.call('PERSIST', limiters)"),
    (
        "list: expired entries are never removed",
        "redis.call('ZREMRANGEBYRANK', limiters, 0, math.min(expired, MAX_REMOVALS) - 1)",
        "",
    ),
    ("list: one entry too many is removed", "math.min(expired, MAX_REMOVALS) - 1", "math.min(expired, MAX_REMOVALS)"),
    ("list: a short ttl shortens a longer one", "if redis.call('PTTL', limiters) <", "if 0 <"),
    ("statistics: their expiry is not set with the others", "redis.call('PEXPIRE', KEYS[2], lifetime)", ""),
    ("history: what is damaged fails the call", " and tonumber(count) and", " and"),
    ("history: counts of the current minute are those of an earlier one", "of - minute < 0", "of - minute <= 0"),
    ("history: grants are lost with their minute", "letter == 'g' and 'granted' or", "letter == 'g' and 'past' or"),
    ("statistics: grants near a limit are told for a minute", "sums.near_limit = 'g', (", "sums.past = 'g', ("),
    ("history: grants near a limit are lost with their minute", "if letter == 'n' then", "if false then"),
    ("history: units are lost with their minute", "letter == 'u' and 'units' or", "letter == 'u' and 'past' or"),
    ("history: waits are lost with their minute", "letter == 'w' and 'h' .. part", "letter == 'w' and 'h'"),
    ("history: refusals by a limit lose it with their minute", "or 'r:' .. part", "or 'refused'"),
    ("history: refusals by a pause are those of a limit", "or part == '' and 'refused' or", "or"),
    ("history: a minute that ended stays", "redis.pcall('HDEL', KEYS[2], field) == 1", "true"),
    (
        "history: a minute is not added to the sums",
        "redis.pcall('HINCRBY', KEYS[2], field, string.format('%.0f', count))",
        "",
    ),
    ("history: only the last count of a minute is kept", "past[of][letter] + count, (sums", "0 + count, (sums"),
    ("history: only the last count of a field is kept", "(sums[whole] or 0) + count", "0 + count"),
    ("history: earlier minutes are forgotten", "(after or entries)", "(after or '')"),
    (
        "history: refusals and waits change places",
        "sum.r + (r or 0), sum.w + (w or 0)",
        "sum.w + (r or 0), sum.r + (w or 0)",
    ),
    ("history: a minute leaves too early", "minute - of < 60", "minute - of < 59"),
    (
        "history: a minute that leaves is lost",
        "minutes, hours = rest, add(hours, math.floor(of / 60), {g = g, r = r, w = w, u = u})",
        "minutes = rest",
    ),
    ("history: a minute counts for another hour", ");' .. number .. ' (", ");%d+ ("),
    ("history: the minutes of an hour replace each other", "sum.g + (g or 0)", "sum.g"),
    ("history: an hour leaves too early", "math.floor(minute / 60) - of < 48", "math.floor(minute / 60) - of < 47"),
    ("history: a foreign text grows for ever", "#minutes + #hours > 16384", "false"),
    ("history: hours are not kept", "'minutes', minutes, 'hours', hours)", "'minutes', minutes)"),
    ("history: no minute ends", "if #ended > 0 then", "if false then"),
];
