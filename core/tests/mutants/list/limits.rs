//! Mutants of the evaluation of all limits, and of calls without an id that use it.

use super::Mutant;

pub const LIMITS: &[Mutant] = &[
    ("check: text behind the state is accepted", "if raw and cursor ~= #raw then", "if false then"),
    (
        "check: invalid log entries are accepted, with an id",
        "if not (time and time >= 0 and time <= now and time % 1 == 0) then",
        "if not time then",
    ),
    ("check: log entries in the future are accepted, with an id", "time <= now and ", ""),
    ("check: fractional log entries are accepted, with an id", "time <= now and time % 1 == 0", "time <= now"),
    (
        "check: a count above its maximum is accepted, with an id",
        "held - MAX > 0 or count - 2 * held > 0",
        "held - MAX > 0",
    ),
    ("check: any stored limit is accepted, with an id", "held - MAX > 0 or ", ""),
    ("check: any stored capacity is accepted, with an id", "full > MAX or ", ""),
    ("check: a level above its maximum is accepted, with an id", " or level - 2 * full > 0", ""),
    ("kinds: a throttle counts the cost", "if kind == 't' or kind == 'c' then", "if kind == 'c' then"),
    ("kinds: a throttle counts a peek of cost 0", "cost and ahead + min(cost, 1)", "cost and ahead + 1"),
    ("kinds: a throttle is corrected", "cost and min(change, 1) or 0", "min(change, 1)"),
    (
        "decide: the last of equal waits is the reason, with an id",
        "if limit_wait > wait or wait == 0",
        "if limit_wait > 0 and limit_wait >= wait or wait == 0",
    ),
    (
        "decide: the shortest wait is the reason, with an id",
        "if limit_wait > wait or wait == 0",
        "if limit_wait > 0 and (wait == 0 or limit_wait < wait) or wait == 0",
    ),
    (
        "decide: the last of limits with equal remaining units is reported, with an id",
        "wait == 0 and limit_remaining < least_remaining then",
        "wait == 0 and limit_remaining <= least_remaining then",
    ),
    (
        "permit: a bucket is corrected after its interval",
        "if not cost and delta ~= 0 and now - granted_at > (now + limit.c) % limit.b then",
        "if false then",
    ),
    (
        "permit: a bucket is corrected one microsecond after its interval",
        "(now + limit.c) % limit.b then",
        "(now + limit.c) % limit.b + 1 then",
    ),
    ("permit: the offset is ignored", "(now + limit.c) % limit.b then", "now % limit.b then"),
    (
        "log: a call adds one entry for any cost",
        "push(limit.key, format('%.0f', now), units)",
        "push(limit.key, format('%.0f', now), 1)",
    ),
    ("log: the log is not trimmed", "if limit.length > limit.new_level then", "if false then"),
    ("log: one entry too many is kept", "0, limit.new_level + units - 1)", "0, limit.new_level + units)"),
    ("log: one entry too few is kept", "0, limit.new_level + units - 1)", "0, limit.new_level + units - 2)"),
    (
        "write: the state of a grant has no expiry",
        "call('SET', KEYS[1], state, 'PX', expiry(lifetime))",
        "call('SET', KEYS[1], state)",
    ),
    (
        "write: the state expires as soon as it is reset",
        "math.ceil(micros / 1000) + 10000)",
        "math.ceil(micros / 1000))",
    ),
    (
        "write: the state expires with the first limit, with an id",
        "  if limit_reset > longest_reset then",
        "  if longest_reset == 0 then",
    ),
    (
        "write: a changed skew removes the expiry of the state, with an id",
        "string.match(raw, '^%d+ %d+(.*)'), 'KEEPTTL')",
        "string.match(raw, '^%d+ %d+(.*)'), nil)",
    ),
    (
        "write: large times lose digits",
        "local state = format('%.0f %.0f', now, skew)",
        "local state = now .. ' ' .. skew",
    ),
    (
        "write: a level is written with the old scale",
        "ARGV[4 * i - 1] .. ' ' .. ARGV[4 * i + 1]",
        "ARGV[4 * i - 1] .. ' ' .. format('%.0f', limit.held_scale)",
    ),
    (
        "write: a count is written with the old limit",
        "format(' %.0f ', limit.new_level) .. ARGV[4 * i - 1]\n",
        "format(' %.0f ', limit.new_level) .. format('%.0f', limit.held_a)\n",
    ),
    (
        "leases: a lease that expires now counts",
        "leases, after = KEYS[key_count], format('(%.0f', now)",
        "leases, after = KEYS[key_count], format('%.0f', now)",
    ),
    (
        "leases: expired leases count",
        "leases, after = KEYS[key_count], format('(%.0f', now)",
        "leases, after = KEYS[key_count], '-inf'",
    ),
    ("leases: any expiry is accepted, without an id", "lease_end <= 2 * MAX and lease_end % 1 == 0", "true"),
    (
        "leases: an expiry above the maximum is accepted, without an id",
        "lease_end <= 2 * MAX and lease_end % 1 == 0",
        "lease_end % 1 == 0",
    ),
    (
        "leases: a fractional expiry is accepted, without an id",
        "lease_end <= 2 * MAX and lease_end % 1 == 0",
        "lease_end <= 2 * MAX",
    ),
    ("leases: any fencing token is accepted", "limit.level - 2 * MAX > 0", "false"),
    ("leases: the fencing token is not stored", "state .. format(' %.0f', limit.level)", "state .. ' 0'"),
    ("leases: a call takes as many leases as its cost", "if kind == 't' or kind == 'c' then", "if kind == 't' then"),
    (
        "write: the state has the number of tickets as the queued units",
        "format(':%.0f:%.0f:%.0f:%.0f', ctx.tickets, ctx.queued_units, ctx.queued_until, now)",
        "format(':%.0f:%.0f:%.0f:%.0f', ctx.tickets, ctx.tickets, ctx.queued_until, now)",
    ),
    (
        "write: the state has no expiry of the queue",
        "format(':%.0f:%.0f:%.0f:%.0f', ctx.tickets, ctx.queued_units, ctx.queued_until, now)",
        "format(':%.0f:%.0f:%.0f:%.0f', ctx.tickets, ctx.queued_units, MAX, now)",
    ),
    ("statistics: new statistics never expire", "expire_statistics()", ""),
    (
        "statistics: a damaged value fails the call",
        "attempt('HINCRBY', KEYS[2], field, by)",
        "call('HINCRBY', KEYS[2], field, by)",
    ),
    ("check: a capacity of zero is accepted", "if full == 0 or full > MAX", "if full > MAX"),
    ("write: the log has no expiry", "      call('PEXPIRE', limit.key, expiry(limit.b))\n", ""),
    (
        "write: the log expires early",
        "call('PEXPIRE', limit.key, expiry(limit.b))",
        "call('PEXPIRE', limit.key, expiry(0))",
    ),
    (
        "leases: the wait for a lease counts as a rate",
        "local is_rate = kind ~= 'c' or limit_wait == MAX",
        "local is_rate = true",
    ),
    ("leases: the rank of a lease ignores the expired leases", "call('ZCARD', leases) - limit.live + k - 1", "k - 1"),
    ("leases: the fencing token expires early", "    lifetime = lifetime + LATE_RELEASE\n", ""),
    (
        "override: the wait ignores the end of the override",
        "if limit_wait > ends - now and ends < MAX and overrides.overridden[i] ~= '-' then",
        "if false then",
    ),
    (
        "override: its end shortens the wait for limits without an override",
        "if limit_wait > ends - now and ends < MAX and overrides.overridden[i] ~= '-' then",
        "if limit_wait > ends - now and ends > now and ends < MAX then",
    ),
    (
        "leases: with a concurrency limit of 0 a call waits for a release",
        "if limit_wait > MAX or limit_wait > 0 and a == 0 then",
        "if limit_wait > MAX then",
    ),
    (
        "leases: an endless wait is not a rate",
        "local is_rate = kind ~= 'c' or limit_wait == MAX",
        "local is_rate = kind ~= 'c'",
    ),
    ("write: the state expires before its queue", "lifetime = max(lifetime, ctx.queued_until - now)", ""),
    ("pause: a pause refuses no call", "if pause > wait then", "if false then"),
    ("pause: a release shortens the pause", "    rate = max(rate, pause)\n", ""),
    (
        "pause: the overrides are not written",
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
        "decide: a throttle refuses a cost above its amount",
        "if cost > limit.a and limit.kind ~= 't' and limit.kind",
        "if cost > limit.a and limit.kind",
    ),
];

