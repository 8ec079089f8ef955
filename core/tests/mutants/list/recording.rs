//! Mutants of the recording of decisions.

use super::Mutant;

pub const RECORDING: &[Mutant] = &[
    (
        "recording: it goes on at its end",
        "if recorded_until > now and not dry_run",
        "if recorded_until >= now and not dry_run",
    ),
    ("recording: calls that only look are recorded", "own_units.looks or status > 2", "status > 2"),
    ("recording: each check of a ticket is recorded", " or status == 2 and waited", ""),
    ("recording: a lease that the caller has is recorded", "      or is_call and (reply[12] or 0) ~= 0 or", "      or"),
    ("recording: what cancels nothing is recorded", "letter == 'n' and status ~= 8 or ", ""),
    ("recording: an error is recorded", " or is_decision and status == 5", ""),
    (
        "recording: a look at what is in force is recorded",
        "\n      or verb == 'control' and ARGV[verb_at + 4] == '' and ARGV[verb_at + 6] == ''",
        "",
    ),
    ("recording: a refused extension has no wait", "is_call or verb == 'extend' and #reply > 1", "is_call"),
    (
        "recording: the time of the permit is lost",
        "granted_at, takes = ARGV[verb_at + 4], verb",
        "granted_at, takes = '-', verb",
    ),
    ("recording: a report that settles a permit has no units", " or verb == 'learn' and ARGV[verb_at + 7] == '1'", ""),
    ("recording: the longest wait is lost", "max_wait = ARGV[verb_at + 7]", "max_wait = '-'"),
    ("recording: who gives up cancels", "letter = 'g'", "letter = 'n'"),
    ("recording: each limit has the units of the call", "own_units[i]) or nil", "units) or nil"),
    ("recording: each limit has the tag of the first", "ARGV[4 * i - 2]", "ARGV[2]"),
    ("recording: a decision makes the stream", "'NOMKSTREAM', ", ""),
    ("recording: the stream has no end", "'MAXLEN', '~', most, ", ""),
    ("recording: the stream has as many as it has microseconds", "'%d+$'", "'%d+'"),
    ("recording: the time waited is lost", "max(waited or 0, 0)", "0"),
    ("recording: the first limit refuses", "is_decision and reply[2] or 0", "0"),
    ("recording: a refusal has no wait", "is_decision and reply[4] or 0", "0"),
    ("recording: a change has a status", "verb == 'control' and 0 or status", "status"),
    ("recording: the id is lost", "table.concat(tags, ',') or '-', id or ''", "table.concat(tags, ',') or '-', ''"),
];

pub const RECORD: &[Mutant] = &[
    ("record: a page begins with the last one read", "for i = is_whole and 2 or 1, #found", "for i = 1, #found"),
    ("record: a page has one too few", "ARGV[verb_at + 6] + 1)", "ARGV[verb_at + 6] + 0)"),
    ("record: no page lacks anything", "found[1] and found[1][1] == after", "found[1]"),
    (
        "record: a page without a stream is whole",
        "found[1] and found[1][1] == after",
        "not found[1] or found[1][1] == after",
    ),
    ("record: the time goes on below zero", "max(until_time - now, 0)", "until_time - now"),
    (
        "record: two recordings have one name",
        "max(min(now + ARGV[verb_at + 5], MAX), until_time + 1)",
        "min(now + ARGV[verb_at + 5], MAX)",
    ),
    (
        "record: a recording ends after all time",
        "max(min(now + ARGV[verb_at + 5], MAX), until_time + 1)",
        "max(now + ARGV[verb_at + 5], until_time + 1)",
    ),
    ("record: a foreign value is a missing right", "is_foreign and first or redis", "redis"),
    ("record: the stream expires with the recording", " / 1000) + MEMORY_MS", " / 1000)"),
    (
        "record: a start is not written",
        "      write_overrides()\n      return {now, overrides.recorded_until, first}",
        "      return {now, overrides.recorded_until, first}",
    ),
    ("record: a recording that is over can be ended", "until_time > now and until_time", "until_time"),
    ("record: an end ends every recording", " and until_time - ARGV[verb_at + 5] == 0", ""),
    ("record: an end ends nothing", "      overrides.recorded_until = 0\n", ""),
    ("record: the stream is kept after an end", "      call('PEXPIRE', stream, to_text(MEMORY_MS))\n", ""),
    (
        "record: an end is not written",
        "      write_overrides()\n    end\n    return {is_own",
        "    end\n    return {is_own",
    ),
];
