//! Mutants of the pieces of the scripts of plain calls. Those of the rules are among the mutants of the whole script.

use super::Lua;

/// The pieces.
pub const PLAIN_FILES: [Lua; 10] = [
    lua!(
        "engine/plain/state.lua",
        &[
            ("time: the skew is forgotten", "now = now + skew", "now = now + 0"),
            ("time: what is written has no skew", "    time = string.format('%.0f', now)\n", ""),
            ("time: a clock that ran backwards is plain", "now < last or ", ""),
            ("check: any time is plain", " or now > MAX", ""),
            (
                "check: any state is plain",
                "  if not last then\n    return 0\n  end",
                "  last, skew, level_1 = last or 0, skew or '0', level_1 or 0",
            ),
            ("state: it is ignored", "if raw then", "if raw and #raw == 0 then"),
            ("time: zeros are lost", "#clock[2] == 6 and clock[2] or string.format('%06d', clock[2])", "clock[2]"),
            (
                "time: microseconds are lost",
                "#clock[2] == 6 and clock[2] or string.format('%06d', clock[2])",
                "'000000'",
            ),
            ("time: too few zeros", "%06d", "%05d"),
        ]
    ),
    lua!(
        "engine/plain/meter.lua",
        &[
            ("meter, check: any level is plain", "level > 2 * capacity", "level > 3 * capacity"),
            ("meter, expiry: that of an empty one", "local reset = level / leak", "local reset = 0"),
            ("meter, write: the level before", "level_N = level\n", ""),
        ]
    ),
    lua!(
        "engine/plain/bucket.lua",
        &[
            ("bucket, check: any count is plain", "if count > 2 * limit then", "if count > 3 * limit then"),
            ("bucket, write: the count before", "level_N = count\n", ""),
        ]
    ),
    lua!(
        "engine/plain/window.lua",
        &[
            ("window, reply: it counts its entry", "' %d', live)", "' %d', live + 1)"),
            ("window, reply: nothing taken is a grant", "wait == 0 and change > 0 and", "wait == 0 and"),
            (
                "window, reply: a wait is none",
                "' %d/%.0f/%.0f', live, wait, reset)",
                "' %d/%.0f/%.0f', live, 0, reset)"
            ),
            ("window, reply: the reset is the wait", "live, wait, reset)", "live, wait, wait)"),
        ]
    ),
    lua!(
        "engine/plain/decided.lua",
        &[
            ("decide: the last limit decides", "is_refused = is_refused or wait > 0", "is_refused = wait > 0"),
            ("decide: all are granted", "is_refused = is_refused or wait > 0", "is_refused = false"),
            ("expiry: that of the last limit", "if reset > longest_reset then", "if true then"),
        ]
    ),
    lua!(
        "engine/plain/refusal.lua",
        &[
            ("reply: a refusal has the time of the last grant", "raw .. time ..", "raw .. last .."),
            ("reply: a refusal is a grant", "raw .. time ..", "raw .."),
            ("reply: a refusal says nothing of windows", "time .. windows", "time"),
            ("check: entries without a state are plain", "raw and raw .. time", "(raw or ' .') .. time"),
        ]
    ),
    lua!(
        "engine/plain/permit.lua",
        &[
            ("permit: it is not kept", "call('ZADD', permits,", "call('ECHO', permits) local _ = string.len("),
            ("permit: it ends at once", "(now + settle_within) * 2)", "now * 2)"),
            ("permit: it is settled", "(now + settle_within) * 2)", "(now + settle_within) * 2 + 1)"),
            ("permit: it has another time", ":' .. time .. ':", ":' .. last .. ':"),
            ("permit: it has another charge", ".. ':' .. charge)", ".. ':' .. 1)"),
            ("expiry: too short", "settle_within / 1000) + 10000", "settle_within / 10000) + 1000"),
            ("expiry: it shortens that of others", "if call('PTTL', permits) < lifetime then", "if true then"),
            ("expiry: none", "if call('PTTL', permits) < lifetime then", "if false then"),
            ("ended: they stay", "if excess > 0 then", "if excess > 1000000 then"),
            ("ended: one too many goes", "now * 2 + 1)", "now * 2 + 2)"),
            ("ended: a settled one stays", "now * 2 + 1)", "now * 2)"),
            (
                "ended: they go in every call",
                "if math.floor(now / 10000) ~= math.floor(last / 10000) then",
                "if true then",
            ),
            ("full: more are kept", "MAX_PERMITS, MAX_REMOVALS = 100000,", "MAX_PERMITS, MAX_REMOVALS = 100001,"),
            ("full: any number goes at once", "math.min(excess, MAX_REMOVALS) - 1", "excess - 1"),
            ("full: too many go", "math.min(excess, MAX_REMOVALS) - 1", "math.min(excess, MAX_REMOVALS)"),
        ]
    ),
    lua!(
        "engine/plain/entries.lua",
        &[
            ("write: one entry for any units", "for i = 1, units do", "for i = 1, 1 do"),
            ("write: an entry for none", "if units == 1 then", "if units < 2 then"),
            ("write: no entry for one", "if units == 1 then\n  call('LPUSH', log, time)\nelse", ""),
            ("write: the entry is the oldest", "call('LPUSH', log, time)", "call('RPUSH', log, time)"),
            (
                "write: a log keeps what has ended",
                "if length_N > live_N and units > 0 then",
                "if length_N > live_N + 1000 then",
            ),
            (
                "write: a log keeps one that has ended",
                "if length_N > live_N and units > 0 then",
                "if length_N > live_N + 1 and units > 0 then",
            ),
            ("write: a log loses a live entry", "live_N + units - 1)", "live_N + units - 2)"),
            ("write: a log loses the last entry but one", "== 1 and '-2'", "== 1 and '-3'"),
            ("write: only one ends", "length_N - live_N == 1 and '-2' or live_N + units - 1)", "'-2')"),
            ("expiry: the logs have none", "call('PEXPIRE', log, lifetime)\n", ""),
            ("expiry: the log's is short", "call('PEXPIRE', log, lifetime)", "call('PEXPIRE', log, 10000)"),
        ]
    ),
    lua!(
        "engine/plain/grant.lua",
        &[
            ("reply: a grant says the state before", "return state ..", "return (raw or state) .."),
            ("reply: a grant says nothing of windows", "return state .. windows", "return state"),
            ("write: nothing", "call('SET', KEYS[1],", "call('ECHO', KEYS[1]) local _ = string.len("),
            ("write: the state keeps its time", "ARGV[2], time, skew", "ARGV[2], last, skew"),
            ("write: the skew is lost", "ARGV[2], time, skew", "ARGV[2], time, 0"),
            ("expiry: too short", "longest_reset / 1000) + 10000", "longest_reset / 10000) + 1000"),
            ("expiry: for ever", "state, 'PX', math.ceil(longest_reset / 1000) + 10000)", "state)"),
        ]
    ),
    // The whole script has these too, but no check gives it such a log.
    lua!(
        "limits/window.lua",
        &[
            ("window: an entry of the future is accepted", "and entry <= now and entry % 1", "and entry % 1"),
            ("window: the deciding entry is of the future", "and expires <= now and", "and"),
            ("window: the deciding entry is a fraction", " and expires % 1 == 0)", ")"),
            ("window: the deciding entry is before time", "expires and expires >= 0 and", "expires and"),
            ("window: the newest entry is of the future", "and newest <= now and", "and"),
            ("window: the newest entry is a fraction", " and newest % 1 == 0)", ")"),
            ("window: the newest entry is before time", "newest and newest >= 0 and", "newest and"),
        ]
    ),
];