pub const WITHOUT_ID: &[Mutant] = &[
    (
        "new calls: a new call passes before the queue",
        "local ahead, units_ahead = ctx.tickets, ctx.queued_units",
        "local ahead, units_ahead = 0, 0",
    ),
    (
        "new calls: a new call waits behind an expired queue",
        "if now >= ctx.queued_until or units == 0 then",
        "if units == 0 then",
    ),
    (
        "new calls: a peek of cost 0 waits behind the queue",
        "if now >= ctx.queued_until or units == 0 then",
        "if now >= ctx.queued_until then",
    ),
    (
        "new calls: a peek at leases passes before the queue",
        "local index, wait, remaining, reset = evaluate(ahead, units_ahead, units, 0)",
        "local index, wait, remaining, reset = evaluate(0, 0, units, 0)",
    ),
    (
        "check: a damaged log or lease is used by a peek",
        "if ctx.damaged then\n    return redis.error_reply(DAMAGED)\n  end\n  if verb == 'acquire' then",
        "if verb == 'acquire' then",
    ),
    ("decide: a refusal is reported as a grant", "wait == 0 and 1 or 0, index", "1, index"),
    ("decide: the reply has the server's time", "remaining, wait, reset, now,", "remaining, wait, reset, server_time,"),
    (
        "overrides: the reply lacks the amount in force",
        "is_overridden and (index < limit_count and ctx.limits[index + 1].a or 0),",
        "nil,",
    ),
    (
        "decide: the reply to a call above a limit names another limit",
        "return {5, exceeded - 1, ctx.limits[exceeded].a, 0, 0, now}",
        "return {5, exceeded, ctx.limits[exceeded].a, 0, 0, now}",
    ),
];
