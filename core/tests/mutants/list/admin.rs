//! Mutants of setting overrides and pauses.

use super::Mutant;

pub const ADMIN: &[Mutant] = &[
    (
        "order: a time is a span",
        "string.sub(text, 1, 1) == '@' and string.sub(text, 2) + 0 or now + text",
        "string.gsub(text, '@', '') + now",
    ),
    ("order: a span is a time", "string.sub(text, 2) + 0 or now + text", "string.sub(text, 2) + 0 or text + 0"),
    (
        "order: the version counts",
        "overrides.version = max(overrides.version + 1, now)",
        "overrides.version = overrides.version + 1",
    ),
    (
        "order: the version is the time",
        "overrides.version = max(overrides.version + 1, now)",
        "overrides.version = now",
    ),
    ("order: takes effect with the next call", "      limit.a, limit.b, limit.c = a + 0, b + 0, c + 0\n", ""),
    (
        "order: writes the levels under the old numbers",
        "    ARGV[4 * i - 1], ARGV[4 * i], ARGV[4 * i + 1] = a, b, c\n",
        "",
    ),
    (
        "order: a longer window forgets",
        "        call('PEXPIRE', limit.key, expiry(limit.b))\n      end\n    end",
        "      end\n    end",
    ),
    ("order: an end to a pause does not end it", "        overrides.paused_until = 0\n", ""),
    ("order: a shorter pause rules a longer one", "max(overrides.paused_until, to_time(pause))", "to_time(pause)"),
    (
        "order: what is told for ever ends",
        "overrides.overridden_until = ends == '' and MAX or to_time(ends)",
        "overrides.overridden_until = ends == '' and now + 1 or to_time(ends)",
    ),
    ("order: what is kept is dropped", "if text ~= '=' or overrides.overridden_until <= now then", "if true then"),
    (
        "order: what is kept outlives its end",
        "if text ~= '=' or overrides.overridden_until <= now then",
        "if text ~= '=' then",
    ),
    ("order: calls nobody", "      encode_overrides()\n      advance_queue()\n", "      encode_overrides()\n"),
    (
        "order: is not written",
        "      write_state(lifetime)\n    end\n    encode_overrides()",
        "    end\n    encode_overrides()",
    ),
    (
        "order: shortens the life of the state",
        "      write_state(lifetime)\n    end\n    encode_overrides()",
        "      write_state(0)\n    end\n    encode_overrides()",
    ),
    (
        "order: what drained before did so by the new numbers",
        "      evaluate(0, 0, nil, 0)\n      adopt_levels()\n      if pause",
        "      if pause",
    ),
    ("order: nothing is in use", "raw and 1 or attempt('HLEN', KEYS[2])", "0"),
    ("order: everything is in use", "raw and 1 or attempt('HLEN', KEYS[2])", "1"),
    ("order: only a state is in use", "raw and 1 or attempt('HLEN', KEYS[2])", "raw and 1 or 0"),
    ("order: only what has statistics is in use", "raw and 1 or attempt('HLEN', KEYS[2])", "attempt('HLEN', KEYS[2])"),
    ("order: tells the version of nothing", "overrides.text == '' and 0 or overrides.version", "overrides.version"),
    (
        "order: tells an end of what is told for ever",
        "until_time < MAX and until_time - now or 0",
        "until_time - now or 0",
    ),
    ("order: tells an end of nothing", "find(overridden, '%d') and until_time < MAX", "until_time < MAX"),
    (
        "order: tells a pause that is over",
        "max(overrides.paused_until - now, 0), remaining",
        "overrides.paused_until - now, remaining",
    ),
];
