-- The times of the last grants; one unit. See limits/window.lua.
--
-- REQUIRES: call now skew
-- PROVIDES: log limit interval length is_damaged cutoff looked_at looked at live step lifetime

local log, limit, interval = KEYS[2], ARGV[3] + 0, ARGV[4] + 0
local length, is_damaged = call('LLEN', log), false
local cutoff, looked_at, looked = now - interval, nil, nil
local function at(entry)
  if entry ~= looked_at then
    looked_at, looked = entry, tonumber(call('LINDEX', log, entry) or nil)
    is_damaged = is_damaged or not (looked and looked >= 0 and looked <= now and looked % 1 == 0)
    looked = looked or 0
  end
  return looked
end
local live, step = length, 1
while live > 0 do
  local probe = math.max(live - step, 0)
  if at(probe) > cutoff then
    local low = probe + 1
    while low < live do
      local middle = math.floor((low + live) / 2)
      if at(middle) > cutoff then
        low = middle + 1
      else
        live = middle
      end
    end
    break
  end
  live, step = probe, step * 2
end
if live >= limit then
  local expires, newest = at(limit - 1), at(0)
  if is_damaged then
    return 0
  end
  return {0, live, now, expires, newest}
end
if is_damaged then
  return 0
end
call('LPUSH', log, string.format('%.0f', now))
if length > live then
  call('LTRIM', log, 0, live)
end
local lifetime = math.ceil(interval / 1000) + 10000 .. ''
call('PEXPIRE', log, lifetime)
call('SET', KEYS[1], string.format(ARGV[2], now, skew), 'PX', lifetime)
return {1, live, now}
