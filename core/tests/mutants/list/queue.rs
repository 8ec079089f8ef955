//! Mutants of the queue.

use super::Mutant;

pub const QUEUE: &[Mutant] = &[
    (
        "statistics: time waited begins with the last look",
        "ticket.units, ticket.since, ticket.look,",
        "ticket.units, now, ticket.look,",
    ),
    ("statistics: what has lapsed is not counted", "tally('lapsed', 1)", ""),
    ("queue: a record outlives its ticket", "call('HDEL', records, ticket.id)", ""),
    (
        "queue: who has left is still counted",
        "tickets, touched, removed = tickets - 1, true, removed + 1",
        "tickets, touched, removed = tickets, true, removed + 1",
    ),
    (
        "queue: a record without a place is a ticket",
        "call('ZRANK', queue, id) and ticket_of(id) or nil",
        "ticket_of(id) or nil",
    ),
    ("queue: records end with the tickets", "slots.lease(slots.live) - now + LATE or 0\n  return", "0 or 0\n  return"),
    (
        "queue: records end with the leases",
        "expiry(max(longest, tickets > 0 and tickets_until - now or 0))\nend",
        "expiry(longest)\nend",
    ),
    ("queue: the units of who has left stay", "max(tickets_units - ticket.units, 0) or 0", "tickets_units or 0"),
    (
        "queue: a lapse ahead is not looked forward to",
        "before + ticket.units, min(lapse, ticket.lapse)",
        "before + ticket.units, lapse",
    ),
    (
        "queue: a ticket ahead takes one unit",
        "before + ticket.units, min(lapse, ticket.lapse)",
        "before + 1, min(lapse, ticket.lapse)",
    ),
    ("queue: any record is taken", "if not channel or lapse - MAX > 0", "if not channel or false"),
    ("queue: any grace is taken", " or grace - MAX > 0", ""),
    ("queue: any time to look is taken", " or look - MAX > 0", ""),
    ("queue: any start is taken", " or start - MAX > 0", ""),
    ("queue: any units are taken", " or cost - MAX > 0", ""),
    (
        "queue: it ends with the last ticket that was kept",
        "tickets_until, touched = max(tickets_until, ticket.lapse), true",
        "tickets_until, touched = ticket.lapse, true",
    ),
    ("advance: nobody is called", "attempt('PUBLISH', ticket.channel, format('%.0f %s', look - now, ticket.id))", "1"),
    ("advance: the deaf keep their place", "if ears == 0 then", "if false then"),
    ("advance: who may not publish fails", "attempt('PUBLISH'", "call('PUBLISH'"),
    ("advance: who may not publish is taken for heard", "elseif type(ears) == 'number' then", "else"),
    (
        "advance: a call says when, not how soon",
        "format('%.0f %s', look - now, ticket.id)",
        "format('%.0f %s', look, ticket.id)",
    ),
    ("advance: the next does not hear of a lapse before it", "or min(now + wait, turn)", "or now + wait"),
    (
        "advance: who looks in time is called again",
        "ticket.look > look + (wait == 0 and 0 or SLACK)",
        "ticket.look >= look",
    ),
    ("advance: a call is forgotten", "look + ticket.grace\n        keep(ticket)", "look + ticket.grace"),
    ("advance: one that is deaf ends it", "if wait > 0 and heard then", "if wait > 0 then"),
    ("advance: it goes on behind one that must wait", "if wait > 0 and heard then", "if false then"),
    (
        "advance: those called take nothing",
        "ahead, before, turn = ahead + 1, before + ticket.units,",
        "ahead, before, turn = ahead + 1, before,",
    ),
    ("advance: the turn of the next is that of the last", "turn or min(turn, ticket.lapse)", "turn or ticket.lapse"),
    (
        "queue: a lapsed ticket keeps its place",
        "(name == id or ticket.lapse > now and not misfit(ticket.units))",
        "true",
    ),
    (
        "queue: a ticket lapses a microsecond late",
        "ticket.lapse > now and not misfit",
        "ticket.lapse >= now and not misfit",
    ),
    ("queue: the caller's own ticket is purged", "(name == id or ticket.lapse > now and", "(ticket.lapse > now and"),
    ("queue: all that are dead are removed by one call", "(stays or removed >= MAX_LAPSED)", "stays"),
    ("queue: who has become too large stays", " and not misfit(ticket.units))", ")"),
    ("advance: the caller calls itself", "ticket.id ~= id and ticket.channel ~= ''", "ticket.channel ~= ''"),
    (
        "advance: a call does not shorten the grace",
        "ticket.look, ticket.lapse = look, look + ticket.grace\n        keep(ticket)\n      end\n    end\n    if",
        "ticket.look = look\n        keep(ticket)\n      end\n    end\n    if",
    ),
    (
        "advance: who cannot be told stops the others",
        "    if verb == 'control' and ticket.channel == ''",
        "    if false and ticket.channel == ''",
    ),
];
