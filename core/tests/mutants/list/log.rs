//! Mutants of corrections in a log.

use super::Mutant;

pub const LOG: &[Mutant] = &[
    ("log: nothing is given back", "if run == 0 or change == 0 then", "if run == 0 or change <= 0 then"),
    ("log: no debt is made", "if run == 0 or change == 0 then", "if run == 0 or change >= 0 then"),
    ("log: newer entries come twice", "      call('LTRIM', log, moved_count, -1)\n", ""),
    ("log: newer entries change places", "for i = #entries, 1, -1 do", "for i = 1, #entries do"),
    ("log: newer entries are lost", "    call('LPUSH', log, unpack(reversed))\n", ""),
    ("log: more is moved than may be", "local moved_count = min(first, MAX_MOVED)", "local moved_count = first"),
    ("log: others' entries are given back", "local count = min(-change, run)", "local count = -change"),
    ("log: the old end is not moved", "elseif older <= MAX_MOVED then", "elseif false then"),
    ("log: many are searched for", "elseif count <= MAX_MOVED then", "elseif true then"),
    ("log: few come back from the old end", "elseif count <= MAX_MOVED then", "elseif false then"),
    ("log: one too few comes back from the old end", "limit.new_level - count - 1", "limit.new_level - count"),
];
