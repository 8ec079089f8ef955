//! Mutants of the scripts of plain calls that grant and release leases.

use super::Lua;

/// The pieces that follow the state.
pub const LEASE_FILES: [Lua; 2] = [
    Lua {
        file: "engine/plain/lease.lua",
        text: include_str!("../../../src/engine/plain/lease.lua"),
        mutants: &[
            (
                "check: any token is plain",
                "if level > MAX or call('ZSCORE', leases, id) then",
                "if call('ZSCORE', leases, id) then",
            ),
            ("check: an id has two leases", "if level > MAX or call('ZSCORE', leases, id) then", "if level > MAX then"),
            ("check: leases that have ended are plain", "if live < count and call(", "if live > count and call("),
            (
                "check: one lease that has ended is plain",
                "format('%.0f', now)) > 0 then",
                "format('%.0f', now)) > 1 then",
            ),
            (
                "check: reclaimed leases are not plain",
                "call('ZCOUNT', leases, '0', string",
                "call('ZCOUNT', leases, '-inf', string",
            ),
            (
                "check: a lease that ends now has not ended",
                "leases, '0', string.format('%.0f', now)",
                "leases, '0', string.format('(%.0f', now)",
            ),
            (
                "live: a lease that ends now is live",
                "string.format('(%.0f', now), '+inf'",
                "string.format('%.0f', now), '+inf'",
            ),
            (
                "live: those that have ended are live",
                "live = call('ZCOUNT', leases, string.format('(%.0f', now), '+inf')",
                "live = count",
            ),
            ("reset: of the first lease", "leases, -1, -1,", "leases, 0, 0,"),
            ("reset: it is a time", "or 0.5) - now\n    if not", "or 0.5)\n    if not"),
            ("decide: one more fits", "if live >= limit then", "if live > limit then"),
            ("decide: the last does not fit", "if live >= limit then", "if live >= limit - 1 then"),
            ("wait: of the next lease", "count - limit, count - limit,", "count - limit + 1, count - limit + 1,"),
            ("wait: of the first lease", "count - limit, count - limit,", "0, 0,"),
            ("wait: of the last lease", "  if limit > 1 then", "  if limit > 1000 then"),
            ("check: a fraction is refused on", "if wait % 1 ~= 0 then", "if false then"),
            (
                "check: a fraction is the last end",
                "if not (reset % 1 == 0 and reset <= MAX) then",
                "if not (reset <= MAX) then",
            ),
            (
                "check: any end is the last",
                "if not (reset % 1 == 0 and reset <= MAX) then",
                "if not (reset % 1 == 0) then",
            ),
            ("reply: a refusal is a grant", "return {0, 0, 0, wait", "return {1, 0, 0, wait"),
            ("reply: wait and reset are swapped", "wait, reset, now}", "reset, wait, now}"),
            (
                "reset: of the other leases",
                "reset = math.max(reset, timeout)",
                "reset = reset > 0 and reset or timeout",
            ),
            ("reset: of this lease", "reset = math.max(reset, timeout)", "reset = timeout"),
            ("token: it repeats", "math.max(level + 1, now)", "math.max(level, now)"),
            ("token: the time", "math.max(level + 1, now)", "now"),
            ("token: the next number", "math.max(level + 1, now)", "level + 1"),
            ("write: the record has no token", "now, token, units)", "now, 0, units)"),
            ("write: the record has no charge", "now, token, units)", "now, token, 0)"),
            ("write: the record is of another id", "'\\31' .. id, string", "id, string"),
            (
                "write: the lease has ended",
                "string.format('%.0f', now + timeout), id",
                "string.format('%.0f', now), id",
            ),
            ("write: the state keeps its token", "now, skew, token)", "now, skew, level)"),
            ("write: the skew is lost", "now, skew, token)", "now, 0, token)"),
            ("write: nothing", "call('SET', KEYS[1],", "call('ECHO', KEYS[1]) local _ = string.len("),
            ("expiry: late releases are forgotten", "(reset + LATE_RELEASE)", "(reset)"),
            ("expiry: no room", ") + 10000 .. ''", ") .. ''"),
            ("expiry: the leases have none", "call('PEXPIRE', leases, lifetime)\n", ""),
            ("expiry: the records have none", "call('PEXPIRE', records, lifetime)\n", ""),
            ("expiry: the state has none", ", 'PX', lifetime)", ")"),
            (
                "reply: the remaining leases are those before the grant",
                "limit - live - 1, 0, reset",
                "limit - live, 0, reset",
            ),
            ("reply: no lock timeout", "now, timeout, token,", "now, 1, token,"),
            ("reply: no token", "now, timeout, token,", "now, timeout, 0,"),
        ],
    },
    Lua {
        file: "engine/plain/release.lua",
        text: include_str!("../../../src/engine/plain/release.lua"),
        mutants: &[
            ("check: any token is plain", "level > MAX or ", ""),
            ("check: any end is plain", " and ends <= 2 * MAX and ends % 1 == 0", ""),
            ("check: a fraction is plain", " and ends % 1 == 0", ""),
            ("check: a lease that has ended is plain", "ends and ends > now and", "ends and"),
            ("check: a lease that ends now is plain", "ends > now and", "ends >= now and"),
            ("check: the lease may be of another grant", "~= granted_at then", "== nil then"),
            ("write: the lease stays", "call('ZREM', leases, id)\n", ""),
            ("write: the record stays", "call('HDEL', records, '\\31' .. id)\n", ""),
            ("reply: no time", "return {1, now}", "return {1, 0}"),
        ],
    },
];
