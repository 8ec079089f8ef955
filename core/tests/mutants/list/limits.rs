//! Mutants of the evaluation of all limits, and of calls without an id that use it.

use super::Mutant;

pub const LIMITS: &[Mutant] = &[
    ("check: anything may follow the numbers", "if raw and cursor ~= #raw then", "if false then"),
    (
        "check: entries are not checked, with an id",
        "if not (time and time >= 0 and time <= now and time % 1 == 0) then",
        "if not time then",
    ),
    ("check: entries of the future are taken, with an id", "time <= now and ", ""),
    ("check: fractions in a log are taken, with an id", "time <= now and time % 1 == 0", "time <= now"),
    ("check: a count above its limit is taken, with an id", "held - MAX > 0 or count - 2 * held > 0", "held - MAX > 0"),
    ("check: any limit is taken for the one that was held, with an id", "held - MAX > 0 or ", ""),
    ("check: any capacity is taken for the one that was held, with an id", "full > MAX or ", ""),
    ("check: a level above its capacity is taken, with an id", " or level - 2 * full > 0", ""),
    ("kinds: a throttle counts costs", "if kind == 't' or kind == 'c' then", "if kind == 'c' then"),
    ("kinds: a throttle counts looks", "cost and ahead + min(cost, 1)", "cost and ahead + 1"),
    ("kinds: a throttle is corrected", "cost and min(change, 1) or 0", "min(change, 1)"),
    (
        "decide: the last of equal waits refuses, with an id",
        "if limit_wait > wait or wait == 0",
        "if limit_wait > 0 and limit_wait >= wait or wait == 0",
    ),
    (
        "decide: the shortest wait refuses, with an id",
        "if limit_wait > wait or wait == 0",
        "if limit_wait > 0 and (wait == 0 or limit_wait < wait) or wait == 0",
    ),
    (
        "decide: the last of equals is described, with an id",
        "wait == 0 and limit_remaining < least_remaining then",
        "wait == 0 and limit_remaining <= least_remaining then",
    ),
    (
        "permit: a bucket is corrected after its interval",
        "if not cost and delta ~= 0 and now - granted_at > (now + limit.c) % limit.b then",
        "if false then",
    ),
    (
        "permit: a bucket is corrected a microsecond after its interval",
        "(now + limit.c) % limit.b then",
        "(now + limit.c) % limit.b + 1 then",
    ),
    ("permit: the offset is forgotten", "(now + limit.c) % limit.b then", "now % limit.b then"),
    (
        "log: a cost is one entry",
        "push(limit.key, format('%.0f', now), units)",
        "push(limit.key, format('%.0f', now), 1)",
    ),
    ("log: it grows for ever", "if limit.length > limit.new_level then", "if false then"),
    ("log: it is cut one too long", "0, limit.new_level + units - 1)", "0, limit.new_level + units)"),
    ("log: it is cut one too short", "0, limit.new_level + units - 1)", "0, limit.new_level + units - 2)"),
    (
        "write: the state of a grant has no expiry",
        "call('SET', KEYS[1], state, 'PX', expiry(lifetime))",
        "call('SET', KEYS[1], state)",
    ),
    ("write: a state ends when it is whole", "math.ceil(micros / 1000) + 10000)", "math.ceil(micros / 1000))"),
    (
        "write: a state ends with the first limit, with an id",
        "  if limit_reset > longest_reset then",
        "  if longest_reset == 0 then",
    ),
    (
        "write: a state lives for ever after a clock ran backwards, with an id",
        "string.match(raw, '^%d+ %d+(.*)'), 'KEEPTTL')",
        "string.match(raw, '^%d+ %d+(.*)'), nil)",
    ),
    ("write: times lose digits", "local state = format('%.0f %.0f', now, skew)", "local state = now .. ' ' .. skew"),
    (
        "write: a level is written under other numbers",
        "ARGV[4 * i - 1] .. ' ' .. ARGV[4 * i + 1]",
        "ARGV[4 * i - 1] .. ' ' .. format('%.0f', limit.held_scale)",
    ),
    (
        "write: a count is written under other numbers",
        "format(' %.0f ', limit.new_level) .. ARGV[4 * i - 1]\n",
        "format(' %.0f ', limit.new_level) .. format('%.0f', limit.held_a)\n",
    ),
    (
        "leases: one that has ended counts",
        "leases, after = KEYS[key_count], format('(%.0f', now)",
        "leases, after = KEYS[key_count], format('%.0f', now)",
    ),
    (
        "leases: none ever ends",
        "leases, after = KEYS[key_count], format('(%.0f', now)",
        "leases, after = KEYS[key_count], '-inf'",
    ),
    ("leases: any end is taken, without an id", "lease_end <= 2 * MAX and lease_end % 1 == 0", "true"),
    (
        "leases: an end beyond all times is taken, without an id",
        "lease_end <= 2 * MAX and lease_end % 1 == 0",
        "lease_end % 1 == 0",
    ),
    (
        "leases: fractions are taken, without an id",
        "lease_end <= 2 * MAX and lease_end % 1 == 0",
        "lease_end <= 2 * MAX",
    ),
    ("leases: any fencing_token is taken", "limit.level - 2 * MAX > 0", "false"),
    ("leases: the fencing_token is not kept", "state .. format(' %.0f', limit.level)", "state .. ' 0'"),
    ("leases: a cost is so many leases", "if kind == 't' or kind == 'c' then", "if kind == 't' then"),
    (
        "write: the units of the queue are its tickets",
        "format(':%.0f:%.0f:%.0f:%.0f', ctx.tickets, ctx.queued_units, ctx.queued_until, now)",
        "format(':%.0f:%.0f:%.0f:%.0f', ctx.tickets, ctx.tickets, ctx.queued_until, now)",
    ),
    (
        "write: the queue has no end",
        "format(':%.0f:%.0f:%.0f:%.0f', ctx.tickets, ctx.queued_units, ctx.queued_until, now)",
        "format(':%.0f:%.0f:%.0f:%.0f', ctx.tickets, ctx.queued_units, MAX, now)",
    ),
    ("statistics: they never expire", "expire_statistics()", ""),
    (
        "statistics: a damaged one stops the call",
        "attempt('HINCRBY', KEYS[2], field, by)",
        "call('HINCRBY', KEYS[2], field, by)",
    ),
    ("check: a capacity of nothing is taken", "if full == 0 or full > MAX", "if full > MAX"),
    ("write: a log never ends", "      call('PEXPIRE', limit.key, expiry(limit.b))\n", ""),
    ("write: a log ends early", "call('PEXPIRE', limit.key, expiry(limit.b))", "call('PEXPIRE', limit.key, expiry(0))"),
    ("leases: their end counts as a rate", "local is_rate = kind ~= 'c' or limit_wait == MAX", "local is_rate = true"),
    ("leases: their rank counts those that have ended", "call('ZCARD', leases) - limit.live + k - 1", "k - 1"),
    ("leases: the fencing_token is forgotten early", "    lifetime = lifetime + LATE_RELEASE\n", ""),
    (
        "override: its expiry is not awaited",
        "if limit_wait > ends - now and ends < MAX and overrides.overridden[i] ~= '-' then",
        "if false then",
    ),
    (
        "override: its end is that of all limits",
        "if limit_wait > ends - now and ends < MAX and overrides.overridden[i] ~= '-' then",
        "if limit_wait > ends - now and ends > now and ends < MAX then",
    ),
    (
        "leases: with a concurrency limit of 0 a release is waited for",
        "if limit_wait > MAX or limit_wait > 0 and a == 0 then",
        "if limit_wait > MAX then",
    ),
    (
        "leases: a wait for ever is not a rate",
        "local is_rate = kind ~= 'c' or limit_wait == MAX",
        "local is_rate = kind ~= 'c'",
    ),
    ("write: a state ends before its queue", "lifetime = max(lifetime, ctx.queued_until - now)", ""),
    ("pause: refuses no call", "if pause > wait then", "if false then"),
    ("pause: is shortened by a release", "    rate = max(rate, pause)\n", ""),
    (
        "pause: overrides are not kept",
        "state, lifetime = state .. overrides.text, max(lifetime, overrides.lifetime)",
        "lifetime = max(lifetime, overrides.lifetime)",
    ),
    (
        "pause: overrides expire with the state",
        "state, lifetime = state .. overrides.text, max(lifetime, overrides.lifetime)",
        "state = state .. overrides.text",
    ),
    ("decide: a call above the limit may wait", "if cost > limit.a and", "if cost > limit.a + 1 and"),
    (
        "decide: a throttle is too small",
        "if cost > limit.a and limit.kind ~= 't' and limit.kind",
        "if cost > limit.a and limit.kind",
    ),
];

