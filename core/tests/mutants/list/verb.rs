//! Mutants of the verbs.

use super::Mutant;

pub const VERB: &[Mutant] = &[
    (
        "write: permits end early",
        "PERMIT_EXPIRY, SETTLED_MEMORY, MAX_PERMITS = 300000000, 310000",
        "PERMIT_EXPIRY, SETTLED_MEMORY, MAX_PERMITS = 300000000, 31000",
    ),
    ("leases: any end is taken, with an id", "lease <= 2 * MAX and lease % 1 == 0", "true"),
    ("leases: an end beyond all times is taken, with an id", "lease <= 2 * MAX and lease % 1 == 0", "lease % 1 == 0"),
    ("leases: fractions are taken, with an id", "lease <= 2 * MAX and lease % 1 == 0", "lease <= 2 * MAX"),
    (
        "write: the units of the queue are its tickets, in the line",
        "format(':%.0f:%.0f:%.0f:%.0f', tickets, tickets_units, tickets_until, now)",
        "format(':%.0f:%.0f:%.0f:%.0f', tickets, tickets, tickets_until, now)",
    ),
    (
        "write: the queue has no end, in the line",
        "format(':%.0f:%.0f:%.0f:%.0f', tickets, tickets_units, tickets_until, now)",
        "format(':%.0f:%.0f:%.0f:%.0f', tickets, tickets_units, MAX, now)",
    ),
    (
        "write: the line takes the time of the call",
        "  local state = format('%.0f %.0f', last, skew)\n",
        "  local state = format('%.0f %.0f', now, skew)\n",
    ),
    (
        "write: the line forgets what was taken",
        "call('SET', KEYS[1], state .. rest, 'PX', text(life))",
        "call('SET', KEYS[1], state, 'PX', text(life))",
    ),
    ("statistics: who gave up is not counted", "tally('refused', 1)", ""),
    ("statistics: the time held is not counted", "tally('held', max(now - granted_at, 0))", ""),
    ("statistics: late releases are not counted", "tally('overages',", "local _ = ("),
    (
        "statistics: a unit less for each grant",
        "(tonumber(stored[5] or nil) or 0) + counts[1]",
        "(tonumber(stored[5] or nil) or 0)",
    ),
    ("statistics: no lease is told", "slots and slots.live or 0, tickets", "0, tickets"),
    ("verbs: a lease is not given back", "call('ZREM', slots.key, id)", ""),
    ("verbs: another's lease is given back", "call('ZREM', slots.key, id)", "call('ZREMRANGEBYRANK', slots.key, 0, 0)"),
    ("verbs: what was given back still counts", "slots.live = slots.live - 1", "slots.live = slots.live"),
    ("release: late a microsecond late", "now >= granted_at + slots.b\n", "now > granted_at + slots.b\n"),
    ("release: never late", "slots and now >= granted_at + slots.b\n", "false\n"),
    ("release: calls nobody", "advance()\n  if touched then\n    write_line()\n  end\n  return {7}", "return {7}"),
    ("release: by an old permit of the same id", "local lease = lease_of(granted_at)\n", "local lease = lease_of()\n"),
    (
        "renew: by an old permit of the same id",
        "local lease = lease_of(ARGV[base + 4] + 0)",
        "local lease = lease_of()",
    ),
    ("verbs: whose a lease is is forgotten with it", "call('HDEL', records, LEASE .. id)", ""),
    (
        "verbs: a lease without a record is nobody's",
        "granted_at and since and since - granted_at ~= 0",
        "granted_at and (not since or since - granted_at ~= 0)",
    ),
    ("renew: a lease that has ended", "if not lease or lease <= now then", "if not lease then"),
    ("renew: a microsecond after the end", "if not lease or lease <= now then", "if not lease or lease < now then"),
    ("renew: changes nothing", "call('ZADD', slots.key, text(now + slots.b), id)", ""),
    ("renew: does not keep the leases", "ipairs({slots.key, records, KEYS[1]})", "ipairs({records, KEYS[1]})"),
    (
        "renew: forgets the longer leases of others",
        "local longest = max(slots.lease(slots.live), now + slots.b) - now",
        "local longest = slots.b",
    ),
    ("renew: does not keep the records", "ipairs({slots.key, records, KEYS[1]})", "ipairs({slots.key, KEYS[1]})"),
    ("renew: does not keep the state", "ipairs({slots.key, records, KEYS[1]})", "ipairs({slots.key, records})"),
    ("renew: shortens the life of the state", "if call('PTTL', name) < longest / 1000 + 10000 then", "if true then"),
    (
        "cancel: the ticket stays",
        "give_back(lease)\n  end\n  if ticket then\n    leave",
        "give_back(lease)\n  end\n  if false then\n    leave",
    ),
    (
        "cancel: the lease stays",
        "local ticket, lease = own_ticket(), lease_of()",
        "local ticket, lease = own_ticket(), nil",
    ),
    ("cancel: calls nobody", "tally('refused', 1)\n  end\n  advance()", "tally('refused', 1)\n  end"),
    ("cancel: a lease is nothing", "(ticket or lease) and 8 or 6", "ticket and 8 or 6"),
    ("orders: the amount that rules is not told", "own and (index < n and limits[index + 1].a or 0),", "nil,"),
    ("write: a state ends before its queue", "longest = max(longest, tickets_until - now)", ""),
    (
        "write: the line shortens the life of the state",
        "max(call('PTTL', KEYS[1]), math.ceil(longest / 1000) + 10000)",
        "math.ceil(longest / 1000) + 10000",
    ),
    (
        "write: the line does not lengthen the life of the state",
        "max(call('PTTL', KEYS[1]), math.ceil(longest / 1000) + 10000)",
        "call('PTTL', KEYS[1])",
    ),
    (
        "write: a line without a queue forgets its orders",
        "state .. orders .. rest, 'KEEPTTL'",
        "state .. rest, 'KEEPTTL'",
    ),
    ("write: a line forgets its orders", "  state = state .. orders\n", ""),
    (
        "check: a damaged lease is released",
        "local lease = lease_of(granted_at)\n  if damaged then",
        "local lease = lease_of(granted_at)\n  if false then",
    ),
    (
        "check: a damaged lease is renewed",
        "local lease = lease_of(ARGV[base + 4] + 0)\n  if damaged then",
        "local lease = lease_of(ARGV[base + 4] + 0)\n  if false then",
    ),
    ("check: a damaged lease or ticket is cancelled", "lease_of()\n  if damaged then", "lease_of()\n  if false then"),
];
