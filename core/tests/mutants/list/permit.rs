//! Mutants of leases and of the verbs that take a permit.

use super::Mutant;

pub const PERMIT: &[Mutant] = &[
    ("leases: any expiry is accepted, with an id", "lease_end <= 2 * MAX and lease_end % 1 == 0", "true"),
    (
        "leases: an expiry above the maximum is accepted, with an id",
        "lease_end <= 2 * MAX and lease_end % 1 == 0",
        "lease_end % 1 == 0",
    ),
    (
        "leases: a fractional expiry is accepted, with an id",
        "lease_end <= 2 * MAX and lease_end % 1 == 0",
        "lease_end <= 2 * MAX",
    ),
    (
        "write: the summary has the number of tickets as the queued units",
        "(ctx.queued_text or load_list(ctx.queued))",
        "''",
    ),
    (
        "write: the summary has no expiry of the queue",
        "format(':%.0f:%.0f:%.0f:', ctx.tickets, ctx.queued_until, now)",
        "format(':%.0f:%.0f:%.0f:', ctx.tickets, MAX, now)",
    ),
    (
        "write: the summary changes the time of the levels",
        "  local state = format('%.0f %.0f', ctx.last, skew)\n",
        "  local state = format('%.0f %.0f', now, skew)\n",
    ),
    (
        "write: the summary drops the levels",
        "call('SET', KEYS[1], state .. rest, 'PX', to_text(lifetime_ms))",
        "call('SET', KEYS[1], state, 'PX', to_text(lifetime_ms))",
    ),
    ("statistics: waits that timed out are not counted", "add_statistic('r', 1)", ""),
    ("statistics: the time held is not counted", "add_statistic('held', held)", ""),
    ("statistics: leases are not counted by how long they were held", "add_statistic('l' .. bucket, 1)", ""),
    (
        "statistics: a lease held for a power of two is among the shorter ones",
        "held >= 1000 * 2 ^ bucket",
        "held > 1000 * 2 ^ bucket",
    ),
    (
        "release: an unknown lease is counted as an overage",
        "add_statistic('overages', lease_end and 1 or 0)",
        "add_statistic('overages', 1)",
    ),
    ("cancel: a reclaimed lease is cancelled", "lease_end < 0 and verb ~= 'release'\n    or ", ""),
    ("statistics: late releases are not counted", "add_statistic('overages',", "local _ = ("),
    (
        "statistics: the number of leases is missing",
        "ctx.lease_limit and ctx.lease_limit.live or leases and call",
        "leases and call",
    ),
    (
        "statistics: the number of leases of another policy is missing",
        "ctx.lease_limit.live or leases and call('ZCOUNT', leases, format('(%.0f', now), '+inf')",
        "ctx.lease_limit.live",
    ),
    (
        "statistics: expired leases of another policy are counted",
        "call('ZCOUNT', leases, format('(%.0f', now), '+inf')",
        "call('ZCARD', leases)",
    ),
    (
        "statistics: a lease of another policy that expires now is counted",
        "call('ZCOUNT', leases, format('(%.0f', now), '+inf')",
        "call('ZCOUNT', leases, format('%.0f', now), '+inf')",
    ),
    (
        "release: the mean time of leases is the last",
        "max(mean + math.floor((held - mean) / 8), 1) or held",
        "held or held",
    ),
    (
        "release: the time that leases are held is not kept",
        "ctx.queued.h, ctx.queued_text = mean",
        "ctx.queued_text = mean",
    ),
    ("verbs: a released lease is kept", "call('ZREM', lease_limit.key, id)", ""),
    (
        "verbs: the lease of another caller is removed",
        "call('ZREM', lease_limit.key, id)",
        "call('ZREMRANGEBYRANK', lease_limit.key, 0, 0)",
    ),
    (
        "verbs: a released lease still counts",
        "lease_limit.live = lease_limit.live - 1",
        "lease_limit.live = lease_limit.live",
    ),
    (
        "release: a release becomes late one microsecond too late",
        "now >= granted_at + lease_limit.b\n",
        "now > granted_at + lease_limit.b\n",
    ),
    (
        "release: no release of an unknown lease is late",
        "lease_limit and now >= granted_at + lease_limit.b\n",
        "false\n",
    ),
    (
        "release: no waiter is woken",
        "advance_queue()\n    if ctx.queue_changed then\n      write_queue_summary()\n    end\n    return {7}",
        "return {7}",
    ),
    (
        "release: an old permit of the same id is accepted",
        "local lease_end = find_lease(granted_at)\n",
        "local lease_end = find_lease()\n",
    ),
    (
        "renew: an old permit of the same id is accepted",
        "local lease_end = find_lease(ARGV[verb_at + 4] + 0)",
        "local lease_end = find_lease()",
    ),
    ("verbs: the record of a released lease is kept", "call('HDEL', records_key, LEASE .. id)", ""),
    (
        "verbs: a lease without a record cannot be released",
        "granted_at and recorded_at and recorded_at - granted_at ~= 0",
        "granted_at and (not recorded_at or recorded_at - granted_at ~= 0)",
    ),
    ("renew: an expired lease is renewed", "if not lease_end or lease_end <= now then", "if not lease_end then"),
    (
        "renew: a lease that expires now is renewed",
        "if not lease_end or lease_end <= now then",
        "if not lease_end or lease_end < now then",
    ),
    ("renew: the lease is not extended", "call('ZADD', lease_limit.key, to_text(now + timeout), id)", ""),
    (
        "renew: the expiry of the leases is not extended",
        "ipairs({lease_limit.key, records_key, KEYS[1]})",
        "ipairs({records_key, KEYS[1]})",
    ),
    (
        "renew: longer leases of other callers are ignored",
        "max(ctx.last_lease_end(), now + timeout) - now + LATE_RELEASE",
        "timeout + LATE_RELEASE",
    ),
    (
        "renew: the expiry of the records is not extended",
        "ipairs({lease_limit.key, records_key, KEYS[1]})",
        "ipairs({lease_limit.key, KEYS[1]})",
    ),
    (
        "renew: the expiry of the state is not extended",
        "ipairs({lease_limit.key, records_key, KEYS[1]})",
        "ipairs({lease_limit.key, records_key})",
    ),
    (
        "renew: the life of the state is shortened",
        "if call('PTTL', key) < lifetime / 1000 + 10000 then",
        "if true then",
    ),
    (
        "cancel: the ticket is kept",
        "remove_lease(lease_end)\n    end\n    if ticket then\n      remove_ticket",
        "remove_lease(lease_end)\n    end\n    if false then\n      remove_ticket",
    ),
    (
        "cancel: the lease is kept",
        "local ticket, lease_end = caller_ticket(), find_lease()",
        "local ticket, lease_end = caller_ticket(), nil",
    ),
    (
        "cancel: no waiter is woken",
        "add_statistic('r', 1)\n    end\n    advance_queue()",
        "add_statistic('r', 1)\n    end",
    ),
    (
        "cancel: the reply to the cancellation of a lease is unknown",
        "(ticket or lease_end) and 8 or 6",
        "ticket and 8 or 6",
    ),
    ("write: the state expires before its queue", "lifetime = max(lifetime, ctx.queued_until - now)", ""),
    (
        "write: the summary shortens the life of the state",
        "max(call('PTTL', KEYS[1]), math.ceil(lifetime / 1000) + 10000)",
        "math.ceil(lifetime / 1000) + 10000",
    ),
    (
        "write: the summary does not lengthen the life of the state",
        "max(call('PTTL', KEYS[1]), math.ceil(lifetime / 1000) + 10000)",
        "call('PTTL', KEYS[1])",
    ),
    (
        "write: the summary without a queue drops the overrides",
        "state .. overrides_text .. rest, 'KEEPTTL'",
        "state .. rest, 'KEEPTTL'",
    ),
    ("write: the summary drops the overrides", "  state = state .. overrides_text\n", ""),
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