pub const WITHOUT_ID: &[Mutant] = &[
    (
        "newcomers: pass before the queue, with an id",
        "local ahead, units_ahead = ctx.tickets, ctx.queued_units",
        "local ahead, units_ahead = 0, 0",
    ),
    (
        "newcomers: stand behind a queue that has lapsed, with an id",
        "if now >= ctx.queued_until or units == 0 then",
        "if units == 0 then",
    ),
    (
        "newcomers: a peek of cost 0 stands in the queue",
        "if now >= ctx.queued_until or units == 0 then",
        "if now >= ctx.queued_until then",
    ),
    (
        "newcomers: a peek at leases passes before the queue",
        "local index, wait, remaining, reset = evaluate(ahead, units_ahead, units, 0)",
        "local index, wait, remaining, reset = evaluate(0, 0, units, 0)",
    ),
    (
        "check: a damaged log or lease is used by a look",
        "if ctx.damaged then\n    return redis.error_reply(DAMAGED)\n  end\n  if verb == 'acquire' then",
        "if verb == 'acquire' then",
    ),
    ("decide: a refusal is a grant", "wait == 0 and 1 or 0, index", "1, index"),
    ("decide: the server's time is told", "remaining, wait, reset, now,", "remaining, wait, reset, server_time,"),
    (
        "overrides: the reply lacks the amount in force",
        "is_overridden and (index < limit_count and ctx.limits[index + 1].a or 0),",
        "nil,",
    ),
    (
        "decide: what can pass is told of another limit",
        "return {5, exceeded - 1, ctx.limits[exceeded].a, 0, 0, now}",
        "return {5, exceeded, ctx.limits[exceeded].a, 0, 0, now}",
    ),
];
