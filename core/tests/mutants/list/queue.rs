//! Mutants of the queue.

use super::Mutant;

pub const QUEUE: &[Mutant] = &[
    (
        "ready: calls that wait for a wake-up are listed",
        "if ready and wait == 0 and ticket.channel == '' then",
        "if ready and wait == 0 then",
    ),
    (
        "ready: calls whose turn has not come are listed",
        "if ready and wait == 0 and ticket.channel == '' then",
        "if ready and ticket.channel == '' then",
    ),
    ("ready: one too many", "if #ready == count then", "if #ready > count then"),
    ("ready: a call is listed again", "ticket.id, CALLED", "ticket.id, ''"),
    (
        "ready: the claim timeout does not begin",
        "        call_again(ticket, now)\n      elseif",
        "        write_ticket(ticket)\n      elseif",
    ),
    ("ready: as many tickets are read as by another call", "MAX_CHECKED_TICKETS + (count or 0)", "MAX_CHECKED_TICKETS"),
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
        "lease_limit.lease_end(lease_limit.live) - now + LATE_RELEASE or 0",
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
        "  call_again(ticket, check)\n        end\n      end\n      if ready and",
        "  ticket.next_check = check\n        end\n      end\n      if ready and",
    ),
    ("advance: a waiter without a listener stops the advance", "if wait > 0 and is_present then", "if wait > 0 then"),
    ("advance: tickets behind one that must wait are woken", "if wait > 0 and is_present then", "if false then"),
    (
        "advance: woken tickets take no units",
        "          units_ahead[i] = (units_ahead[i] or 0) + (units[i] or 0)\n        end\n        first_expiry",
        "          units_ahead[i] = 0\n        end\n        first_expiry",
    ),
    (
        "advance: only the last ticket ahead limits the wait of the next one",
        "first_expiry or min(first_expiry, claim_end(ticket))",
        "first_expiry or claim_end(ticket)",
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
    ("advance: the caller wakes itself", "ticket.id ~= id and ticket.channel ~= ''", "ticket.channel ~= ''"),
    (
        "advance: a wake-up does not set the expiry of the ticket",
        "ticket.next_check, ticket.expires_at = check, check + ticket.expires_at - ticket.next_check",
        "ticket.next_check = check",
    ),
    (
        "advance: the end of a pause is not recorded in a ticket without a channel",
        "check + NOTIFY_SLACK then\n        -- It cannot be notified that a pause has ended, and must not block the others until the pause was to end.\n        call_again(ticket, check)",
        "check + NOTIFY_SLACK then",
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
        "advance: a ticket that others pass by is woken",
        "(ticket.is_suspended or ticket.is_passed)) and not",
        "ticket.is_suspended) and not",
    ),
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
        "advance: tickets that share no limit get a message",
        "if (is_shared or verb == 'control' and not (ticket.is_suspended or ticket.is_passed)) and not",
        "if not",
    ),
    (
        "advance: the end of a pause wakes no ticket of another policy",
        "if (is_shared or verb == 'control' and not (ticket.is_suspended or ticket.is_passed)) and not",
        "if is_shared and not",
    ),
    (
        "advance: a ticket that shares no limit hides those behind it",
        "    else\n      checked = checked + 1\n    end\n  end\nend",
        "    else\n      return\n    end\n  end\nend",
    ),
    (
        "advance: the ticket behind one that was removed is passed over",
        "checked = is_present and checked + 1 or checked\n",
        "checked = checked + 1\n",
    ),
    (
        "tickets: leases of another label are another limit",
        "tags[place] = limits[i].record_tag",
        "tags[place] = limits[i].tag",
    ),
    (
        "advance: a waiter without a channel blocks the others after a pause",
        "elseif verb == 'control' and ticket.channel == ''",
        "elseif false and ticket.channel == ''",
    ),
    (
        "costs: tags are sorted as the caller has them",
        "(string.byte(one, k) or 0) < (string.byte(other, k) or 0)",
        "i < j",
    ),
    ("costs: changed loads are not written", "  ctx.queued_text = nil\n", ""),
    ("mode: shadow by an override wakes nobody", "if overrides and overrides.mode == 's' then", "if false then"),
    (
        "mode: shadow wakes also those that a pause holds up",
        "max(overrides.paused_until, overrides.blocked_until, now) - now",
        "0",
    ),
    (
        "mode: shadow wakes also those that a block holds up",
        "max(overrides.paused_until, overrides.blocked_until, now) - now",
        "max(overrides.paused_until, now) - now",
    ),
];
