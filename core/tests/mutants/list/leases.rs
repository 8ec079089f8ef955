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
                "if level_1 + 0 > MAX or call('ZSCORE', leases, id) then",
                "if call('ZSCORE', leases, id) then",
            ),
            (
                "check: an id has two leases",
                "if level_1 + 0 > MAX or call('ZSCORE', leases, id) then",
                "if level_1 + 0 > MAX then",
            ),
            ("check: leases that have ended are plain", "if live < count and call(", "if live > count and call("),
            ("check: one lease that has ended is plain", "time) > 0 then", "time) > 1 then"),
            (
                "check: reclaimed leases are not plain",
                "call('ZCOUNT', leases, '0', time",
                "call('ZCOUNT', leases, '-inf', time",
            ),
            ("check: a lease that ends now has not ended", "leases, '0', time", "leases, '0', '(' .. time"),
            ("live: a lease that ends now is live", "'(' .. time, '+inf'", "time, '+inf'"),
            (
                "live: those that have ended are live",
                "live = call('ZCOUNT', leases, '(' .. time, '+inf')",
                "live = count",
            ),
            ("reply: a refusal is a grant", "return {0, 0, 0, wait", "return {1, 0, 0, wait"),
            ("reply: wait and reset are swapped", "wait, reset, now}", "reset, wait, now}"),
            ("token: it repeats", "math.max(level_1 + 1, now)", "math.max(level_1 + 0, now)"),
            ("token: the time", "math.max(level_1 + 1, now)", "now"),
            ("token: the next number", "math.max(level_1 + 1, now)", "level_1 + 1"),
            ("write: the record has no token", "string.format(' %.0f', token)) ..", "' 0') .."),
            ("write: the record has the time as its token", "token == now and", "token and"),
            ("write: the record has no charge", ".. units)", ".. 0)"),
            ("write: the record is of another id", "'\\31' .. id, time", "id, time"),
            (
                "write: the lease has ended",
                "string.format('%.0f', now + timeout), id",
                "string.format('%.0f', now), id",
            ),
            ("write: the state keeps its token", "time, skew, token)", "time, skew, level_1)"),
            ("write: the skew is lost", "time, skew, token)", "time, 0, token)"),
            ("write: nothing", "call('SET', KEYS[1],", "call('ECHO', KEYS[1]) local _ = string.len("),
            ("expiry: late releases are forgotten", "(reset + LATE_RELEASE)", "(reset)"),
            ("expiry: no room", ") + 10000 .. ''", ") .. ''"),
            ("expiry: the leases have none", "call('PEXPIRE', leases, lifetime)\n", ""),
            ("expiry: the records have none", "call('PEXPIRE', records, lifetime)\n", ""),
            ("expiry: the state has none", ", 'PX', lifetime)", ")"),
            (
                "reply: the remaining leases are those before the grant",
                "limit - live, 0, reset",
                "limit - live + 1, 0, reset",
            ),
            ("reply: no lock timeout", "now, timeout, token,", "now, 1, token,"),
            ("reply: no token", "now, timeout, token,", "now, timeout, 0,"),
        ],
    },
    Lua {
        file: "engine/plain/release.lua",
        text: include_str!("../../../src/engine/plain/release.lua"),
        mutants: &[
            ("check: any token is plain", "level_1 + 0 > MAX or ", ""),
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
