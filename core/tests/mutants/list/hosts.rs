//! Mutants of the hosts that sleep until the turn of a job has come.

use super::Mutant;

pub const HOSTS: &[Mutant] = &[
    ("hosts: one that asks no more is told", "if known_until - now > 0 then", "if true then"),
    ("hosts: the last that was told stays", "    call('HDEL', records_key, HOSTS)\n", ""),
    (
        "hosts: one is told though another asks by then",
        "if hosts[i].due_at <= at + NOTIFY_SLACK then",
        "if hosts[i].due_at < at then",
    ),
    (
        "hosts: a wake-up has an absolute time instead of a delay",
        "'%.0f %s', at - now, host.id",
        "'%.0f %s', at, host.id",
    ),
    ("hosts: all are told of one turn", "    if receivers > 0 then\n", "    if false then\n"),
    ("hosts: one without a listener hides the others", "    if receivers > 0 then\n", "    if true then\n"),
    ("hosts: a PUBLISH that is not permitted fails the call", "attempt('PUBLISH'", "call('PUBLISH'"),
    ("hosts: a PUBLISH that is not permitted is a number", "if type(receivers) ~= 'number' then", "if false then"),
    ("hosts: the time that one was told is forgotten", "      host.due_at = at\n", ""),
    (
        "hosts: one that was told of a later turn leaves the list",
        "elseif receivers > 0 and at > now then",
        "elseif false then",
    ),
    ("hosts: those that are gone stay on the list", "  if count > 0 then\n", "  if false then\n"),
];
