//! Mutants of the script of several limiters.

use super::Mutant;

/// The file that decides over the replies of the limiters.
pub const TOGETHER: &[Mutant] = &[
    ("no own arguments for each decision", "{unpack(limiter.arguments)}", "limiter.arguments"),
    ("a peek takes", "    replies[i] = not failure and ask(limiter, false)\n", "    replies[i] = 0\n"),
    ("the ticket of a call is never removed", "    arguments[verb_at] = how\n", "    arguments[verb_at] = 'suspend'\n"),
    ("the ticket of a call is never suspended", "    arguments[verb_at] = how\n", "    arguments[verb_at] = 'leave'\n"),
    (
        "all are asked without a dry run",
        "  replies[i] = ask(limiter, true)\n  if failure",
        "  replies[i] = ask(limiter, false)\n  if failure",
    ),
    ("a call without a ticket is queued", "if without_ticket == #limiters then", "if false then"),
    ("no ticket of one is no ticket of all", "if without_ticket == #limiters then", "if without_ticket > 0 then"),
    ("only the position of the own ticket counts", "    limiter.arguments[limiter.verb_at + 10] = ''\n", ""),
    ("an excess is a refusal", "status == 4 or status == 5", "status == 4"),
    ("a call that exceeds a capacity keeps its tickets", "      hold_up(other, 'leave', '')\n", ""),
    ("a refusal of one is none", "  is_refused = is_refused or status == 0\n", ""),
    (
        "the last that queues is the first",
        "  first = first or status == 2 and i\n",
        "  first = status == 2 and i or first\n",
    ),
    ("a refusal is not counted", "(status == 0 or is_refused and", "(is_refused and"),
    ("a refusal in shadow is not counted", " or is_refused and status == 6 or", " or"),
    (
        "a refusal in shadow is counted before the call has ended",
        " or is_refused and status == 6 or",
        " or status == 6 or",
    ),
    (
        "one takes while another refuses",
        "or not is_refused and (i == first or not first)",
        "or i == first or not first",
    ),
    ("one takes while another queues", "(i == first or not first)", "true"),
    ("no ticket is taken", "(i == first or not first)", "not first"),
    ("nothing is taken", "(i == first or not first)", "i == first"),
    ("a refused call keeps its tickets", "  elseif is_refused and replies[i][1] ~= 0 then", "  elseif false then"),
    (
        "a held up call keeps its active tickets",
        "  elseif first and i ~= first and not is_refused then",
        "  elseif false then",
    ),
    (
        "the active ticket is suspended",
        "  elseif first and i ~= first and not is_refused then",
        "  elseif first and not is_refused then",
    ),
    ("a suspended ticket does not wait", "string.format('%.0f', replies[first][4])", "'0'"),
];

/// What a call does in a limiter while another one holds it up.
pub const HELD_UP: &[Mutant] = &[
    ("a suspended ticket loses its place", "    if verb == 'leave' then\n", "    if true then\n"),
    ("a ticket is never removed", "    if verb == 'leave' then\n", "    if false then\n"),
    ("a suspended ticket is load", "      add_loads(ctx.queued, ticket, -1)\n", ""),
    ("a suspended ticket has units", "'%d+', '0'", "'%d+', '%0'"),
    (
        "a suspended ticket waits from its last check",
        "now + ARGV[verb_at + 7]",
        "ticket.next_check + ARGV[verb_at + 7]",
    ),
    ("a suspended ticket lapses at its check", "ticket.next_check + ticket.claim_timeout", "ticket.next_check"),
    ("a suspended ticket is not written", "      write_ticket(ticket)\n", ""),
    ("the summary is not written", "    write_queue_summary()\n", ""),
];

/// The decision without its writes, in other files: the file and its mutants.
pub const DRY_RUN: &[(&str, &[Mutant])] = &[
    (
        "engine/fast_path.lua",
        &[
            ("a dry run takes", "verb == 'acquire' and not dry_run\n", "verb == 'acquire'\n"),
            ("nothing takes", "verb == 'acquire' and not dry_run\n", "verb == 'acquire' and dry_run\n"),
        ],
    ),
    (
        "engine/transaction/acquire.lua",
        &[
            (
                "a dry run takes behind the fast path",
                "if verb ~= 'peek' and not dry_run then",
                "if verb ~= 'peek' then",
            ),
            ("a dry run never needs an id", "      return {4, 0, 0, 0, 0, now}\n", ""),
        ],
    ),
    ("engine/describe.lua", &[("a dry run is described as if it took", " and not dry_run", "")]),
    (
        "engine/transaction/join.lua",
        &[("a ticket that rises is not written", "nil\n    write_ticket(ticket)\n", "nil\n")],
    ),
    (
        "engine/transaction/enter.lua",
        &[
            ("a dry run takes a ticket or a unit", "    if dry_run then\n", "    if false then\n"),
            ("a dry run never queues", "wait > 0 and queues and 2 or status, index", "status, index"),
            (
                "a dry run keeps the summary of removed tickets",
                "        -- Tickets that have expired left the queue, or others were notified.\n        write_queue_summary()\n",
                "",
            ),
        ],
    ),
    (
        "engine/transaction/queue.lua",
        &[
            (
                "a suspended ticket stops others",
                "is_shared and not (ticket.is_suspended or ticket.is_passed)\n",
                "is_shared and not ticket.is_passed\n",
            ),
            ("no ticket is suspended", "is_suspended = not find(cost, '[1-9]')", "is_suspended = false"),
        ],
    ),
];
