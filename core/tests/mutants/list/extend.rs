//! Mutants of extensions of permits, and of how a permit is found.

use super::Mutant;

pub const EXTEND: &[Mutant] = &[
    ("extend: a refusal names the whole charge", "to_text(refuses and taken[i] or charged[i])", "to_text(charged[i])"),
    ("find: an older id is unknown", "    if not mark then\n", "    if false then\n"),
    (
        "find: the units of an extended permit are those of the id",
        "charged[i] = sums[place] or sums[1]",
        "charged[i] = charged[i]",
    ),
    (
        "find: the units are in another order",
        "charged[i] = sums[place] or sums[1]",
        "charged[place] = sums[place] or sums[1]",
    ),
    (
        "find: one number is of the first limit alone",
        "charged[i] = sums[place] or sums[1]",
        "charged[i] = sums[place] or 0",
    ),
    (
        "find: a charge of one number is of the first limit alone",
        "charged[i] = charged[i] or charged[1]",
        "charged[i] = charged[i] or 0",
    ),
    ("find: a settled permit is open", "is_settled and 4 or 3, deadline", "3, deadline"),
    (
        "find: the deadline is one microsecond late",
        "if mark and now < deadline then",
        "if mark and now <= deadline then",
    ),
    ("find: a permit lives forever", "if mark and now < deadline then", "if mark then"),
    (
        "find: a permit is late one microsecond late",
        "now >= granted_at + PERMIT_TIMEOUT",
        "now > granted_at + PERMIT_TIMEOUT",
    ),
    ("extend: a permit that is not open is extended", "elseif status ~= 3 then", "elseif status == 6 then"),
    (
        "extend: a repeated call reserves again",
        "max((granted[i] or granted[1]) + own_units[i] - charged[i], 0)",
        "own_units[i]",
    ),
    (
        "extend: an older id takes units back",
        "max((granted[i] or granted[1]) + own_units[i] - charged[i], 0)",
        "(granted[i] or granted[1]) + own_units[i] - charged[i]",
    ),
    ("extend: a throttle is charged", "(kind == 't' or kind == 'c') and 0 or", "kind == 'c' and 0 or"),
    ("extend: a lease is charged", "(kind == 't' or kind == 'c') and 0 or", "kind == 't' and 0 or"),
    (
        "extend: the sum is not kept",
        "charged[i], most = units, charged[i] + units, max",
        "charged[i], most = units, charged[i], max",
    ),
    ("extend: too much is refused instead of an error", "    if exceeded then", "    if false then"),
    ("extend: the units are not checked", "evaluate(taken, nil, taken)", "evaluate(nil, nil, taken, now)"),
    ("extend: the units are not charged", "evaluate(taken, nil, taken)", "evaluate(taken, nil, nil)"),
    (
        "extend: a charge by label loses its labels",
        "local charge = is_one and sums[1] or",
        "local charge = true and sums[1] or",
    ),
    ("extend: nothing is refused", "    if most == 0 then", "    if most == 0 and wait == 0 then"),
    ("extend: a refusal charges", "    elseif wait > 0 then\n", "    elseif false then\n"),
    (
        "extend: the skew of a refusal is lost",
        "    elseif wait > 0 then\n      keep_skew()\n",
        "    elseif wait > 0 then\n",
    ),
    ("extend: the deadline is not that of the permit", "to_text(deadline * 2)", "to_text(deadline * 2 + 2)"),
    ("extend: the earlier charge can be settled too", "      call('ZREM', permits_key, permit)\n", ""),
    (
        "extend: the earlier ids are forgotten",
        "      keep_extension(base, charge, table.concat(units, ','), deadline)\n",
        "",
    ),
    ("extend: units are not counted", "      add_statistic('u', most)\n", ""),
    ("extend: a window gets no entries", "      append_to_logs(taken)\n", ""),
    ("extend: nobody is woken", "      if ctx.tickets > 0 then\n        advance_queue()\n      end\n", ""),
    (
        "extend: a woken ticket is evaluated on the levels before",
        "      append_to_logs(taken)\n      adopt_levels()\n",
        "      append_to_logs(taken)\n",
    ),
    ("extend: the state is not written", "      write_state(lifetime)\n", ""),
    ("extend: the amount of an override is not told", "is_overridden and (index", "nil and (index"),
    (
        "keep: the charges of extended permits never expire",
        "    call('PEXPIRE', extensions_key, to_text(max(call('PTTL', extensions_key), expiry(deadline - now) + 0)))\n",
        "",
    ),
    (
        "keep: a shorter permit shortens the time of others",
        "to_text(max(call('PTTL', extensions_key), expiry(deadline - now) + 0))",
        "expiry(deadline - now)",
    ),
    ("keep: lapsed charges are not removed", "if ends and ends <= now then", "if false then"),
    ("keep: charges of open permits are removed", "if ends and ends <= now then", "if ends then"),
    (
        "keep: the walk begins again with each call",
        "call('HSET', extensions_key, '', page[1])",
        "call('HSET', extensions_key, '', '0')",
    ),
    ("extend: a foreign value is found after the first write", "    call('HLEN', extensions_key)\n", ""),
    (
        "find: the mark of a settled permit is its deadline",
        "(is_settled and mark - 1 or mark) / 2",
        "(is_settled and mark + 1 or mark) / 2",
    ),
    (
        "reservations: all are of the grant",
        "for at, list in string.gmatch(extensions, '(%d+):([%d,]+)') do",
        "for at, list in string.gmatch('', '(%d+):([%d,]+)') do",
    ),
    (
        "reservations: the units are in another order",
        "min(numbers[place] or numbers[1], rest[i])",
        "min(numbers[i] or numbers[1], rest[i])",
    ),
    (
        "reservations: the first one is forgotten",
        "      reservations[i][#reservations[i] + 1] = {granted_at, rest[i]}\n",
        "",
    ),
    ("reservations: the last one has the time of the grant", "      last_at = max(last_at, at)\n", ""),
    (
        "reservations: the first extension comes first",
        "reservations[i][#reservations[i] + 1] = {at, of_limit}",
        "table.insert(reservations[i], 1, {at, of_limit})",
    ),
    (
        "keep: an extension forgets those before",
        "extensions, count = extensions .. ' ' .. extension, count + 1",
        "count = count + 1",
    ),
    ("keep: the extensions have no bound", "if count < MAX_EXTENSIONS then", "if true then"),
    ("find: a forgotten permit is never late", "now >= granted_at + PERMIT_TIMEOUT and 5 or 6", "6"),
    ("find: a forgotten permit is always late", "now >= granted_at + PERMIT_TIMEOUT and 5 or 6", "5"),
    (
        "find: a permit of another policy is found",
        "    local permit = tags .. '|' .. (id or '')\n",
        "    local permit = ''\n    for _, other in ipairs(call('ZRANGE', permits_key, 0, -1)) do\n      permit = string.match(other, '|(.*)$') == id and other or permit\n    end\n",
    ),
];
