//! Mutants of the admin commands.

use super::Mutant;

pub const ADMIN: &[Mutant] = &[
    (
        "admin: an absolute time is read as a duration",
        "string.sub(text, 1, 1) == '@' and string.sub(text, 2) + 0 or now + text",
        "string.gsub(text, '@', '') + now",
    ),
    (
        "admin: a duration is read as an absolute time",
        "string.sub(text, 2) + 0 or now + text",
        "string.sub(text, 2) + 0 or text + 0",
    ),
    (
        "admin: the version is a count",
        "overrides.version = max(overrides.version + 1, now)",
        "overrides.version = overrides.version + 1",
    ),
    (
        "admin: the version is the time",
        "overrides.version = max(overrides.version + 1, now)",
        "overrides.version = now",
    ),
    (
        "admin: the new limits take effect with the next call only",
        "      limit.a, limit.b, limit.c = a + 0, b + 0, c + 0\n",
        "",
    ),
    (
        "admin: the log of a longer window keeps its short expiry",
        "        call('PEXPIRE', limit.key, expiry(limit.b))\n      end\n    end",
        "      end\n    end",
    ),
    (
        "admin: a resume does not end the pause",
        "overrides.paused_until, overrides.blocked_until, overrides.barred_until = 0, 0, 0",
        "overrides.blocked_until, overrides.barred_until = 0, 0",
    ),
    (
        "admin: a resume does not end a block by a command",
        "overrides.paused_until, overrides.blocked_until, overrides.barred_until = 0, 0, 0",
        "overrides.paused_until, overrides.barred_until = 0, 0",
    ),
    (
        "admin: a resume does not end a block by refusals",
        "overrides.paused_until, overrides.blocked_until, overrides.barred_until = 0, 0, 0",
        "overrides.paused_until, overrides.blocked_until = 0, 0",
    ),
    ("admin: a resume keeps the count of refusals", "        overrides.counted_until, overrides.refusals = 0, 0\n", ""),
    ("admin: a shorter block replaces a longer one", "max(overrides.blocked_until, to_time(", "max(0, to_time("),
    (
        "admin: a block is a pause",
        "overrides.blocked_until = max(overrides.blocked_until, to_time(",
        "overrides.paused_until = max(overrides.paused_until, to_time(",
    ),
    (
        "admin: a mode stays beyond its end",
        "overrides.overridden, overrides.mode = {}, nil",
        "overrides.overridden = {}",
    ),
    (
        "admin: a mode that has ended is stored",
        "overrides.overridden_until > now and string.sub(change, 3) or nil",
        "string.sub(change, 3)",
    ),
    ("admin: a mode is not removed", "change ~= '-M' and overrides", "change ~= '-M' and overrides.mode or overrides"),
    (
        "admin: a removal of all keeps the mode",
        "            overrides.mode = label ~= '' and overrides.mode or nil\n",
        "",
    ),
    ("admin: a removal of a label removes the mode", "label ~= '' and overrides.mode or nil", "nil"),
    ("admin: the reply has no mode", "in_use, overrides.mode or '',", "in_use, '',"),
    (
        "admin: the reply has no block by a command",
        "max(overrides.blocked_until, overrides.barred_until, now) - now",
        "max(overrides.barred_until, now) - now",
    ),
    (
        "admin: the reply has no block by refusals",
        "max(overrides.blocked_until, overrides.barred_until, now) - now",
        "max(overrides.blocked_until, now) - now",
    ),
    (
        "admin: the reply has no expiry of a mode",
        "(overridden ~= '' or overrides.mode) and until_time",
        "overridden ~= '' and until_time",
    ),
    ("admin: a shorter pause replaces a longer one", "max(overrides.paused_until, to_time(pause))", "to_time(pause)"),
    (
        "admin: a permanent override expires",
        "overrides.overridden_until = ends == '' and MAX or to_time(ends)",
        "overrides.overridden_until = ends == '' and now + 1 or to_time(ends)",
    ),
    ("admin: an override that should be kept is dropped", "if overrides.overridden_until <= now then", "if true then"),
    ("admin: a kept override applies after its expiry", "if overrides.overridden_until <= now then", "if false then"),
    ("admin: an override that has expired is stored", "overrides.overridden_until > now and numbers or nil", "numbers"),
    ("admin: a removal changes the end of the others", "if find(changes, '=', 1, true) then", "if true then"),
    ("admin: a removal of all removes none", "if label == '' or label == (", "if label == ("),
    (
        "admin: a removal of one label removes all",
        "if label == '' or label == (string.match(overridden, ':(.*)') or KIND_NAMES[overridden]) then",
        "if true then",
    ),
    (
        "admin: a limit with a label of its own is removed by the name of its kind",
        "(string.match(overridden, ':(.*)') or KIND_NAMES[overridden])",
        "KIND_NAMES[string.sub(overridden, 1, 1)]",
    ),
    ("labels: any number of them is overridden", "if has_too_many_labels(0) then", "if false then"),
    ("labels: one too few is overridden or learned", "return labels > MAX_LABELS", "return labels >= MAX_LABELS"),
    (
        "labels: learned limits are not counted",
        "(overrides.overridden[tag] or overrides.learned[tag]) and 1 or 0",
        "overrides.overridden[tag] and 1 or 0",
    ),
    (
        "labels: overrides are not counted",
        "(overrides.overridden[tag] or overrides.learned[tag]) and 1 or 0",
        "overrides.learned[tag] and 1 or 0",
    ),
    ("admin: a bucket has another name", "b = 'bucket'", "b = 'b'"),
    ("admin: a window has another name", "w = 'window'", "w = 'w'"),
    ("admin: a leaky limit has another name", "l = 'leaky'", "l = 'l'"),
    ("admin: points have another name", "p = 'points'", "p = 'p'"),
    ("admin: a throttle has another name", "t = 'throttle'", "t = 't'"),
    ("admin: concurrency has another name", "c = 'concurrency'", "c = 'c'"),
    (
        "admin: a limit that is overridden twice is listed twice",
        "      if known == tag then\n",
        "      if false then\n",
    ),
    ("admin: overrides of a limit without one are not stored", "    table.insert(overrides.tags, tag)\n", ""),
    ("admin: no waiter is woken", "      encode_overrides()\n      advance_queue()\n", "      encode_overrides()\n"),
    ("admin: the state is not written", "      write_state(lifetime)\n      local entry", "      local entry"),
    (
        "admin: the life of the state is shortened",
        "      write_state(lifetime)\n      local entry",
        "      write_state(0)\n      local entry",
    ),
    ("admin: a limiter that nobody has used is not listed", "        register_limiter(now)\n", ""),
    ("admin: a limiter is always listed again", "call('PTTL', KEYS[2]) - lasts / 1000 < 0", "true"),
    (
        "admin: an idle limiter is not listed again",
        "call('PTTL', KEYS[2]) - lasts",
        "call('PTTL', KEYS[2]) + 60000 - lasts",
    ),
    (
        "admin: it is listed for its ttl",
        "ARGV[verb_at + 5], ARGV[verb_at + 6] = text, text .. ",
        "ARGV[verb_at + 5], ARGV[verb_at + 6] = '1000000', '1000000' .. ",
    ),
    (
        "admin: the levels before the change drain under the new limits",
        "      evaluate()\n      adopt_levels()\n      if pause",
        "      if pause",
    ),
    ("admin: in_use is always false", "raw and 1 or own and attempt('HLEN', KEYS[2])", "0"),
    ("admin: in_use is always true", "raw and 1 or own and attempt('HLEN', KEYS[2])", "1"),
    ("admin: in_use ignores statistics", "raw and 1 or own and attempt('HLEN', KEYS[2])", "raw and 1 or 0"),
    ("admin: in_use counts the statistics of other keys", "own and attempt('HLEN'", "attempt('HLEN'"),
    (
        "admin: in_use ignores the state",
        "raw and 1 or own and attempt('HLEN', KEYS[2])",
        "own and attempt('HLEN', KEYS[2])",
    ),
    (
        "admin: the reply has a version without overrides",
        "overrides.is_in_force and overrides.version or 0",
        "overrides.version",
    ),
    (
        "admin: the reply has an expiry for permanent overrides",
        "until_time < MAX and until_time - now or 0",
        "until_time - now or 0",
    ),
    (
        "admin: the reply has an expiry without overrides",
        "(overridden ~= '' or overrides.mode) and until_time < MAX",
        "until_time < MAX",
    ),
    (
        "admin: the reply has a negative pause after its end",
        "max(overrides.paused_until - now, 0), remaining",
        "overrides.paused_until - now, remaining",
    ),
];
