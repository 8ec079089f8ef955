-- Writes the levels and the entries of several limits, and grants.
--
-- REQUIRES: call now skew levels logs index remaining reset longest_reset
-- PROVIDES: unpack time

local unpack, time = table.unpack or unpack, string.format('%.0f', now)
for _, entries in ipairs(logs) do
  local log, interval, length, live, units = entries[1], entries[2], entries[3], entries[4], entries[5]
  local times = {}
  for i = 1, units do
    times[i] = time
  end
  if units > 0 then
    call('LPUSH', log, unpack(times))
  end
  if length > live and units > 0 then
    call('LTRIM', log, 0, live + units - 1)
  end
  call('PEXPIRE', log, math.ceil(interval / 1000) + 10000 .. '')
end
levels[1], levels[2] = now, skew
call('SET', KEYS[1], string.format(ARGV[2], unpack(levels)), 'PX', math.ceil(longest_reset / 1000) + 10000 .. '')
return {1, index, remaining, 0, reset, now}
