//! Mutants of the calls without an id.

use super::Mutant;

pub const PLAIN: &[Mutant] = &[
    (
        "clock: a look moves the clock on",
        "    elseif verb == 'acquire' then\n      if wait > 0 and attempt",
        "    else\n      if verb == 'acquire' and wait > 0 and attempt",
    ),
    (
        "check: anything may follow the numbers of a call without an id",
        "if damaged or raw and position ~= #raw then",
        "if damaged then",
    ),
    (
        "check: a damaged log is used without an id",
        "if damaged or raw and position ~= #raw then",
        "if raw and position ~= #raw then",
    ),
    (
        "check: entries are not checked, without an id",
        "if not (time and time >= 0 and time <= now and time % 1 == 0) then",
        "if not time then",
    ),
    ("check: entries of the future are taken, without an id", "time <= now and ", ""),
    ("check: fractions in a log are taken, without an id", "time <= now and time % 1 == 0", "time <= now"),
    (
        "check: a count above its limit is taken, without an id",
        "held - MAX > 0 or count - 2 * held > 0",
        "held - MAX > 0",
    ),
    ("check: any limit is taken for the one that was held, without an id", "held - MAX > 0 or ", ""),
    ("check: any capacity is taken for the one that was held, without an id", "full > MAX or ", ""),
    ("check: a level above its capacity is taken, without an id", " or level - 2 * full > 0", ""),
    (
        "kinds: a throttle counts costs without an id",
        "cost, delta = ahead + min(units, 1), min(change, 1)",
        "cost, delta = ahead + units, change",
    ),
    (
        "kinds: a throttle counts looks without an id",
        "cost, delta = ahead + min(units, 1), min(change, 1)",
        "cost, delta = ahead + 1, min(change, 1)",
    ),
    (
        "decide: the last of equal waits refuses, without an id",
        "if w > wait or wait == 0",
        "if w > 0 and w >= wait or wait == 0",
    ),
    (
        "decide: the shortest wait refuses, without an id",
        "if w > wait or wait == 0",
        "if w > 0 and (wait == 0 or w < wait) or wait == 0",
    ),
    (
        "decide: the last of equals is described, without an id",
        "wait == 0 and left < least then",
        "wait == 0 and left <= least then",
    ),
    ("decide: a look takes", "local change = verb == 'acquire' and units or 0", "local change = units"),
    (
        "decide: nothing is taken and written",
        "if wait == 0 and change > 0 then",
        "if wait == 0 and verb == 'acquire' then",
    ),
    (
        "decide: a look tells of what would be left",
        "local cost, delta = before + units, change",
        "local cost, delta = before + units, units",
    ),
    (
        "log: a cost is one entry without an id",
        "push(log, format('%.0f', now), units)",
        "push(log, format('%.0f', now), 1)",
    ),
    ("log: it grows for ever without an id", "if length > live then", "if false then"),
    ("log: it is cut one too long without an id", "0, live + units - 1)", "0, live + units)"),
    ("log: it is cut one too short without an id", "0, live + units - 1)", "0, live + units - 2)"),
    (
        "write: a grant is not written",
        "      call('SET', KEYS[1], state, 'PX', format('%.0f', math.ceil(ends / 1000) + 10000))\n",
        "",
    ),
    (
        "write: the state of a grant without an id has no expiry",
        "state, 'PX', format('%.0f', math.ceil(ends / 1000) + 10000))",
        "state)",
    ),
    (
        "write: a state of a grant without an id ends when it is whole",
        "math.ceil(ends / 1000) + 10000)",
        "math.ceil(ends / 1000))",
    ),
    ("write: a state ends with the first limit, without an id", "  if r > ends then", "  if ends == 0 then"),
    (
        "write: a state lives for ever after a clock ran backwards, without an id",
        "string.match(raw, '^%d+ %d+(.*)'), 'KEEPTTL')",
        "string.match(raw, '^%d+ %d+(.*)'), nil)",
    ),
    (
        "write: a log of calls without an id never ends",
        "        call('PEXPIRE', log, math.ceil(w[2] / 1000) + 10000)\n",
        "",
    ),
    ("write: a log of calls without an id ends early", "math.ceil(w[2] / 1000) + 10000", "math.ceil(w[2] / 1000)"),
    (
        "newcomers: pass before the queue, without an id",
        "local ahead, before = tickets, tickets_units",
        "local ahead, before = 0, 0",
    ),
    (
        "newcomers: stand behind a queue that has lapsed, without an id",
        "if now >= tickets_until or units == 0 then",
        "if units == 0 then",
    ),
    ("newcomers: those before them refuse for ever", "  if wait > 0 and ahead > 0 then\n", "  if false then\n"),
    ("write: a state ends before its queue, without an id", "        ends = max(ends, tickets_until - now)\n", ""),
    (
        "statistics: a damaged one stops a grant without an id",
        "attempt('HINCRBY', KEYS[2], 'granted', 1)",
        "call('HINCRBY', KEYS[2], 'granted', 1)",
    ),
    (
        "statistics: a damaged one stops a refusal without an id",
        "attempt('HINCRBY', KEYS[2], 'refused', 1)",
        "call('HINCRBY', KEYS[2], 'refused', 1)",
    ),
    (
        "statistics: grants are not counted",
        "attempt('HINCRBY', KEYS[2], 'granted', 1)",
        "attempt('HINCRBY', KEYS[2], 'granted', 0)",
    ),
    (
        "statistics: units are not counted",
        "attempt('HINCRBY', KEYS[2], 'units', units - 1)",
        "attempt('HINCRBY', KEYS[2], 'units', 0)",
    ),
    (
        "statistics: refusals are not counted",
        "attempt('HINCRBY', KEYS[2], 'refused', 1)",
        "attempt('HINCRBY', KEYS[2], 'refused', 0)",
    ),
    ("check: a capacity of nothing is taken", "if full == 0 or full > MAX", "if full > MAX"),
    ("decide: a refusal is a grant", "return {wait == 0 and 1 or 0, index", "return {1, index"),
    ("decide: the server's time is told", "remaining, wait, reset, now, own", "remaining, wait, reset, server, own"),
    ("orders: the amount that rules is not told", "own and (index < n and ARGV[4 * index + 3] + 0 or 0)}", "nil}"),
    (
        "newcomers: forget the queue",
        "format('%.0f %.0f:%.0f:%.0f:%.0f:%.0f', now, skew, tickets, tickets_units, tickets_until, now)",
        "format('%.0f %.0f', now, skew)",
    ),
    (
        "statistics: those of grants never end",
        "'granted', 1) == 1 then\n        begin_statistics()",
        "'granted', 1) == 1 then",
    ),
    (
        "statistics: those of refusals never end",
        "'refused', 1) == 1 then\n        begin_statistics()",
        "'refused', 1) == 1 then",
    ),
    ("pause: stops nobody", "if pause - now > wait then", "if false then"),
    ("pause: outweighs a longer wait", "if pause - now > wait then", "if pause > now then"),
    (
        "pause: is a limit",
        "index, wait, remaining, reset = n, pause - now, 0, pause - now",
        "wait, remaining, reset = pause - now, 0, pause - now",
    ),
    ("pause: orders are forgotten by a grant", "now, skew) .. orders .. state", "now, skew) .. state"),
    (
        "pause: orders are forgotten by a grant before a queue",
        "tickets_until, now) .. orders .. state",
        "tickets_until, now) .. state",
    ),
    ("pause: orders end with the state", "      ends = max(ends, orders_life)\n", ""),
    ("decide: what can pass is told of another limit", "return {5, i, a, 0, 0, now}", "return {5, 0, a, 0, 0, now}"),
    ("decide: what can never pass waits", "return {5, i, a, 0, 0, now}", "return {5, i, 0, 0, 0, now}"),
    (
        "override: nobody waits for its end, without an id",
        "if told and w > told_until - now and told_until < MAX and told[i + 1] ~= '-' then",
        "if false then",
    ),
    (
        "override: its end is that of all limits, without an id",
        "if told and w > told_until - now and told_until < MAX and told[i + 1] ~= '-' then",
        "if told and w > told_until - now and told_until > now and told_until < MAX then",
    ),
];
