-- The companions of a call: other waiting calls of its process, which it answers for. Twin of companions.rs.
--
-- REQUIRES: MAX call format min max verb_at verb now unpack ctx LEASE records_key advance_queue
-- PROVIDES: keep_companions

local keep_companions

if verb == 'acquire' and ARGV[verb_at + 16] then
  -- Shows that the waiters of the companions are alive, as their own calls would, and wakes what can be granted. A ticket that
  -- is to call now has a wake-up, so it must call by itself. Returns for each companion how long it need not call, 0 if it must.
  function keep_companions(channel)
    local RECHECK, SLACK = 5000000, 1000000
    local next_check, kept, fields = now + RECHECK + SLACK, {}, {}
    local records = call('HMGET', records_key, unpack(ARGV, verb_at + 16))
    for i, record in ipairs(records) do
      -- See queue.lua; what is not read stays as it is.
      local head, before, expires_at, tail, place = string.match(record or '', '^(%S+ %S+ %S+ %d+) (%d+) (%d+) (%d+ %S+ (.*))$')
      local is_of_channel = place == channel or place and string.sub(place, 1, #channel + 1) == channel .. LEASE
      if is_of_channel and before - now > 0 and before - MAX <= 0 and expires_at - MAX <= 0 then
        expires_at = next_check + expires_at - before
        kept[i], ctx.queued_until = true, max(ctx.queued_until, expires_at)
        fields[#fields + 1] = ARGV[verb_at + 15 + i]
        fields[#fields + 1] = format('%s %.0f %.0f %s', head, next_check, expires_at, tail)
      end
    end
    if #fields > 0 then
      call('HSET', records_key, unpack(fields))
      ctx.turns = {}
      -- The turn of one may come before that.
      advance_queue()
    end
    local times = {}
    for i = 1, #records do
      local turn = kept[i] and (ctx.turns[ARGV[verb_at + 15 + i]] or next_check)
      times[i] = turn and min(turn - now, RECHECK) or 0
    end
    return times
  end
end
