//! Mutants of corrections in the log of a window.

use super::Mutant;

pub const LOG: &[Mutant] = &[
    ("log: a correction gives no units back", "if change == 0 or change < 0 and run == 0 then", "if change <= 0 then"),
    (
        "log: a correction adds no debt",
        "if change == 0 or change < 0 and run == 0 then",
        "if change >= 0 or run == 0 then",
    ),
    (
        "log: a grant without entries gets none",
        "if change == 0 or change < 0 and run == 0 then",
        "if change == 0 or run == 0 then",
    ),
    ("log: newer entries are duplicated", "      call('LTRIM', log, moved_count, -1)\n", ""),
    ("log: newer entries are reversed", "for i = #entries, 1, -1 do", "for i = 1, #entries do"),
    ("log: newer entries are lost", "    call('LPUSH', log, unpack(reversed))\n", ""),
    (
        "log: the number of moved entries is not bounded",
        "local moved_count = min(first, MAX_MOVED)",
        "local moved_count = first",
    ),
    ("log: entries of other grants are given back", "local count = min(-change, run)", "local count = -change"),
    ("log: entries older than the grant are not moved", "elseif older <= MAX_MOVED then", "elseif false then"),
    ("log: LREM removes any number of entries", "elseif count <= MAX_MOVED then", "elseif true then"),
    (
        "log: the oldest entries are removed instead of a few entries of the grant",
        "elseif count <= MAX_MOVED then",
        "elseif false then",
    ),
    ("log: one entry too few is removed from the old end", "limit.new_level - count - 1", "limit.new_level - count"),
];
