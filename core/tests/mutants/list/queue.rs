//! Mutants of the queue.

use super::Mutant;

pub const QUEUE: &[Mutant] = &[
    (
        "statistics: the time waited begins with the last call",
        "ticket.units_text, ticket.queued_at, ticket.next_check, ticket.expires_at",
        "ticket.units_text, now, ticket.next_check, ticket.expires_at",
    ),
    ("statistics: expired tickets are not counted", "add_statistic('lapsed', 1)", ""),
    ("queue: a record outlives its ticket", "call('HDEL', records_key, ticket.id)", ""),
    (
        "queue: a record without a position is a ticket",
        "call('ZRANK', queue_key, id) and read_ticket(id) or nil",
        "read_ticket(id) or nil",
    ),
    (
        "queue: the records of leases expire with the tickets",
        "ctx.last_lease_end() - now + LATE_RELEASE or 0",
        "0 or 0",
    ),
    (
        "queue: the records of tickets expire with the leases",
        "expiry(max(lifetime, ctx.tickets > 0 and ctx.queued_until - now or 0))\nend",
        "expiry(lifetime)\nend",
    ),
    ("queue: units of removed tickets are still counted", "    add_loads(ctx.queued, ticket, -1)\n", ""),
    (
        "queue: the expiry of a ticket ahead is ignored",
        "ahead, first_expiry = ahead + 1, min(first_expiry, claim_end(ticket))",
        "ahead = ahead + 1",
    ),
    (
        "queue: each ticket ahead takes one unit",
        "          units_ahead[i] = (units_ahead[i] or 0) + (units[i] or 0)\n        end\n      end\n    end\n  end\n  unchecked",
        "          units_ahead[i] = (units_ahead[i] or 0) + 1\n        end\n      end\n    end\n  end\n  unchecked",
    ),
    (
        "queue: an invalid expiry in a record is accepted",
        "if is_damaged or expires_at - MAX > 0 then",
        "if is_damaged then",
    ),
    ("queue: an invalid claim timeout in a record is accepted", " or claim_timeout - MAX > 0", ""),
    ("queue: an invalid next check in a record is accepted", " or next_check - MAX > 0", ""),
    (
        "queue: invalid units before a ticket are accepted",
        "is_damaged = not (number and other) or number > MAX or other > MAX",
        "is_damaged = not (number and other) or number > MAX",
    ),
    (
        "queue: an invalid cost in a record is accepted",
        "is_damaged = not (number and other) or number > MAX or other > MAX",
        "is_damaged = not (number and other) or other > MAX",
    ),
    (
        "queue: the queue expires with the ticket that was written last",
        "ctx.queued_until, ctx.queue_changed = max(ctx.queued_until, ticket.expires_at), true",
        "ctx.queued_until, ctx.queue_changed = ticket.expires_at, true",
    ),
    ("queue: an expired ticket keeps its position", "(name == id or ticket.expires_at > now)", "true"),
    (
        "queue: a ticket expires one microsecond late",
        "(name == id or ticket.expires_at > now)",
        "(name == id or ticket.expires_at >= now)",
    ),
    (
        "queue: the caller's own ticket is removed",
        "(name == id or ticket.expires_at > now)",
        "(ticket.expires_at > now)",
    ),
    ("queue: one call removes all expired tickets", "(stays or ctx.removed >= MAX_EXPIRED)", "stays"),
    (
        "tickets: a ticket that shares a limit is not ahead",
        "if is_shared and not limit_exceeded_by(units) then",
        "if is_shared and ticket.tags == own_tags() and not limit_exceeded_by(units) then",
    ),
    (
        "tickets: only the last limit of a ticket can be shared",
        "is_shared = is_shared or units[i] ~= nil",
        "is_shared = units[i] ~= nil",
    ),
    (
        "tickets: every ticket has the limits of the call",
        "units[i] = ticket.units[ctx.limits[i].record_tag]",
        "units[i] = ticket.units[ctx.limits[i].record_tag] or 0",
    ),
    (
        "tickets: a ticket that shares no limit hides those behind it",
        "local ticket = ticket_at(checked)\n    position",
        "local ticket = ticket_at(ahead)\n    position",
    ),
    (
        "tickets: all policies have the same tags",
        "ctx.own_tags, ctx.tag_order = table.concat(tags, ','), order",
        "ctx.own_tags, ctx.tag_order = '-', order",
    ),
    (
        "advance: a wake-up does not set the expiry of the ticket",
        "ticket.next_check, ticket.expires_at = check, check + ticket.expires_at - ticket.next_check",
        "ticket.next_check = check",
    ),
    (
        "queue: a ticket that others pass by stops them",
        "is_passed = name ~= id and next_check + claim_timeout <= now and expires_at - now > 0,",
        "",
    ),
    (
        "queue: others pass a ticket by one microsecond late",
        "next_check + claim_timeout <= now and",
        "next_check + claim_timeout < now and",
    ),
    ("queue: a caller passes its own ticket by", "is_passed = name ~= id and", "is_passed ="),
    (
        "shares: a ticket loses its share",
        "  if ticket.share then\n    channel = channel .. LEASE .. ticket.share\n  end\n",
        "",
    ),
    (
        "priority: a ticket loses its priority",
        "  if ticket.priority > 0 then\n    number = format('%s:%.0f', number, ticket.priority)\n  end\n",
        "",
    ),
    (
        "shares: a share keeps tickets that have left",
        "format('%s %.0f', number, tickets - 1)",
        "format('%s %s', number, tickets)",
    ),
    ("shares: a share without tickets goes on where it was", "    call('HDEL', records_key, field)\n", ""),
    (
        "tickets: leases of another label are another limit",
        "tags[place] = limits[i].record_tag",
        "tags[place] = limits[i].tag",
    ),
    (
        "costs: tags are sorted as the caller has them",
        "(string.byte(one, k) or 0) < (string.byte(other, k) or 0)",
        "i < j",
    ),
    ("costs: changed loads are not written", "  ctx.queued_text = nil\n", ""),
];
