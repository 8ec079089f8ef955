//! Mutants of joining the queue.

use super::Mutant;

pub const JOIN: &[Mutant] = &[
    (
        "enter: two tickets get the same number",
        "local number = read_counter() + 1\n",
        "local number = max(read_counter(), 1)\n",
    ),
    (
        "enter: a ticket number never given is accepted",
        "requested and requested <= counter and requested or nil",
        "requested",
    ),
    (
        "enter: a returning waiter does not get its ticket number back",
        "requested and requested <= counter and requested or nil",
        "nil",
    ),
    (
        "enter: a returning waiter has no units ahead",
        "known and min(known, ticket and MAX or total) or total",
        "known and 0 or total",
    ),
    (
        "enter: a returning waiter has all tickets ahead",
        "return call('ZCOUNT', queue_key, '-inf', to_text(min(requested, LEVEL - 1) - priority * LEVEL))",
        "return ctx.tickets",
    ),
    ("enter: ticket numbers do not rise", "return max(counter, own.number)", "return counter"),
    (
        "enter: a new ticket records no units ahead",
        "known and min(known, ticket and MAX or total) or total",
        "known and min(known, ticket and MAX or total) or 0",
    ),
    ("enter: a new ticket is not counted in the queue", "      ctx.tickets = ctx.tickets + 1\n", ""),
    ("enter: the units of a new ticket are not counted", "    add_loads(ctx.queued, own, 1)\n", ""),
    ("enter: a ticket keeps the limits of the policy that queued it", "    if is_same then\n", "    if ticket then\n"),
    (
        "costs: a ticket keeps the cost of its first call",
        "is_same = is_same and ticket.units[ctx.limits[i].record_tag] == own_units[i]",
        "is_same = is_same",
    ),
    ("costs: the cost of the call before is still queued", "      add_loads(ctx.queued, ticket, -1)\n", ""),
    ("costs: the loads of all tickets are not kept", "      add_loads(totals, own, 1)\n", ""),
    (
        "priority: a returning waiter is counted among those of priority 0",
        "to_text(min(requested, LEVEL - 1) - priority * LEVEL)",
        "to_text(min(requested, LEVEL - 1))",
    ),
    ("priority: a new call is behind all tickets", "priority == 0 and share == '' and not ctx.queued.r", "share == ''"),
    (
        "priority: a call of priority 0 passes those of a higher one",
        "call('ZADD', queue_key, to_text(own.number - own.priority * LEVEL), id)",
        "call('ZADD', queue_key, to_text(own.number), id)",
    ),
    ("shares: the weight counts for nothing", "step_of(units, weight)", "step_of(units, 1)"),
    ("shares: a weight is rounded down", "* SCALE + math.floor(by_weight / 2)", "* SCALE"),
    (
        "shares: a share has no more than one ticket in a row",
        "(read_share(share_field)))\n    local number",
        "0)\n    local number",
    ),
    (
        "shares: a new share begins at the beginning",
        "max(last_granted or max(read_counter(), 1), (read_share(share_field)))",
        "(read_share(share_field))",
    ),
    (
        "shares: the last of a tie is the first",
        "first + (tie and min(tie + 1 - score, TIES) or 0), number",
        "first, number",
    ),
    (
        "shares: a grant without a ticket is no turn",
        "        of_share, number = next_number()\n",
        "        number = 0\n",
    ),
    (
        "shares: a grant loses the lowest digits of its number",
        "without_tie(of_share) == number and of_share or number",
        "number",
    ),
    (
        "shares: a grant counts for the last ticket of its share",
        "without_tie(of_share) == number and of_share or number",
        "max(of_share, number)",
    ),
    (
        "shares: the first of a tie loses the lowest digits",
        "is_tie and number or max(last, number)",
        "max(last, number)",
    ),
    ("shares: those that came before stay ahead", "count_earlier(counter)\n    end", "counter\n    end"),
    ("shares: those that came before have one number", "number = min(number + step_of(most, 1), LEVEL)", ""),
    ("shares: those that came before count for one", "most = max(most, taken)", "most = 1"),
    (
        "shares: the tickets that came before are not counted",
        "format('%.0f %.0f', number, #names)",
        "format('%.0f 1', number)",
    ),
    ("shares: all priorities are one", "'(' .. to_text((1 - priority) * LEVEL)", "'(' .. to_text(LEVEL)"),
    ("aging: no ticket rises", "if risen <= ticket.priority or ticket.is_suspended then", "if true then"),
    ("aging: a ticket rises above 9", "HIGHEST = 131072, 127, 250, 9", "HIGHEST = 131072, 127, 250, 10"),
    ("aging: it rises each time that it calls", "min(priority + math.floor(", "min(ticket.priority + math.floor("),
    ("aging: it rises at half the time", "(now - ticket.queued_at) / aging)", "(now - ticket.queued_at) * 2 / aging)"),
    ("aging: it has waited since it rose", "    ticket.queued_at = queued_at\n", ""),
    ("aging: it leaves its share", "priority, share = risen, left_share or ''", "priority, share = risen, ''"),
    ("aging: it still counts among those of the lower priority", "      leave_share(left, left_share)\n", ""),
    (
        "aging: its number is given again",
        "counter = take_place(ticket, nil, counter)",
        "take_place(ticket, nil, counter)",
    ),
    ("aging: it keeps its place", "to_text(ticket.number - ticket.priority * LEVEL)", "to_text(ticket.number)"),
    (
        "aging: the state does not say that a priority has shares",
        "    ctx.queued_text = nil\n    write_ticket(ticket)",
        "    write_ticket(ticket)",
    ),
    ("shares: the number of a share falls", "max(last, share_number), tickets + 1", "share_number, tickets + 1"),
];
