-- Records decisions: while an operator has asked for it, each is appended to a capped stream, which he reads. A limiter that is recorded
-- is not plain, so that the whole script decides every call of it, of all programs.
--
-- stream   "t" -> "time verb status index wait waited granted_at max_wait units tags id": time_us by the limiter's clock; verb one of
--          LETTERS; status and index as replied; wait retry_after_us; waited us in the queue; granted_at that of the permit in the
--          id; max_wait of a call that may queue; units of each limit of the call and tags, in policy order with commas between;
--          "-" for none. The id is empty or to the end. A first entry has the time alone.
--
-- Not recorded: calls that only look (peeks, of a cost of 0, of an id that has its lease already), the checks of a ticket between its first
-- and its grant or end, and calls that exceed a capacity, which are errors. A user of Redis without the right to XADD is not
-- recorded, and gets his decisions.
--
-- REQUIRES: dry_run attempt format max limit_count verb_at verb id now recording recorded_until ctx own_units
-- PROVIDES: record_decision

-- Most calls need none of this, and Lua would make the function anew for each.
local record_decision

if recorded_until > now and not dry_run then
  local LETTERS = {
    acquire = 'a', debit = 'd', refund = 'f', correct = 'c', learn = 'l', extend = 'x', release = 'r', cancel = 'n', leave = 'n', control = 'o',
  }

  -- Appends the decision that a reply says, and returns the reply.
  function record_decision(reply)
    local letter, status, is_call, waited = LETTERS[verb], reply[1], verb == 'acquire' or verb == 'debit' or verb == 'refund', ctx.waited
    local is_decision = is_call or verb == 'extend' and #reply > 1
    if not letter or reply.err or is_call and (own_units.looks or status > 2 and status ~= 6 or status == 2 and waited)
      or is_call and (reply[12] or 0) ~= 0 or letter == 'n' and status ~= 8 or is_decision and status == 5
      or verb == 'control' and ARGV[verb_at + 4] == '' and ARGV[verb_at + 6] == '' then
      return reply
    end
    local granted_at, max_wait, takes, taken, tags = '-', '-', is_decision, {}, {}
    if verb == 'correct' or verb == 'learn' or verb == 'extend' or verb == 'release' then
      granted_at, takes = ARGV[verb_at + 4], verb == 'correct' or verb == 'extend' or verb == 'learn' and ARGV[verb_at + 7] == '1'
    elseif verb == 'acquire' and (ARGV[verb_at + 7] or '') ~= '' then
      max_wait = ARGV[verb_at + 7]
    elseif verb == 'cancel' and ARGV[verb_at + 4] ~= '' then
      letter = 'g'
    end
    for i = 1, limit_count do
      taken[i], tags[i] = takes and format('%.0f', own_units[i]) or nil, ARGV[4 * i - 2]
    end
    local stream, most = string.gsub(KEYS[1], ':s:', ':r:', 1), string.match(recording, '%d+$')
    attempt('XADD', stream, 'NOMKSTREAM', 'MAXLEN', '~', most, '*', 't', format(
      '%.0f %s %.0f %.0f %.0f %.0f %s %s %s %s %s', now, letter, verb == 'control' and 0 or status, is_decision and reply[2] or 0,
      is_decision and reply[4] or 0, max(waited or 0, 0), granted_at, max_wait, takes and limit_count > 0 and table.concat(taken, ',') or '-',
      limit_count > 0 and table.concat(tags, ',') or '-', id or ''))
    return reply
  end
end
