//! Mutants of the queue.

use super::Mutant;

pub const QUEUE: &[Mutant] = &[
    (
        "statistics: time waited begins with the last look",
        "ticket.units, ticket.queued_at, ticket.next_check,",
        "ticket.units, now, ticket.next_check,",
    ),
    ("statistics: what has lapsed is not counted", "add_statistic('lapsed', 1)", ""),
    ("queue: a record outlives its ticket", "call('HDEL', records_key, ticket.id)", ""),
    (
        "queue: who has left is still counted",
        "ctx.tickets, ctx.queue_changed, ctx.removed = ctx.tickets - 1, true, ctx.removed + 1",
        "ctx.tickets, ctx.queue_changed, ctx.removed = ctx.tickets, true, ctx.removed + 1",
    ),
    (
        "queue: a record without a place is a ticket",
        "call('ZRANK', queue_key, id) and read_ticket(id) or nil",
        "read_ticket(id) or nil",
    ),
    (
        "queue: records end with the tickets",
        "lease_limit.lease_end(lease_limit.live) - now + LATE_RELEASE or 0",
        "0 or 0",
    ),
    (
        "queue: records end with the leases",
        "expiry(max(lifetime, ctx.tickets > 0 and ctx.queued_until - now or 0))\nend",
        "expiry(lifetime)\nend",
    ),
    ("queue: units of removed tickets stay", "max(ctx.queued_units - ticket.units, 0) or 0", "ctx.queued_units or 0"),
    (
        "queue: a lapse ahead is not looked forward to",
        "units_ahead + ticket.units, min(first_expiry, ticket.expires_at)",
        "units_ahead + ticket.units, first_expiry",
    ),
    (
        "queue: a ticket ahead takes one unit",
        "units_ahead + ticket.units, min(first_expiry, ticket.expires_at)",
        "units_ahead + 1, min(first_expiry, ticket.expires_at)",
    ),
    ("queue: any record is taken", "if not channel or expires_at - MAX > 0", "if not channel or false"),
    ("queue: any grace is taken", " or claim_timeout - MAX > 0", ""),
    ("queue: any time to look is taken", " or next_check - MAX > 0", ""),
    ("queue: any start is taken", " or before - MAX > 0", ""),
    ("queue: any units are taken", "\n    or cost - MAX > 0", ""),
    (
        "queue: it ends with the last ticket that was kept",
        "ctx.queued_until, ctx.queue_changed = max(ctx.queued_until, ticket.expires_at), true",
        "ctx.queued_until, ctx.queue_changed = ticket.expires_at, true",
    ),
    (
        "advance: no waiter is woken",
        "attempt('PUBLISH', ticket.channel, format('%.0f %s', check - now, ticket.id))",
        "1",
    ),
    ("advance: waiters without a listener keep their position", "if receivers == 0 then", "if false then"),
    ("advance: a PUBLISH that is not permitted fails the call", "attempt('PUBLISH'", "call('PUBLISH'"),
    ("advance: a PUBLISH that is not permitted counts as received", "elseif type(receivers) == 'number' then", "else"),
    (
        "advance: a call says when, not how soon",
        "format('%.0f %s', check - now, ticket.id)",
        "format('%.0f %s', check, ticket.id)",
    ),
    ("advance: the next does not hear of a lapse before it", "or min(now + wait, first_expiry)", "or now + wait"),
    (
        "advance: who looks in time is called again",
        "ticket.next_check > check + (wait == 0 and 0 or NOTIFY_SLACK)",
        "ticket.next_check >= check",
    ),
    (
        "advance: a call is forgotten",
        "check, check + ticket.claim_timeout\n        write_ticket(ticket)",
        "check, check + ticket.claim_timeout",
    ),
    ("advance: a waiter without a listener stops the advance", "if wait > 0 and is_present then", "if wait > 0 then"),
    ("advance: it goes on behind one that must wait", "if wait > 0 and is_present then", "if false then"),
    (
        "advance: those called take nothing",
        "ahead, units_ahead = ahead + 1, units_ahead + ticket.units\n",
        "ahead, units_ahead = ahead + 1, units_ahead\n",
    ),
    (
        "advance: the turn of the next is that of the last",
        "first_expiry or min(first_expiry, ticket.expires_at)",
        "first_expiry or ticket.expires_at",
    ),
    (
        "queue: a lapsed ticket keeps its place",
        "(name == id or ticket.expires_at > now and not limit_exceeded_by(ticket.units))",
        "true",
    ),
    (
        "queue: a ticket lapses a microsecond late",
        "ticket.expires_at > now and not limit_exceeded_by",
        "ticket.expires_at >= now and not limit_exceeded_by",
    ),
    (
        "queue: the caller's own ticket is purged",
        "(name == id or ticket.expires_at > now and",
        "(ticket.expires_at > now and",
    ),
    ("queue: all lapsed tickets are removed by one call", "(stays or ctx.removed >= MAX_EXPIRED)", "stays"),
    ("queue: a ticket above a lowered limit stays", " and not limit_exceeded_by(ticket.units))", ")"),
    ("advance: the caller wakes itself", "ticket.id ~= id and ticket.channel ~= ''", "ticket.channel ~= ''"),
    (
        "advance: a call does not shorten the grace",
        "ticket.next_check, ticket.expires_at = check, check + ticket.claim_timeout\n        write_ticket(ticket)",
        "ticket.next_check = check\n        write_ticket(ticket)",
    ),
    (
        "advance: who cannot be told stops the others",
        "    if verb == 'control' and ticket.channel == ''",
        "    if false and ticket.channel == ''",
    ),
];
