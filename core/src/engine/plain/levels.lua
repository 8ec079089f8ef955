-- Writes the levels and the entries of several limits, and grants.
--
-- REQUIRES: call ceil time now skew levels logs index remaining reset longest_reset
-- PROVIDES: unpack

local unpack = table.unpack or unpack
for i = 1, #logs do
  local entries = logs[i]
  local log, lifetime, length, live, units = entries[1], entries[2], entries[3], entries[4], entries[5]
  if units == 1 then
    call('LPUSH', log, time)
  elseif units > 1 then
    local times = {}
    for j = 1, units do
      times[j] = time
    end
    call('LPUSH', log, unpack(times))
  end
  if length > live and units > 0 then
    call('LTRIM', log, '0', length - live == 1 and '-2' or live + units - 1)
  end
  call('PEXPIRE', log, lifetime)
end
levels[1], levels[2] = time, skew
call('SET', KEYS[1], string.format(ARGV[2], unpack(levels)), 'PX', ceil(longest_reset / 1000) + 10000 .. '')
return {1, index, remaining, 0, reset, now}
