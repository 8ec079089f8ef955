//! Mutants of the fast path.

use super::Mutant;

pub const FAST_PATH: &[Mutant] = &[
    (
        "levels: what was taken under a higher limit that was learned is forgotten by a call that takes nothing of it",
        "largest = overrides.largest(tag, own, a)",
        "largest = max(own, a)",
    ),
    ("quota: it is decided as a bucket", "if kind == 'b' then\n        count", "if true then\n        count"),
    (
        "clock: a peek writes the changed skew",
        "    elseif writes then\n      if wait > 0 then",
        "    else\n      if writes and wait > 0 then",
    ),
    (
        "check: text behind the state is accepted, without an id",
        "if is_decided and (not raw or string.sub(raw, cursor + 1) == ' .') then",
        "if is_decided then",
    ),
    (
        "check: a state that was cut off is accepted, without an id",
        "string.sub(raw, cursor + 1) == ' .') then",
        "cursor + 2 > #raw or string.sub(raw, cursor + 1) == ' .') then",
    ),
    (
        "check: another end of the state is accepted, without an id",
        "string.sub(raw, cursor + 1) == ' .') then",
        "cursor + 2 == #raw) then",
    ),
    ("write: the end of the state is missing", "state .. levels .. ' .', 'PX'", "state .. levels, 'PX'"),
    (
        "check: a damaged log is used without an id",
        "    if damaged then\n      return redis.error_reply(DAMAGED)\n    end\n",
        "",
    ),
    (
        "check: what is damaged is forgotten, without an id",
        "damaged, limit_wait, limit_remaining, limit_reset = true,",
        "damaged, limit_wait, limit_remaining, limit_reset = false,",
    ),
    (
        "check: a count above its maximum is accepted, without an id",
        "held - MAX > 0 or count - 2 * held > 0",
        "held - MAX > 0",
    ),
    ("check: any stored limit is accepted, without an id", "held - MAX > 0 or ", ""),
    ("check: any stored capacity is accepted, without an id", "full > MAX or ", ""),
    ("check: a level above its maximum is accepted, without an id", " or level - 2 * full > 0", ""),
    ("kinds: a throttle counts the cost, without an id", "      taken = min(units, 1)\n", "      taken = units\n"),
    ("kinds: a throttle counts a peek of cost 0, without an id", "      taken = min(units, 1)\n", "      taken = 1\n"),
    (
        "decide: the last of equal waits is the reason, without an id",
        "if limit_wait > wait or wait == 0",
        "if limit_wait > 0 and limit_wait >= wait or wait == 0",
    ),
    (
        "decide: the shortest wait is the reason, without an id",
        "if limit_wait > wait or wait == 0",
        "if limit_wait > 0 and (wait == 0 or limit_wait < wait) or wait == 0",
    ),
    (
        "decide: the last of limits with equal remaining units is reported, without an id",
        "wait == 0 and limit_remaining < least_remaining then",
        "wait == 0 and limit_remaining <= least_remaining then",
    ),
    ("decide: a peek charges", "verb == 'acquire' and taken or 0", "taken"),
    (
        "decide: a call of cost 0 is written",
        "if wait == 0 and (costs or units > 0) and writes then",
        "if wait == 0 and writes then",
    ),
    (
        "log: a call adds one entry for any cost, without an id",
        "push(log, format('%.0f', now), taken)",
        "push(log, format('%.0f', now), 1)",
    ),
    ("log: the log is not trimmed, without an id", "if length > live and taken > 0 then", "if false then"),
    ("log: one entry too many is kept, without an id", "0, live + taken - 1)", "0, live + taken)"),
    ("log: one entry too few is kept, without an id", "0, live + taken - 1)", "0, live + taken - 2)"),
    (
        "write: a grant is not written",
        "      call('SET', KEYS[1], state .. levels .. ' .', 'PX', format('%.0f', math.ceil(longest_reset / 1000) + 10000))\n",
        "",
    ),
    (
        "write: the state of a grant without an id has no expiry",
        "state .. levels .. ' .', 'PX', format('%.0f', math.ceil(longest_reset / 1000) + 10000))",
        "state .. levels .. ' .')",
    ),
    (
        "write: the state of a grant without an id expires as soon as it is reset",
        "math.ceil(longest_reset / 1000) + 10000)",
        "math.ceil(longest_reset / 1000))",
    ),
    (
        "write: the state expires with the first limit, without an id",
        "  if limit_reset > longest_reset then",
        "  if longest_reset == 0 then",
    ),
    (
        "write: a changed skew removes the expiry of the state, without an id",
        "string.match(raw, '^%d+ %d+(.*)'), 'KEEPTTL')",
        "string.match(raw, '^%d+ %d+(.*)'), nil)",
    ),
    (
        "write: the log of a call without an id has no expiry",
        "        call('PEXPIRE', log, math.ceil(window_limit[2] / 1000) + 10000)\n",
        "",
    ),
    (
        "write: the log of a call without an id expires early",
        "math.ceil(window_limit[2] / 1000) + 10000",
        "math.ceil(window_limit[2] / 1000)",
    ),
    ("new calls: a new call passes before the queue, without an id", "taken + (ahead and ahead[tag] or 0)", "taken"),
    (
        "new calls: expired tickets ahead refuse a new call, without an id",
        "  if wait > 0 and (ahead or is_special) then\n",
        "  if wait > 0 and is_special then\n",
    ),
    (
        "mode: it has no effect, without an id",
        "  if wait > 0 and (ahead or is_special) then\n",
        "  if wait > 0 and ahead then\n",
    ),
    ("mode: an override of it has no effect, without an id", "is_special or overrides.mode\n", "is_special\n"),
    ("block: it has no effect, without an id", "  if blocked_until - now > wait then\n", "  if false then\n"),
    (
        "block: one by a command has no effect, without an id",
        "max(overrides.blocked_until, overrides.barred_until), is_special",
        "overrides.barred_until, is_special",
    ),
    (
        "block: one by refusals has no effect, without an id",
        "max(overrides.blocked_until, overrides.barred_until), is_special",
        "overrides.blocked_until, is_special",
    ),
    (
        "block: it is described as a pause, without an id",
        "limit_count + 1, blocked_until - now, 0",
        "limit_count, blocked_until - now, 0",
    ),
    (
        "write: the state expires before its queue, without an id",
        "        longest_reset = max(longest_reset, queued_until - now)\n",
        "",
    ),
    ("check: a capacity of zero is accepted", "if full == 0 or full > MAX", "if full > MAX"),
    (
        "records: a window takes the record of another window",
        "        if held_tag ~= tag then",
        "        if not held_tag then",
    ),
    (
        "records: a bucket takes the record of another bucket",
        "if held_tag ~= tag or held - MAX > 0",
        "if not held_tag or held - MAX > 0",
    ),
    (
        "records: a meter takes the record of another meter",
        "local full = held_tag == tag and",
        "local full = held_tag and",
    ),
    ("decide: a refusal is reported as a grant", "wait == 0 and 1 or 0, index", "1, index"),
    ("decide: the reply has the server's time", "remaining, wait, reset, now,", "remaining, wait, reset, server_time,"),
    (
        "overrides: the reply lacks the amount in force",
        "is_overridden and (index < limit_count and ARGV[4 * index + 3] + 0 or 0),",
        "nil,",
    ),
    (
        "new calls: a grant drops the summary of the queue",
        "        state = state .. format(':%.0f:%.0f:%.0f:', tickets, queued_until, now) .. queued\n",
        "",
    ),
    (
        "statistics: grants are not counted",
        "      add_statistic(5 * remaining <= ARGV[4 * index + 3] + 0 and 'n' or 'g', 1)\n",
        "",
    ),
    ("statistics: units are not counted", "      add_statistic('u', units - 1)\n", ""),
    ("statistics: grants near a limit are not told", " and 'n' or 'g', 1)", " and 'g' or 'g', 1)"),
    ("statistics: grants near a limit are no grants", " and 'n' or 'g', 1)", " and 'near_limit' or 'g', 1)"),
    ("statistics: a fifth is not near a limit", "(5 * remaining <= ARGV", "(5 * remaining < ARGV"),
    ("statistics: refusals are not counted", "        add_statistic('r', 1, index)\n", ""),
    (
        "statistics: refusals are not counted by label",
        "        add_statistic('r', 1, index)\n",
        "        add_statistic('r', 1)\n",
    ),
    (
        "statistics: grants are counted as refusals",
        "      if wait > 0 then\n        add_statistic",
        "      if true then\n        add_statistic",
    ),
    ("pause: a pause refuses no call", "if paused_until - now > wait then", "if false then"),
    ("pause: a pause replaces a longer wait", "if paused_until - now > wait then", "if paused_until > now then"),
    (
        "pause: a limit is reported as the reason",
        "index, wait, remaining, reset = limit_count, paused_until - now, 0, paused_until - now",
        "wait, remaining, reset = paused_until - now, 0, paused_until - now",
    ),
    ("pause: a grant drops the overrides", "        state = state .. overrides.text\n", ""),
    (
        "pause: a grant with a queue drops the overrides",
        "        state = state .. overrides.text\n",
        "        state = tickets > 0 and state or state .. overrides.text\n",
    ),
    ("pause: overrides expire with the state", "      longest_reset = max(longest_reset, overrides.lifetime)\n", ""),
    (
        "override: the wait ignores the end of the override, without an id",
        "if overridden and limit_wait > overridden_until - now and overridden_until < MAX and overridden[tag] then",
        "if false then",
    ),
    (
        "override: its end shortens the wait for limits without an override, without an id",
        "if overridden and limit_wait > overridden_until - now and overridden_until < MAX and overridden[tag] then",
        "if overridden and limit_wait > overridden_until - now and overridden_until > now and overridden_until < MAX then",
    ),
    (
        "costs: every limit takes the largest cost, without an id",
        "local taken = costs and costs[i + 1] or units",
        "local taken = units",
    ),
    (
        "costs: a cost above a limit is refused as if it could pass, without an id",
        "elseif kind == 'c' or taken > a then",
        "elseif kind == 'c' then",
    ),
];
