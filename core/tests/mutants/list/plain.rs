//! Mutants of the fast path.

use super::Mutant;

pub const PLAIN: &[Mutant] = &[
    (
        "clock: a look moves the clock on",
        "    elseif verb == 'acquire' then\n      if wait > 0 and attempt",
        "    else\n      if verb == 'acquire' and wait > 0 and attempt",
    ),
    (
        "check: anything may follow the numbers of a call without an id",
        "if damaged or raw and cursor ~= #raw then",
        "if damaged then",
    ),
    (
        "check: a damaged log is used without an id",
        "if damaged or raw and cursor ~= #raw then",
        "if raw and cursor ~= #raw then",
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
        "if limit_wait > wait or wait == 0",
        "if limit_wait > 0 and limit_wait >= wait or wait == 0",
    ),
    (
        "decide: the shortest wait refuses, without an id",
        "if limit_wait > wait or wait == 0",
        "if limit_wait > 0 and (wait == 0 or limit_wait < wait) or wait == 0",
    ),
    (
        "decide: the last of equals is described, without an id",
        "wait == 0 and limit_remaining < least_remaining then",
        "wait == 0 and limit_remaining <= least_remaining then",
    ),
    ("decide: a look takes", "local change = verb == 'acquire' and units or 0", "local change = units"),
    (
        "decide: nothing is taken and written",
        "if wait == 0 and change > 0 then",
        "if wait == 0 and verb == 'acquire' then",
    ),
    (
        "decide: a look tells of what would be left",
        "local cost, delta = units_ahead + units, change",
        "local cost, delta = units_ahead + units, units",
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
        "      call('SET', KEYS[1], state .. levels, 'PX', format('%.0f', math.ceil(longest_reset / 1000) + 10000))\n",
        "",
    ),
    (
        "write: the state of a grant without an id has no expiry",
        "state .. levels, 'PX', format('%.0f', math.ceil(longest_reset / 1000) + 10000))",
        "state .. levels)",
    ),
    (
        "write: a state of a grant without an id ends when it is whole",
        "math.ceil(longest_reset / 1000) + 10000)",
        "math.ceil(longest_reset / 1000))",
    ),
    (
        "write: a state ends with the first limit, without an id",
        "  if limit_reset > longest_reset then",
        "  if longest_reset == 0 then",
    ),
    (
        "write: a state lives for ever after a clock ran backwards, without an id",
        "string.match(raw, '^%d+ %d+(.*)'), 'KEEPTTL')",
        "string.match(raw, '^%d+ %d+(.*)'), nil)",
    ),
    (
        "write: a log of calls without an id never ends",
        "        call('PEXPIRE', log, math.ceil(window_limit[2] / 1000) + 10000)\n",
        "",
    ),
    (
        "write: a log of calls without an id ends early",
        "math.ceil(window_limit[2] / 1000) + 10000",
        "math.ceil(window_limit[2] / 1000)",
    ),
    (
        "newcomers: pass before the queue, without an id",
        "local ahead, units_ahead = tickets, queued_units",
        "local ahead, units_ahead = 0, 0",
    ),
    (
        "newcomers: stand behind a queue that has lapsed, without an id",
        "if now >= queued_until or units == 0 then",
        "if units == 0 then",
    ),
    ("newcomers: those before them refuse for ever", "  if wait > 0 and ahead > 0 then\n", "  if false then\n"),
    (
        "write: a state ends before its queue, without an id",
        "        longest_reset = max(longest_reset, queued_until - now)\n",
        "",
    ),
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
    ("decide: a refusal is a grant", "wait == 0 and 1 or 0, index", "1, index"),
    ("decide: the server's time is told", "remaining, wait, reset, now,", "remaining, wait, reset, server_time,"),
    (
        "overrides: the reply lacks the amount in force",
        "is_overridden and (index < limit_count and ARGV[4 * index + 3] + 0 or 0),",
        "nil,",
    ),
    (
        "newcomers: forget the queue",
        "        state = state .. format(':%.0f:%.0f:%.0f:%.0f', tickets, queued_units, queued_until, now)\n",
        "",
    ),
    (
        "statistics: those of grants never end",
        "'granted', 1) == 1 then\n        expire_statistics()",
        "'granted', 1) == 1 then",
    ),
    (
        "statistics: those of refusals never end",
        "'refused', 1) == 1 then\n        expire_statistics()",
        "'refused', 1) == 1 then",
    ),
    ("pause: refuses no call", "if paused_until - now > wait then", "if false then"),
    ("pause: outweighs a longer wait", "if paused_until - now > wait then", "if paused_until > now then"),
    (
        "pause: is a limit",
        "index, wait, remaining, reset = limit_count, paused_until - now, 0, paused_until - now",
        "wait, remaining, reset = paused_until - now, 0, paused_until - now",
    ),
    ("pause: overrides are not kept by a grant", "        state = state .. overrides.text\n", ""),
    (
        "pause: orders are forgotten by a grant before a queue",
        "        state = state .. overrides.text\n",
        "        state = tickets > 0 and state or state .. overrides.text\n",
    ),
    ("pause: overrides expire with the state", "      longest_reset = max(longest_reset, overrides.lifetime)\n", ""),
    ("decide: what can pass is told of another limit", "return {5, i, a, 0, 0, now}", "return {5, 0, a, 0, 0, now}"),
    ("decide: what can never pass waits", "return {5, i, a, 0, 0, now}", "return {5, i, 0, 0, 0, now}"),
    (
        "override: nobody waits for its end, without an id",
        "if overridden and limit_wait > overridden_until - now and overridden_until < MAX and overridden[i + 1] ~= '-' then",
        "if false then",
    ),
    (
        "override: its end is that of all limits, without an id",
        "if overridden and limit_wait > overridden_until - now and overridden_until < MAX and overridden[i + 1] ~= '-' then",
        "if overridden and limit_wait > overridden_until - now and overridden_until > now and overridden_until < MAX then",
    ),
];
