//! Mutants of leases and of the verbs of a permit.

use super::Mutant;

pub const PERMIT: &[Mutant] = &[
    (
        "write: permits end early",
        "PERMIT_TIMEOUT, PERMIT_EXPIRY = 300000000, 310000",
        "PERMIT_TIMEOUT, PERMIT_EXPIRY = 300000000, 31000",
    ),
    ("leases: any end is taken, with an id", "lease_end <= 2 * MAX and lease_end % 1 == 0", "true"),
    (
        "leases: an end beyond all times is taken, with an id",
        "lease_end <= 2 * MAX and lease_end % 1 == 0",
        "lease_end % 1 == 0",
    ),
    ("leases: fractions are taken, with an id", "lease_end <= 2 * MAX and lease_end % 1 == 0", "lease_end <= 2 * MAX"),
    (
        "write: the units of the queue are its tickets, in the line",
        "format(':%.0f:%.0f:%.0f:%.0f', ctx.tickets, ctx.queued_units, ctx.queued_until, now)",
        "format(':%.0f:%.0f:%.0f:%.0f', ctx.tickets, ctx.tickets, ctx.queued_until, now)",
    ),
    (
        "write: the queue has no end, in the line",
        "format(':%.0f:%.0f:%.0f:%.0f', ctx.tickets, ctx.queued_units, ctx.queued_until, now)",
        "format(':%.0f:%.0f:%.0f:%.0f', ctx.tickets, ctx.queued_units, MAX, now)",
    ),
    (
        "write: the line takes the time of the call",
        "  local state = format('%.0f %.0f', ctx.last, skew)\n",
        "  local state = format('%.0f %.0f', now, skew)\n",
    ),
    (
        "write: the line forgets what was taken",
        "call('SET', KEYS[1], state .. rest, 'PX', to_text(lifetime_ms))",
        "call('SET', KEYS[1], state, 'PX', to_text(lifetime_ms))",
    ),
    ("statistics: waits that timed out are not counted", "add_statistic('refused', 1)", ""),
    ("statistics: the time held is not counted", "add_statistic('held', max(now - granted_at, 0))", ""),
    (
        "release: what is not known counts",
        "add_statistic('overages', lease_end and 1 or 0)",
        "add_statistic('overages', 1)",
    ),
    ("cancel: a lease that made room is given back", "lease_end < 0 and verb ~= 'release'\n    or ", ""),
    ("statistics: late releases are not counted", "add_statistic('overages',", "local _ = ("),
    (
        "statistics: a unit less for each grant",
        "(tonumber(stored[5] or nil) or 0) + counts[1]",
        "(tonumber(stored[5] or nil) or 0)",
    ),
    (
        "statistics: the number of leases is missing",
        "ctx.lease_limit and ctx.lease_limit.live or 0, ctx.tickets",
        "0, ctx.tickets",
    ),
    ("verbs: a lease is not given back", "call('ZREM', lease_limit.key, id)", ""),
    (
        "verbs: another's lease is given back",
        "call('ZREM', lease_limit.key, id)",
        "call('ZREMRANGEBYRANK', lease_limit.key, 0, 0)",
    ),
    (
        "verbs: what was given back still counts",
        "lease_limit.live = lease_limit.live - 1",
        "lease_limit.live = lease_limit.live",
    ),
    ("release: late a microsecond late", "now >= granted_at + lease_limit.b\n", "now > granted_at + lease_limit.b\n"),
    ("release: never late", "lease_limit and now >= granted_at + lease_limit.b\n", "false\n"),
    (
        "release: wakes nobody",
        "advance_queue()\n    if ctx.queue_changed then\n      write_queue_summary()\n    end\n    return {7}",
        "return {7}",
    ),
    (
        "release: by an old permit of the same id",
        "local lease_end = find_lease(granted_at)\n",
        "local lease_end = find_lease()\n",
    ),
    (
        "renew: by an old permit of the same id",
        "local lease_end = find_lease(ARGV[verb_at + 4] + 0)",
        "local lease_end = find_lease()",
    ),
    ("verbs: the record of a released lease stays", "call('HDEL', records_key, LEASE .. id)", ""),
    (
        "verbs: a lease without a record cannot be released",
        "granted_at and recorded_at and recorded_at - granted_at ~= 0",
        "granted_at and (not recorded_at or recorded_at - granted_at ~= 0)",
    ),
    ("renew: a lease that has ended", "if not lease_end or lease_end <= now then", "if not lease_end then"),
    (
        "renew: a microsecond after the end",
        "if not lease_end or lease_end <= now then",
        "if not lease_end or lease_end < now then",
    ),
    ("renew: changes nothing", "call('ZADD', lease_limit.key, to_text(now + timeout), id)", ""),
    (
        "renew: does not keep the leases",
        "ipairs({lease_limit.key, records_key, KEYS[1]})",
        "ipairs({records_key, KEYS[1]})",
    ),
    (
        "renew: forgets the longer leases of others",
        "max(lease_limit.lease_end(lease_limit.live), now + timeout) - now + LATE_RELEASE",
        "timeout + LATE_RELEASE",
    ),
    (
        "renew: does not keep the records",
        "ipairs({lease_limit.key, records_key, KEYS[1]})",
        "ipairs({lease_limit.key, KEYS[1]})",
    ),
    (
        "renew: does not keep the state",
        "ipairs({lease_limit.key, records_key, KEYS[1]})",
        "ipairs({lease_limit.key, records_key})",
    ),
    ("renew: shortens the life of the state", "if call('PTTL', key) < lifetime / 1000 + 10000 then", "if true then"),
    (
        "cancel: the ticket stays",
        "remove_lease(lease_end)\n    end\n    if ticket then\n      remove_ticket",
        "remove_lease(lease_end)\n    end\n    if false then\n      remove_ticket",
    ),
    (
        "cancel: the lease stays",
        "local ticket, lease_end = caller_ticket(), find_lease()",
        "local ticket, lease_end = caller_ticket(), nil",
    ),
    (
        "cancel: wakes nobody",
        "add_statistic('refused', 1)\n    end\n    advance_queue()",
        "add_statistic('refused', 1)\n    end",
    ),
    ("cancel: a lease is nothing", "(ticket or lease_end) and 8 or 6", "ticket and 8 or 6"),
    ("write: a state ends before its queue", "lifetime = max(lifetime, ctx.queued_until - now)", ""),
    (
        "write: the line shortens the life of the state",
        "max(call('PTTL', KEYS[1]), math.ceil(lifetime / 1000) + 10000)",
        "math.ceil(lifetime / 1000) + 10000",
    ),
    (
        "write: the line does not lengthen the life of the state",
        "max(call('PTTL', KEYS[1]), math.ceil(lifetime / 1000) + 10000)",
        "call('PTTL', KEYS[1])",
    ),
    (
        "write: a line without a queue forgets its orders",
        "state .. overrides_text .. rest, 'KEEPTTL'",
        "state .. rest, 'KEEPTTL'",
    ),
    ("write: a line forgets its orders", "  state = state .. overrides_text\n", ""),
    (
        "check: a damaged lease is released",
        "local lease_end = find_lease(granted_at)\n    if ctx.damaged then",
        "local lease_end = find_lease(granted_at)\n    if false then",
    ),
    (
        "check: a damaged lease is renewed",
        "local lease_end = find_lease(ARGV[verb_at + 4] + 0)\n    if ctx.damaged then",
        "local lease_end = find_lease(ARGV[verb_at + 4] + 0)\n    if false then",
    ),
    (
        "check: a damaged lease or ticket is cancelled",
        "find_lease()\n    if ctx.damaged then",
        "find_lease()\n    if false then",
    ),
];
