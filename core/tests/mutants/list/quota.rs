//! Mutants of the rule of quotas.

use super::Mutant;

pub const QUOTA: &[Mutant] = &[
    ("quota: the count of an earlier period stays", "if last < periods[1] then", "if false then"),
    (
        "quota: the first microsecond belongs to the earlier period",
        "if last < periods[1] then",
        "if last <= periods[1] then",
    ),
    ("quota: the lower limit of another policy keeps the count", "elseif held ~= own then", "elseif false then"),
    ("quota: a debt is forgotten", "elseif held ~= own then", "else"),
    (
        "quota: a lower limit that rules for a time forgets what was taken",
        "elseif held ~= own then",
        "elseif held ~= limit then",
    ),
    ("quota: one unit too few passes", "count + cost > limit then", "count + cost >= limit then"),
    ("quota: those ahead are not counted for the wait", "(math.min(count, limit) + cost) / limit", "1"),
    ("quota: a debt lasts for periods", "math.min(count, limit) + cost", "count + cost"),
    ("quota: more than three periods are waited for", "math.min(full, 4)", "math.min(full, 3)"),
    ("quota: the wait is one period too short", "math.max(math.min(full, 4), 2)", "math.max(math.min(full, 4) - 1, 2)"),
    (
        "quota: the wait is a time",
        "periods[math.max(math.min(full, 4), 2)] - now",
        "periods[math.max(math.min(full, 4), 2)]",
    ),
    ("quota: a refusal changes the count", "elseif change ~= 0 then", "end if change ~= 0 then"),
    ("quota: a debt has no bound", "math.min(count + change, 2 * largest)", "count + change"),
    (
        "quota: a correction goes below zero",
        "math.max(math.min(count + change, 2 * largest), 0)",
        "math.min(count + change, 2 * largest)",
    ),
    ("quota: less than nothing is left", "count < limit and limit - count or 0,", "limit - count,"),
    ("quota: an empty one has something to reset", "count > 0 and periods[2] - now or 0", "periods[2] - now"),
    (
        "quota: it resets after the next period",
        "count > 0 and periods[2] - now or 0",
        "count > 0 and periods[3] - now or 0",
    ),
];
