-- The times of the last grants; one unit. See limits/window.lua.
--
-- REQUIRES: call now
-- PROVIDES: log limit length cutoff live low step oldest

local log, limit = KEYS[2], ARGV[3] + 0
local length, cutoff = call('LLEN', log), now - ARGV[4]
-- Counts the entries that are still in the interval, which come first. It looks at the two oldest and then at newer ones,
-- twice as far each time, until it finds one in the interval; a binary search between `low` and `live` finds the last of these.
-- Texts are quicker than numbers as arguments of a command.
local live, low, step, oldest = length, 0, 1, nil
while low < live do
  local probe = not step and math.floor((low + live) / 2) or live > step and live - step or 0
  local from_end = length - probe
  local time = tonumber(call('LINDEX', log, from_end == 1 and '-1' or from_end == 2 and '-2' or probe) or nil)
  if not (time and time >= 0 and time <= now and time % 1 == 0) then
    return 0
  end
  oldest = time
  if time > cutoff then
    low, step = probe + 1, nil
  else
    live, step = probe, step and (from_end == 1 and 1 or step * 2)
  end
end
if live >= limit then
  -- The last one that the search has looked at is the oldest, or is not needed.
  local expires, newest = oldest, oldest
  if limit < length then
    expires = tonumber(call('LINDEX', log, limit - 1) or nil)
  end
  if length > 1 then
    newest = tonumber(call('LINDEX', log, '0') or nil)
  end
  if not (expires and newest and expires >= 0 and expires <= now and expires % 1 == 0)
    or not (newest >= 0 and newest <= now and newest % 1 == 0) then
    return 0
  end
  return {0, live, now, expires, newest}
end
