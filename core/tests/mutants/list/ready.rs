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
    ("ready: a later question counts for nothing", "(ctx.queued.a or 0) - now < ASKED_FOR / 2", "not ctx.queued.a"),
    ("ready: the state is not written", "      write_queue_summary()\n", ""),
];
