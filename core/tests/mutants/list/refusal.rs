//! Mutants of shadow and of refusals that lead to a block.

use super::Mutant;

pub const REFUSAL: &[Mutant] = &[
    ("shadow: the override of the mode does not rule", "mode == 's' or not mode and own", "own"),
    ("shadow: the caller's mode does not count", "mode == 's' or not mode and own", "mode == 's'"),
    ("shadow: the caller's mode rules over an override", "not mode and own", "own"),
    ("shadow: a pause holds nobody up", "    elseif ctx.is_shadow and pause > 0 then", "    elseif false then"),
    ("shadow: a pause that has ended holds calls up", "ctx.is_shadow and pause > 0", "ctx.is_shadow and pause >= 0"),
    ("shadow: a pause counts and a block does not", "max(paused_until, blocked_until) - now", "paused_until - now"),
    ("shadow: a block counts and a pause does not", "max(paused_until, blocked_until) - now", "blocked_until - now"),
    ("shadow: a block is described as a pause", "blocked_until > paused_until and 1 or 0", "0"),
    ("shadow: a pause is described as a block", "blocked_until > paused_until and 1 or 0", "1"),
    (
        "shadow: a pause has the wait of the limits",
        "and 1 or 0), pause, 0, pause, rate",
        "and 1 or 0), wait, 0, pause, rate",
    ),
    (
        "shadow: a pause has the reset of the limits",
        "and 1 or 0), pause, 0, pause, rate",
        "and 1 or 0), pause, 0, reset, rate",
    ),
    ("shadow: calls are granted", "    return 6, index", "    return 1, index"),
    ("shadow: calls are refused", "    return 6, index", "    return 0, index"),
    (
        "enforce: a refusal lasts beyond the override of the mode",
        "    wait, rate = min(wait, ends), min(rate, ends)\n",
        "",
    ),
    (
        "enforce: a refusal ends before a pause",
        "max(overrides.overridden_until - now, pause)",
        "overrides.overridden_until - now",
    ),
    (
        "enforce: a wait is too long that ends with the override",
        "min(wait, ends), min(rate, ends)",
        "min(wait, ends), rate",
    ),
    (
        "enforce: the wait ends with an override in any mode",
        "  elseif own and overrides.overridden_until < MAX then",
        "  elseif overrides and overrides.overridden_until < MAX then",
    ),
    ("block: refusals of no units count", "not counts_refusals or units == 0 or", "not counts_refusals or"),
    ("block: refusals by a pause count", "or index >= limit_count or is_blocked", "or is_blocked"),
    (
        "block: refusals during a block of a command count",
        "max(overrides.blocked_until, overrides.barred_until) > now\n",
        "overrides.barred_until > now\n",
    ),
    (
        "block: refusals during a block count",
        "max(overrides.blocked_until, overrides.barred_until) > now\n",
        "overrides.blocked_until > now\n",
    ),
    (
        "block: refusals are counted for ever",
        "if overrides.counted_until <= now then",
        "if overrides.counted_until == 0 then",
    ),
    ("block: the time of counting ends late", "overrides.counted_until <= now", "overrides.counted_until < now"),
    ("block: each refusal begins the time of counting", "if overrides.counted_until <= now then", "if true then"),
    (
        "block: the count goes on in the next time",
        "min(now + within, MAX), 0\n    end",
        "min(now + within, MAX), overrides.refusals\n    end",
    ),
    ("block: one refusal more", "overrides.refusals - refusals >= 0", "overrides.refusals - refusals > 0"),
    ("block: one refusal less", "overrides.refusals - refusals >= 0", "overrides.refusals - refusals >= -1"),
    ("block: the count goes on after a block", "    overrides.counted_until, overrides.refusals = 0, 0\n", ""),
    ("block: it lasts for the time of counting", "min(now + lasts, MAX))\n", "min(now + within, MAX))\n"),
    ("block: it has no version", "    overrides.version = max(overrides.version + 1, now)\n", ""),
    ("block: the count is not stored", "    encode_overrides()\n    return true\n", "    return true\n"),
    (
        "block: the state is not written",
        "    encode_overrides()\n    return true\n",
        "    encode_overrides()\n    return false\n",
    ),
    ("block: the queue is forgotten", "summary .. overrides.text .. rest", "overrides.text .. rest"),
    (
        "block: a skew is forgotten",
        "format('%.0f %.0f', ctx.last, skew) .. summary",
        "format('%.0f 0', ctx.last) .. summary",
    ),
    (
        "block: a refusal is a use",
        "format('%.0f %.0f', ctx.last, skew) .. summary",
        "format('%.0f %.0f', now, skew) .. summary",
    ),
    (
        "block: the state lives as long as before",
        "max(call('PTTL', KEYS[1]), expiry(overrides.lifetime) + 0)",
        "call('PTTL', KEYS[1])",
    ),
    (
        "block: the state lives as long as the block",
        "max(call('PTTL', KEYS[1]), expiry(overrides.lifetime) + 0)",
        "expiry(overrides.lifetime) + 0",
    ),
];
