//! Mutants of reading the call and the overrides.

use super::Mutant;

pub const REDIS: &[Mutant] = &[
    ("clock: seconds only", "server_time = time[1] * 1000000 + time[2]", "server_time = time[1] * 1000000"),
    (
        "clock: microseconds without leading zeros",
        "server_time = time[1] * 1000000 + time[2]",
        "server_time = (time[1] .. time[2]) + 0",
    ),
    ("clock: time runs backwards", "if now < last then", "if false then"),
    ("clock: the distance is not added", "now = server_time + skew", "now = server_time"),
    ("clock: the distance is not kept", "skew = now - server_time", "skew = 0"),
    (
        "clock: a refusal does not move the clock on",
        "local skew_changed = raw and now - server_time ~= skew",
        "local skew_changed = false",
    ),
    ("check: fractions are taken", "units % 1 == 0 and ", ""),
    ("check: negative costs are taken", "units >= 0 and ", ""),
    ("check: any cost is taken", "units <= MAX and ", ""),
    ("check: any time is taken", "server_time >= 0 and server_time <= MAX", "true"),
    ("check: a time beyond the end is taken", "if now > MAX then", "if false then"),
    ("clock: runs backwards behind a queue that was written", "if now < written_at then", "if false then"),
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
    ("list: it never ends", "redis.call('PEXPIRE', limiters, lifetime)", "redis.call('PERSIST', limiters)"),
    (
        "list: nobody is ever forgotten",
        "redis.call('ZREMRANGEBYRANK', limiters, 0, math.min(expired, MAX_REMOVALS) - 1)",
        "",
    ),
    ("list: one too many is forgotten", "math.min(expired, MAX_REMOVALS) - 1", "math.min(expired, MAX_REMOVALS)"),
    ("list: a short time ends a long one", "if redis.call('PTTL', limiters) <", "if 0 <"),
    ("statistics: they end when all do", "redis.call('PEXPIRE', KEYS[2], lifetime)", ""),
    ("statistics: those that begin never end", "attempt('PEXPIRE', KEYS[2], STATISTICS_EXPIRY)", ""),
    ("statistics: a new field lengthens their life", "if attempt('PTTL', KEYS[2]) == -1 then", "if true then"),
];

pub const CONTROL: &[Mutant] = &[
    ("orders: an end that has come still holds", "ends > now and text or '-'", "ends >= now and text or '-'"),
    ("orders: they hold for ever", "ends > now and text or '-'", "text"),
    ("orders: a pause is forgotten", "overrides.version, overrides.paused_until, ends", "overrides.version, 0, ends"),
    (
        "orders: the version is forgotten",
        "overrides.version, overrides.paused_until, ends",
        "0, overrides.paused_until, ends",
    ),
    ("orders: when something was learned is forgotten", "ends, overrides.reported_at)\n", "ends, 0)\n"),
    (
        "orders: what says nothing is kept for ever",
        "if lifetime > 0 or overrides.reported_at + REPORT_MEMORY > now then",
        "if true then",
    ),
    (
        "orders: dropped though something was just learned",
        "if lifetime > 0 or overrides.reported_at + REPORT_MEMORY > now then",
        "if lifetime > 0 then",
    ),
    (
        "orders: who is told for ever is told until an end",
        "ends == MAX and OVERRIDES_EXPIRY or ends - now",
        "ends - now",
    ),
    (
        "orders: what is told has no end of its own",
        "ends == MAX and OVERRIDES_EXPIRY or ends - now",
        "OVERRIDES_EXPIRY",
    ),
    (
        "orders: so many for so many limits is not checked",
        "if #overridden ~= limit_count or #learned ~= limit_count then",
        "if false then",
    ),
    ("orders: any text is taken", "if not learned_list or version - MAX > 0", "if learned_list and version - MAX > 0"),
    ("orders: any version is taken", "version - MAX > 0 or ", ""),
    ("orders: any pause is taken", "pause - MAX > 0 or ", ""),
    ("orders: any interval is taken", "b - MAX > 0 or ", ""),
    ("orders: an interval of nothing is taken", "b - 1 < 0 or ", ""),
    ("orders: an amount of nothing is taken", " or a - 1 < 0 and kind ~= 'c'", ""),
    ("orders: no lease at all is damage", "a - 1 < 0 and kind ~= 'c'", "a - 1 < 0"),
    ("ruling: a bucket ends where it did", "      other_c = c\n", "      other_c = other_c\n"),
    ("ruling: a bucket of another interval ends where upstream's does", "and other_b == b then", "then"),
    ("ruling: nobody obeys", "      ARGV[o], ARGV[o + 1], ARGV[o + 2] = a, b, c\n", ""),
    ("ruling: the offset or scale stays", "ARGV[o], ARGV[o + 1], ARGV[o + 2] = a, b, c", "ARGV[o], ARGV[o + 1] = a, b"),
    ("parts: any amount of a meter is taken", "(c - 1 < 0 or a - MAX / c > 0)", "(c - 1 < 0)"),
    ("parts: a scale of nothing is taken", "(c - 1 < 0 or a - MAX / c > 0)", "(a - MAX / c > 0)"),
    ("parts: an offset beyond the interval is taken", "kind == 'b' and c - b >= 0", "kind == 'b' and c - b > 0"),
    (
        "parts: a longer log than can be written",
        "(kind == 'w' or kind == 'c') and 100000 or MAX",
        "kind == 'c' and 100000 or MAX",
    ),
    (
        "orders: dropped ones keep their version",
        "overrides.version, overrides.reported_at, overrides.own = 0, 0, nil",
        "overrides.reported_at, overrides.own = 0, nil",
    ),
    (
        "orders: a pause alone keeps nothing",
        "lifetime, has_learned = max(overrides.paused_until - now, 0), false",
        "lifetime, has_learned = 0, false",
    ),
    (
        "orders: what was learned keeps nothing",
        "    if has_learned then\n      lifetime = OVERRIDES_EXPIRY\n    end\n",
        "",
    ),
    ("orders: end before what was taken under them", "ends - now + drain)", "ends - now)"),
    ("orders: what was taken lasts as long as a part", "b or a * c / b", "b or a / b"),
    (
        "ruling: those who learned rule those who were told",
        "if c and overridden ~= '-' then",
        "if c and overridden ~= '-' and learned == '-' then",
    ),
    (
        "ruling: what was learned counts for nothing",
        "decode_limit(kind, learned ~= '-' and learned or overrides.own[i])",
        "decode_limit(kind, overrides.own[i])",
    ),
];
