-- The times of the last grants; one unit. See limits/window.lua.
--
-- REQUIRES: call now skew
-- PROVIDES: log limit interval length cutoff live low step oldest lifetime

local log, limit, interval = KEYS[2], ARGV[3] + 0, ARGV[4] + 0
local length, cutoff = call('LLEN', log), now - interval
-- Counts the entries that are still in the interval, which come first. It looks at the oldest entry and then at newer ones,
-- twice as far each time, until it finds one in the interval; a binary search between `low` and `live` finds the last of these.
local live, low, step, oldest = length, 0, 1, nil
while low < live do
  local probe = step and math.max(live - step, 0) or math.floor((low + live) / 2)
  local time = tonumber(call('LINDEX', log, probe) or nil)
  if not (time and time >= 0 and time <= now and time % 1 == 0) then
    return 0
  end
  oldest = oldest or time
  if time > cutoff then
    low, step = probe + 1, nil
  else
    live, step = probe, step and step * 2
  end
end
if live >= limit then
  local expires, newest = oldest, tonumber(call('LINDEX', log, 0) or nil)
  if limit < length then
    expires = tonumber(call('LINDEX', log, limit - 1) or nil)
  end
  if not (expires and newest and expires >= 0 and expires <= now and expires % 1 == 0)
    or not (newest >= 0 and newest <= now and newest % 1 == 0) then
    return 0
  end
  return {0, live, now, expires, newest}
end
call('LPUSH', log, string.format('%.0f', now))
if length > live then
  call('LTRIM', log, 0, live)
end
local lifetime = math.ceil(interval / 1000) + 10000 .. ''
call('PEXPIRE', log, lifetime)
call('SET', KEYS[1], string.format(ARGV[2], now, skew), 'PX', lifetime)
return {1, live, now}
