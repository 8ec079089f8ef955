//! Mutants of the code that reads the call and the overrides.

use super::Mutant;

pub const STATE: &[Mutant] = &[
    (
        "clock: the microseconds are ignored",
        "server_time = time[1] * 1000000 + time[2]",
        "server_time = time[1] * 1000000",
    ),
    (
        "clock: the microseconds lose their leading zeros",
        "server_time = time[1] * 1000000 + time[2]",
        "server_time = (time[1] .. time[2]) + 0",
    ),
    ("clock: the time runs backwards", "if now < last then", "if false then"),
    ("clock: the skew is not added", "now = server_time + skew", "now = server_time"),
    ("clock: the skew is not stored", "skew = now - server_time", "skew = 0"),
    (
        "clock: a refusal does not write the changed skew",
        "local skew_changed = raw and now - server_time ~= skew",
        "local skew_changed = false",
    ),
    ("check: a fractional cost is accepted", "units % 1 == 0 and ", ""),
    ("check: a negative cost is accepted", "units >= 0 and ", ""),
    ("check: a cost above the maximum is accepted", "units <= MAX and ", ""),
    ("check: an invalid time is accepted", "server_time >= 0 and server_time <= MAX", "true"),
    ("check: a time above the maximum is accepted", "if now > MAX then", "if false then"),
    ("clock: the time runs backwards after a queue was written", "if now < written_at then", "if false then"),
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
    (
        "statistics: a foreign key gets an expiry",
        "type(redis.pcall('HLEN', KEYS[2])) == 'number'",
        "redis.pcall('HLEN', KEYS[2])",
    ),
    ("list: the list never expires", "redis.call('PEXPIRE', limiters, lifetime)", "redis.call('PERSIST', limiters)"),
    (
        "list: expired entries are never removed",
        "redis.call('ZREMRANGEBYRANK', limiters, 0, math.min(expired, MAX_REMOVALS) - 1)",
        "",
    ),
    ("list: one entry too many is removed", "math.min(expired, MAX_REMOVALS) - 1", "math.min(expired, MAX_REMOVALS)"),
    ("list: a short ttl shortens a longer one", "if redis.call('PTTL', limiters) <", "if 0 <"),
    ("statistics: their expiry is not set with the others", "redis.call('PEXPIRE', KEYS[2], lifetime)", ""),
    ("statistics: new statistics never expire", "attempt('PEXPIRE', KEYS[2], STATISTICS_EXPIRY)", ""),
    ("statistics: a new field extends their expiry", "if attempt('PTTL', KEYS[2]) == -1 then", "if true then"),
    ("reset: the windows of other policies are kept", "type(text) == 'string' and text or ''", "''"),
    ("reset: the windows before those of the last call are kept", "' (w[:%l%d_-]*)'", "' (w[^ ]*)'"),
    ("reset: a foreign text is taken as the name of a key", "' (w[:%l%d_-]*)'", "' (w[^ @]*)'"),
    ("reset: any number of keys is deleted", "if #keys < 100 then", "if true then"),
    ("reset: the windows of some policies are kept", "if #keys < 100 then", "if #keys < 35 then"),
    ("reset: windows with a label of their own are kept", "string.gsub(tag, ':', '.')", "tag"),
    ("reset: the leases of another policy are kept", "for i = 1, #KEYS do", "for i = 1, #KEYS - 1 do"),
    ("reset: a state of a foreign type cannot be reset", "type(text) == 'string' and text or ''", "text or ''"),
    (
        "check: a damaged summary of the queue is accepted",
        "if not (levels_at and written_at) then",
        "if not levels_at then",
    ),
];

