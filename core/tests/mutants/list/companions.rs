//! Mutants of what a call does for its companions.

use super::Mutant;

pub const COMPANIONS: &[Mutant] = &[
    ("companions: tickets of any channel are kept", "if is_of_channel and before", "if place and before"),
    (
        "companions: the tickets of a share are not kept",
        "place == channel or place and string.sub(place, 1, #channel + 1) == channel .. LEASE",
        "place == channel",
    ),
    (
        "companions: a channel that begins alike is the same",
        "string.sub(place, 1, #channel + 1) == channel .. LEASE",
        "string.sub(place, 1, #channel) == channel",
    ),
    ("companions: a ticket that is to call now is kept", "before - now > 0", "before - now >= 0"),
    ("companions: a ticket that has not called is kept", "before - now > 0 and", ""),
    ("companions: a damaged time of the next call is kept", "before - MAX <= 0 and", ""),
    ("companions: a damaged time of the end is kept", " and expires_at - MAX <= 0 then", " then"),
    ("companions: they lapse as if they were not kept", "next_check + expires_at - before", "expires_at"),
    (
        "companions: the keys expire before their tickets",
        "true, max(ctx.queued_until, expires_at)",
        "true, ctx.queued_until",
    ),
    ("companions: they must call as soon as the caller", "RECHECK + SLACK, {}, {}", "RECHECK, {}, {}"),
    ("companions: nothing is written", "      call('HSET', records_key, unpack(fields))\n", ""),
    ("companions: whose turn comes is not woken", "      advance_queue()\n", ""),
    (
        "companions: one whose turn comes need not call",
        "(ctx.turns[ARGV[verb_at + 15 + i]] or next_check)",
        "next_check",
    ),
    ("companions: they need not call for longer than the caller", "min(turn - now, RECHECK)", "turn - now"),
    ("companions: the times are absolute", "min(turn - now, RECHECK)", "min(turn, RECHECK)"),
    (
        "companions: the ids are one off",
        "fields[#fields + 1] = ARGV[verb_at + 15 + i]",
        "fields[#fields + 1] = ARGV[verb_at + 16 + i] or id",
    ),
    (
        "companions: the time of the next call is not written",
        "head, next_check, expires_at, tail",
        "head, before, expires_at, tail",
    ),
];
