//! Mutants of the walk along the queue.

use super::Mutant;

pub const ADVANCE: &[Mutant] = &[
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
    ("advance: the caller wakes itself", "ticket.id ~= id and ticket.channel ~= ''", "ticket.channel ~= ''"),
    (
        "advance: the end of a pause is not recorded in a ticket without a channel",
        "check + NOTIFY_SLACK then\n        -- It cannot be notified that a pause has ended, and must not block the others until the pause was to end.\n        call_again(ticket, check)",
        "check + NOTIFY_SLACK then",
    ),
    (
        "advance: a ticket that others pass by is woken",
        "(ticket.is_suspended or ticket.is_passed)) and not",
        "ticket.is_suspended) and not",
    ),
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
        "advance: a waiter without a channel blocks the others after a pause",
        "elseif verb == 'control' and ticket.channel == ''",
        "elseif false and ticket.channel == ''",
    ),
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
    (
        "hosts: one is told of a call that has a channel",
        "if not ready and ticket.channel == '' and",
        "if not ready and",
    ),
    ("hosts: one is told of the call that comes itself", "and (wait > 0 or ticket.id ~= id) and", "and"),
    ("hosts: one is told while another asks", "if not ready and ticket.channel", "if ticket.channel"),
    ("hosts: none is told of the next turn", "        wake_host(check)\n", ""),
    ("ready: the time of the next turn is not known", "        ctx.due_at = check\n", ""),
];
