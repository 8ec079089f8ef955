//! Mutants of refunds.

use super::Mutant;

pub const REFUND: &[Mutant] = &[
    ("refund: units are taken", "changes[i], before[i] = -own_units[i],", "changes[i], before[i] = own_units[i],"),
    ("refund: the oldest of a log are given back", "gone, -1)", "0, -gone - 1)"),
    ("refund: a log gives back what has expired", "min(own_units[i], limit.new_level)", "own_units[i]"),
    ("refund: a log shows what is gone", "limit.length, changes[i] = limit.length - gone, 0", "changes[i] = 0"),
    ("refund: a log keeps what is given back", "if gone > 0 then", "if false then"),
    (
        "refund: the statistics give back what was not taken",
        "given = max(given, math.floor",
        "given = max(units, math.floor",
    ),
    ("refund: the statistics count parts of units", "limit.c or 1\n", "1 or 1\n"),
    ("refund: the limits keep their levels", "    adopt_levels()\n", ""),
    ("refund: the queue does not go on", "    advance_queue()\n", ""),
    ("refund: nothing is an own call", "if units == 0 then", "if false then"),
    ("refund: the reply has the amount of the policy", "is_overridden and limits[index + 1].a", "nil"),
];