pub const OVERRIDES: &[Mutant] = &[
    (
        "overrides: they apply after their expiry",
        "read_list(overridden_list, ends > now)",
        "read_list(overridden_list, ends >= now)",
    ),
    ("overrides: they never expire", "read_list(overridden_list, ends > now)", "read_list(overridden_list, true)"),
    (
        "overrides: a pause is not stored",
        "overrides.version, overrides.paused_until, ends",
        "overrides.version, 0, ends",
    ),
    (
        "overrides: the version is not stored",
        "overrides.version, overrides.paused_until, ends",
        "0, overrides.paused_until, ends",
    ),
    ("overrides: the time of the last report is not stored", "ends, overrides.reported_at)\n", "ends, 0)\n"),
    (
        "overrides: an empty record is kept without end",
        "if lifetime > 0 or overrides.reported_at + REPORT_MEMORY > now then",
        "if true then",
    ),
    (
        "overrides: they are removed although a report was just applied",
        "if lifetime > 0 or overrides.reported_at + REPORT_MEMORY > now then",
        "if lifetime > 0 then",
    ),
    ("overrides: permanent overrides get an expiry", "ends == MAX and OVERRIDES_EXPIRY or ends - now", "ends - now"),
    (
        "overrides: they have no expiry of their own",
        "ends == MAX and OVERRIDES_EXPIRY or ends - now",
        "OVERRIDES_EXPIRY",
    ),
    (
        "overrides: text between the limits is accepted",
        "    is_damaged = is_damaged or length ~= #list + (length > 0 and 1 or 0)\n",
        "",
    ),
    (
        "overrides: impossible numbers of a limit that the call does not have are accepted",
        "      is_damaged = is_damaged or not decode_limit(string.sub(tag, 1, 1), numbers)\n",
        "",
    ),
    (
        "overrides: those of limits that the call does not have are dropped",
        "list[#list + 1] = limits[tag] and",
        "list[#list + 1] = limits[tag] and overrides.own[tag] and",
    ),
    (
        "overrides: those of limits that the call does not have expire with the state",
        "      if overridden[tag] then\n",
        "      if overridden[tag] and own[tag] then\n",
    ),
    (
        "overrides: learned limits that the call does not have expire with the state",
        "has_learned = has_learned or learned[tag]",
        "has_learned = has_learned or own[tag] and learned[tag]",
    ),
    ("overrides: a limit that is overridden and learned is listed twice", "not is_known[tag] and tag or nil", "tag"),
    (
        "overrides: a limit takes the override of another label",
        "overrides.overridden[tag], overrides.learned[tag], string.sub",
        "overrides.overridden[string.sub(tag, 1, 1)], overrides.learned[tag], string.sub",
    ),
    (
        "overrides: malformed text is accepted",
        "if not learned_list or version - MAX > 0",
        "if learned_list and version - MAX > 0",
    ),
    ("overrides: an invalid version is accepted", "version - MAX > 0 or ", ""),
    ("overrides: an invalid pause is accepted", "pause - MAX > 0 or ", ""),
    ("overrides: an invalid interval is accepted", "b - MAX > 0 or ", ""),
    ("overrides: an interval of zero is accepted", "b - 1 < 0 or ", ""),
    ("overrides: an amount of zero is accepted", " or a - 1 < 0 and kind ~= 'c'", ""),
    ("overrides: a concurrency limit of 0 counts as damaged", "a - 1 < 0 and kind ~= 'c'", "a - 1 < 0"),
    (
        "limits in force: an overridden bucket does not keep the learned end",
        "      other_c = c\n",
        "      other_c = other_c\n",
    ),
    ("limits in force: a bucket of another interval takes the learned end", "and other_b == b then", "then"),
    ("limits in force: they are ignored", "      ARGV[o + 1], ARGV[o + 2], ARGV[o + 3] = a, b, c\n", ""),
    (
        "limits in force: the offset or scale is not replaced",
        "ARGV[o + 1], ARGV[o + 2], ARGV[o + 3] = a, b, c",
        "ARGV[o + 1], ARGV[o + 2] = a, b",
    ),
    ("decode: an amount above the maximum of a meter is accepted", "(c - 1 < 0 or a - MAX / c > 0)", "(c - 1 < 0)"),
    ("decode: a scale of zero is accepted", "(c - 1 < 0 or a - MAX / c > 0)", "(a - MAX / c > 0)"),
    ("decode: an offset equal to the interval is accepted", "kind == 'b' and c - b >= 0", "kind == 'b' and c - b > 0"),
    (
        "decode: a window above its maximum is accepted",
        "(kind == 'w' or kind == 'c') and 100000 or MAX",
        "kind == 'c' and 100000 or MAX",
    ),
    (
        "overrides: dropped overrides keep their version",
        "overrides.version, overrides.reported_at, overrides.own = 0, 0, nil",
        "overrides.reported_at, overrides.own = 0, nil",
    ),
    (
        "overrides: a pause alone is not kept",
        "lifetime, has_learned = max(overrides.paused_until - now, 0), false",
        "lifetime, has_learned = 0, false",
    ),
    (
        "overrides: learned limits alone are not kept",
        "    if has_learned then\n      lifetime = OVERRIDES_EXPIRY\n    end\n",
        "",
    ),
    ("overrides: they expire before the units taken under them", "ends - now + drain)", "ends - now)"),
    ("overrides: the time to drain ignores the scale", "b or a * c / b", "b or a / b"),
    (
        "limits in force: learned limits outrank overrides",
        "if c and overridden then",
        "if c and overridden and not learned then",
    ),
    (
        "limits in force: learned limits are ignored",
        "decode_limit(kind, learned or overrides.own[tag])",
        "decode_limit(kind, overrides.own[tag])",
    ),
];
