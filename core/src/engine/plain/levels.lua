-- Writes the levels and the entries of several limits, and grants.
--
-- REQUIRES: call time skew levels logs longest_reset
-- PROVIDES: state reply

-- The levels of up to eight limits; the format uses as many as it has.
local state = string.format(
  ARGV[2], time, skew, levels[3], levels[4], levels[5], levels[6], levels[7], levels[8], levels[9], levels[10]
)
local reply = state
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
    call('LPUSH', log, (table.unpack or unpack)(times))
  end
  if length > live and units > 0 then
    call('LTRIM', log, '0', length - live == 1 and '-2' or live + units - 1)
  end
  call('PEXPIRE', log, lifetime)
  reply = reply .. string.format(' %d', live)
  if units == 0 then
    reply = reply .. string.format(' %.0f', entries[6])
  end
end
call('SET', KEYS[1], state, 'PX', math.ceil(longest_reset / 1000) + 10000)
return reply
