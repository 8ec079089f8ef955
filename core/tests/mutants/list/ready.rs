//! Mutants of the list of calls whose turn has come.

use super::Mutant;

pub const READY: &[Mutant] = &[
    ("ready: a damaged queue is no error", "    if ctx.damaged then\n", "    if false then\n"),
    ("ready: an empty queue is written", "if ctx.tickets > 0 and (ctx.queued.a", "if (ctx.queued.a"),
    ("ready: every question is written", "ASKED_FOR / 2 then", "ASKED_FOR then"),
    (
        "ready: the question is not kept",
        "ctx.queued.a, ctx.queued_text, ctx.queue_changed = now + ASKED_FOR, nil, true",
        "",
    ),
    ("ready: a later question counts for nothing", "(ctx.queued.a or 0) - now <= ASKED_FOR / 2", "not ctx.queued.a"),
    ("hosts: all ask at the next turn", "          after = MAX_POLL\n", ""),
    ("hosts: one that asks again is on the list twice", "if hosts[i].id == name then", "if false then"),
    (
        "hosts: one with a full list sleeps",
        "      if not is_full then\n        hosts[",
        "      if true then\n        hosts[",
    ),
    ("hosts: one with a full list does not ask at once", "is_full and 0 or min", "min"),
    ("hosts: nine are known", "if #hosts > MAX_HOSTS then", "if #hosts > MAX_HOSTS + 1 then"),
    (
        "hosts: the last is forgotten for a new one",
        "          table.remove(hosts, 1)\n",
        "          table.remove(hosts)\n",
    ),
    ("hosts: a question is forgotten at once", "known_until = now + ASKED_FOR", "known_until = now + 1"),
    ("hosts: the list is not written", "      write_hosts()\n", ""),
    ("hosts: the list has no expiry", "to_text(max(call('PTTL', records_key), KNOWN_MS))", "1"),
    ("ready: a host sleeps for longer than five seconds", "- now, 0), MAX_POLL)", "- now, 0), 2 * MAX_POLL)"),
    ("ready: the state is not written", "      write_queue_summary()\n", ""),
];
