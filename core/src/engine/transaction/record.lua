-- Starts and ends the recording of decisions, and reads what was recorded; the stream is in recording.lua. In Redis alone.
--
-- REQUIRES: MAX DAMAGED call attempt find min max verb_at verb now overrides encode_overrides ctx format handlers write_overrides to_text
-- PROVIDES: nothing

if verb == 'record' then
  function handlers.record()
    -- How long what was recorded can be read after its end.
    local MEMORY_MS = 300000
    local what, until_time = ARGV[verb_at + 4], overrides.recorded_until
    local stream = string.gsub(KEYS[1], ':s:', ':r:', 1)
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    if what == 'read' then
      local after, entries = ARGV[verb_at + 5], {}
      local found = call('XRANGE', stream, after, '+', 'COUNT', ARGV[verb_at + 6] + 1)
      local is_whole = found[1] and found[1][1] == after
      for i = is_whole and 2 or 1, #found do
        entries[#entries + 1] = found[i][1]
        entries[#entries + 1] = found[i][2][2]
      end
      return {now, max(until_time - now, 0), is_whole and 1 or 0, entries}
    end
    if what == 'start' then
      -- The end is also the name of this recording, so that an earlier one which ends does not end it.
      overrides.recorded_until = max(min(now + ARGV[verb_at + 5], MAX), until_time + 1)
      overrides.recording = format(';R%.0f/%s', overrides.recorded_until, ARGV[verb_at + 6])
      local first = attempt('XADD', stream, '*', 't', to_text(now))
      if first.err then
        -- Redis does not say which command the user may not use.
        local is_foreign = find(first.err, 'WRONGTYPE', 1, true)
        return is_foreign and first or redis.error_reply('NOPERM a recording needs the right to XADD: ' .. first.err)
      end
      call('PEXPIRE', stream, to_text(math.ceil((overrides.recorded_until - now) / 1000) + MEMORY_MS))
      encode_overrides()
      write_overrides()
      return {now, overrides.recorded_until, first}
    end
    local is_own = until_time > now and until_time - ARGV[verb_at + 5] == 0
    if is_own then
      overrides.recorded_until = 0
      call('PEXPIRE', stream, to_text(MEMORY_MS))
      encode_overrides()
      write_overrides()
    end
    return {is_own and 1 or 0}
  end
end
