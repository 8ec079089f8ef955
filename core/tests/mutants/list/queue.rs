//! Mutants of the queue.

use super::Mutant;

pub const QUEUE: &[Mutant] = &[
    (
        "statistics: the time waited begins with the last call",
        "ticket.units, ticket.queued_at, ticket.next_check,",
        "ticket.units, now, ticket.next_check,",
    ),
    ("statistics: expired tickets are not counted", "add_statistic('lapsed', 1)", ""),
    ("queue: a record outlives its ticket", "call('HDEL', records_key, ticket.id)", ""),
    (
        "queue: removed tickets are still counted",
        "ctx.tickets, ctx.queue_changed, ctx.removed = ctx.tickets - 1, true, ctx.removed + 1",
        "ctx.tickets, ctx.queue_changed, ctx.removed = ctx.tickets, true, ctx.removed + 1",
    ),
    (
        "queue: a record without a position is a ticket",
        "call('ZRANK', queue_key, id) and read_ticket(id) or nil",
        "read_ticket(id) or nil",
    ),
    (
        "queue: the records of leases expire with the tickets",
        "lease_limit.lease_end(lease_limit.live) - now + LATE_RELEASE or 0",
        "0 or 0",
    ),
    (
        "queue: the records of tickets expire with the leases",
        "expiry(max(lifetime, ctx.tickets > 0 and ctx.queued_until - now or 0))\nend",
        "expiry(lifetime)\nend",
    ),
    (
        "queue: units of removed tickets are still counted",
        "max(ctx.queued_units - ticket.units, 0) or 0",
        "ctx.queued_units or 0",
    ),
    (
        "queue: the expiry of a ticket ahead is ignored",
        "units_ahead + ticket.units, min(first_expiry, ticket.expires_at)",
        "units_ahead + ticket.units, first_expiry",
    ),
    (
        "queue: each ticket ahead takes one unit",
        "units_ahead + ticket.units, min(first_expiry, ticket.expires_at)",
        "units_ahead + 1, min(first_expiry, ticket.expires_at)",
    ),
    (
        "queue: an invalid expiry in a record is accepted",
        "if not channel or expires_at - MAX > 0",
        "if not channel or false",
    ),
    ("queue: an invalid claim timeout in a record is accepted", " or claim_timeout - MAX > 0", ""),
    ("queue: an invalid next check in a record is accepted", " or next_check - MAX > 0", ""),
    ("queue: invalid units before a ticket are accepted", " or before - MAX > 0", ""),
    ("queue: an invalid cost in a record is accepted", "\n    or cost - MAX > 0", ""),
    (
        "queue: the queue expires with the ticket that was written last",
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
        "advance: a wake-up has an absolute time instead of a delay",
        "format('%.0f %s', check - now, ticket.id)",
        "format('%.0f %s', check, ticket.id)",
    ),
    (
        "advance: the wake-up of the next waiter ignores the expiry of tickets ahead",
        "or min(now + wait, first_expiry)",
        "or now + wait",
    ),
    (
        "advance: a waiter that rechecks in time is woken again",
        "ticket.next_check > check + (wait == 0 and 0 or NOTIFY_SLACK)",
        "ticket.next_check >= check",
    ),
    (
        "advance: a wake-up is not recorded in the ticket",
        "check, check + ticket.claim_timeout\n          write_ticket(ticket)",
        "check, check + ticket.claim_timeout",
    ),
    ("advance: a waiter without a listener stops the advance", "if wait > 0 and is_present then", "if wait > 0 then"),
    ("advance: tickets behind one that must wait are woken", "if wait > 0 and is_present then", "if false then"),
    (
        "advance: woken tickets take no units",
        "ahead, units_ahead = ahead + 1, units_ahead + ticket.units\n",
        "ahead, units_ahead = ahead + 1, units_ahead\n",
    ),
    (
        "advance: only the last ticket ahead limits the wait of the next one",
        "first_expiry or min(first_expiry, ticket.expires_at)",
        "first_expiry or ticket.expires_at",
    ),
    (
        "queue: an expired ticket keeps its position",
        "(name == id or ticket.expires_at > now and not limit_exceeded_by(ticket.units, (tags_of(ticket))))",
        "true",
    ),
    (
        "queue: a ticket expires one microsecond late",
        "ticket.expires_at > now and not limit_exceeded_by",
        "ticket.expires_at >= now and not limit_exceeded_by",
    ),
    (
        "queue: the caller's own ticket is removed",
        "(name == id or ticket.expires_at > now and",
        "(ticket.expires_at > now and",
    ),
    ("queue: one call removes all expired tickets", "(stays or ctx.removed >= MAX_EXPIRED)", "stays"),
    (
        "queue: a ticket above a lowered limit is kept",
        " and not limit_exceeded_by(ticket.units, (tags_of(ticket))))",
        ")",
    ),
    (
        "tickets: a ticket of another policy is removed as too large for a limit that it does not have",
        "limit_exceeded_by(ticket.units, (tags_of(ticket)))",
        "limit_exceeded_by(ticket.units)",
    ),
    (
        "tickets: a ticket of another policy is evaluated with all limits",
        "ticket.units, 0, nil, tags)",
        "ticket.units, 0)",
    ),
    (
        "tickets: a ticket that shares a limit is not ahead",
        "    if is_shared then\n",
        "    if not tags_of(ticket) then\n",
    ),
    ("tickets: a ticket that shares no limit is ahead", "    if is_shared then\n", "    if true then\n"),
    ("tickets: only the last limit of a ticket can be shared", "is_shared = is_shared or find(", "is_shared = find("),
    (
        "tickets: a tag that begins like another one is shared",
        "find(',' .. ctx.own_tags .. ',', ',' .. tag .. ',', 1, true)",
        "find(',' .. ctx.own_tags, ',' .. tag, 1, true)",
    ),
    (
        "tickets: a tag that ends like another one is shared",
        "find(',' .. ctx.own_tags .. ',', ',' .. tag .. ',', 1, true)",
        "find(ctx.own_tags .. ',', tag .. ',', 1, true)",
    ),
    ("tickets: a ticket of another policy has no limits", "    tags[tag] = true\n", ""),
    ("tickets: every ticket has the limits of the call", "ticket.tags == ctx.own_tags then", "true then"),
    (
        "tickets: a ticket that shares no limit hides those behind it",
        "local ticket = ticket_at(checked)\n    position",
        "local ticket = ticket_at(ahead)\n    position",
    ),
    ("tickets: all policies have the same tags", "  return table.concat(tags, ',')\n", "  return '-'\n"),
    ("advance: the caller wakes itself", "ticket.id ~= id and ticket.channel ~= ''", "ticket.channel ~= ''"),
    (
        "advance: a wake-up does not set the expiry of the ticket",
        "ticket.next_check, ticket.expires_at = check, check + ticket.claim_timeout\n          write_ticket(ticket)",
        "ticket.next_check = check\n          write_ticket(ticket)",
    ),
    (
        "advance: the end of a pause is not recorded in a ticket without a channel",
        "check, check + ticket.claim_timeout\n        write_ticket(ticket)",
        "check, check + ticket.claim_timeout",
    ),
    (
        "advance: the end of a pause does not set the expiry of a ticket without a channel",
        "ticket.next_check, ticket.expires_at = check, check + ticket.claim_timeout\n        write_ticket(ticket)",
        "ticket.next_check = check\n        write_ticket(ticket)",
    ),
    ("advance: tickets that share no limit get a message", "if is_shared or verb == 'control' then", "if true then"),
    (
        "advance: the end of a pause wakes no ticket of another policy",
        "if is_shared or verb == 'control' then",
        "if is_shared then",
    ),
    (
        "advance: tickets that share no limit take units",
        "    else\n      checked = checked + 1\n",
        "    else\n      ahead, units_ahead, checked = ahead + 1, units_ahead + ticket.units, checked + 1\n",
    ),
    (
        "advance: tickets that share no limit take units at the end of a pause",
        "if is_present and is_shared then",
        "if is_present then",
    ),
    (
        "advance: a ticket that shares no limit hides those behind it",
        "    else\n      checked = checked + 1\n",
        "    else\n      return\n",
    ),
    (
        "advance: the ticket behind one that was removed is passed over",
        "checked = is_present and checked + 1 or checked\n",
        "checked = checked + 1\n",
    ),
    (
        "tickets: leases of another label are another limit",
        "tags[i] = ctx.limits[i].record_tag",
        "tags[i] = ctx.limits[i].tag",
    ),
    (
        "advance: a waiter without a channel blocks the others after a pause",
        "    if verb == 'control' and ticket.channel == ''",
        "    if false and ticket.channel == ''",
    ),
];
