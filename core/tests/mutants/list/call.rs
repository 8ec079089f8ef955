//! Mutants of reading the call and the orders.

use super::Mutant;

pub const REDIS: &[Mutant] = &[
    ("clock: seconds only", "server = time[1] * 1000000 + time[2]", "server = time[1] * 1000000"),
    (
        "clock: microseconds without leading zeros",
        "server = time[1] * 1000000 + time[2]",
        "server = (time[1] .. time[2]) + 0",
    ),
    ("clock: time runs backwards", "if now < last then", "if false then"),
    ("clock: the distance is not added", "local now = server + skew", "local now = server"),
    ("clock: the distance is not kept", "skew = now - server", "skew = 0"),
    (
        "clock: a refusal does not move the clock on",
        "local moved = raw and now - server ~= skew",
        "local moved = false",
    ),
    ("check: fractions are taken", "units % 1 == 0 and ", ""),
    ("check: negative costs are taken", "units >= 0 and ", ""),
    ("check: any cost is taken", "units <= MAX and ", ""),
    ("check: any time is taken", "server >= 0 and server <= MAX", "true"),
    ("check: a time beyond the end is taken", "if now > MAX then", "if false then"),
    ("clock: runs backwards behind a queue that was written", "if now < seen then", "if false then"),
    (
        "list: nobody is put on it",
        "if type(redis.pcall('ZADD', limiters, string.format('%.0f', now + ttl), entry)) == 'number' then",
        "if false then",
    ),
    (
        "list: a foreign one gets an end",
        "type(redis.pcall('ZADD', limiters, string.format('%.0f', now + ttl), entry)) == 'number'",
        "redis.pcall('ZADD', limiters, string.format('%.0f', now + ttl), entry)",
    ),
    (
        "statistics: foreign ones get an end",
        "type(redis.pcall('HLEN', KEYS[2])) == 'number'",
        "redis.pcall('HLEN', KEYS[2])",
    ),
    ("list: it never ends", "redis.call('PEXPIRE', limiters, life)", "redis.call('PERSIST', limiters)"),
    (
        "list: nobody is ever forgotten",
        "redis.call('ZREMRANGEBYRANK', limiters, 0, math.min(ended, MAX_REMOVALS) - 1)",
        "",
    ),
    ("list: one too many is forgotten", "math.min(ended, MAX_REMOVALS) - 1", "math.min(ended, MAX_REMOVALS)"),
    ("list: a short time ends a long one", "if redis.call('PTTL', limiters) <", "if 0 <"),
    ("statistics: they end when all do", "redis.call('PEXPIRE', KEYS[2], life)", ""),
    ("statistics: those that begin never end", "attempt('PEXPIRE', KEYS[2], STATISTICS_EXPIRY)", ""),
    ("statistics: a new field lengthens their life", "if attempt('PTTL', KEYS[2]) == -1 then", "if true then"),
];

pub const CONTROL: &[Mutant] = &[
    (
        "orders: an end that has come still holds",
        "told_until > now and numbers or '-'",
        "told_until >= now and numbers or '-'",
    ),
    ("orders: they hold for ever", "told_until > now and numbers or '-'", "numbers"),
    (
        "orders: a pause is forgotten",
        "';%.0f;%.0f;%.0f;%.0f;', version, pause,",
        "';%.0f;%.0f;%.0f;%.0f;', version, 0,",
    ),
    (
        "orders: the version is forgotten",
        "';%.0f;%.0f;%.0f;%.0f;', version, pause,",
        "';%.0f;%.0f;%.0f;%.0f;', 0, pause,",
    ),
    ("orders: when something was learned is forgotten", "told_until, synced)\n", "told_until, 0)\n"),
    ("orders: what says nothing is kept for ever", "if life > 0 or synced + SYNC_MEMORY > now then", "if true then"),
    (
        "orders: dropped though something was just learned",
        "if life > 0 or synced + SYNC_MEMORY > now then",
        "if life > 0 then",
    ),
    (
        "orders: who is told for ever is told until an end",
        "told_until == MAX and ORDERS_EXPIRY or told_until - now",
        "told_until - now",
    ),
    (
        "orders: what is told has no end of its own",
        "told_until == MAX and ORDERS_EXPIRY or told_until - now",
        "ORDERS_EXPIRY",
    ),
    ("orders: so many for so many limits is not checked", "if #told ~= n or #learned ~= n then", "if false then"),
    ("orders: any text is taken", "if not l or v - MAX > 0", "if l and v - MAX > 0"),
    ("orders: any version is taken", "v - MAX > 0 or ", ""),
    ("orders: any pause is taken", "p - MAX > 0 or ", ""),
    ("orders: any interval is taken", "b - MAX > 0 or ", ""),
    ("orders: an interval of nothing is taken", "b - 1 < 0 or ", ""),
    ("orders: an amount of nothing is taken", " or a - 1 < 0 and kind ~= 'c'", ""),
    ("orders: no lease at all is damage", "a - 1 < 0 and kind ~= 'c'", "a - 1 < 0"),
    ("ruling: a bucket ends where it did", "      told_c = c\n", "      told_c = told_c\n"),
    ("ruling: a bucket of another interval ends where upstream's does", "and told_b == b then", "then"),
    ("ruling: nobody obeys", "    ARGV[o], ARGV[o + 1], ARGV[o + 2] = ruling(i, kind)\n", ""),
    (
        "ruling: the offset or scale stays",
        "ARGV[o], ARGV[o + 1], ARGV[o + 2] = ruling",
        "ARGV[o], ARGV[o + 1] = ruling",
    ),
    ("parts: any amount of a meter is taken", "(c - 1 < 0 or a * c - MAX > 0)", "(c - 1 < 0)"),
    ("parts: a scale of nothing is taken", "(c - 1 < 0 or a * c - MAX > 0)", "(a * c - MAX > 0)"),
    ("parts: an offset beyond the interval is taken", "kind == 'b' and c - b >= 0", "kind == 'b' and c - b > 0"),
    (
        "parts: a longer log than can be written",
        "(kind == 'w' or kind == 'c') and 100000 or MAX",
        "kind == 'c' and 100000 or MAX",
    ),
    ("orders: dropped ones keep their version", "version, synced, own = 0, 0, nil", "synced, own = 0, nil"),
    (
        "orders: a pause alone keeps nothing",
        "local life, learns = max(pause - now, 0), false",
        "local life, learns = 0, false",
    ),
    ("orders: what was learned keeps nothing", "    if learns then\n      life = ORDERS_EXPIRY\n    end\n", ""),
    ("orders: end before what was taken under them", "told_until - now + lasts)", "told_until - now)"),
    ("orders: what was taken lasts as long as a part", "b or a * c / b", "b or a / b"),
    (
        "ruling: those who learned rule those who were told",
        "    if told[i] ~= '-' then\n      local told_a",
        "    if told[i] ~= '-' and learned[i] == '-' then\n      local told_a",
    ),
    (
        "ruling: what was learned counts for nothing",
        "  function ruling(i, kind)\n    local a, b, c = parts(kind, learned[i] ~= '-' and learned[i] or own[i])",
        "  function ruling(i, kind)\n    local a, b, c = parts(kind, own[i])",
    ),
];
