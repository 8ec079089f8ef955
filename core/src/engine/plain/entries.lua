-- Writes the entries of a window.
--
-- REQUIRES: call time log lifetime units length_N live_N
-- PROVIDES: nothing

if units == 1 then
  call('LPUSH', log, time)
elseif units > 1 then
  local times = {}
  for i = 1, units do
    times[i] = time
  end
  call('LPUSH', log, (table.unpack or unpack)(times))
end
if length_N > live_N and units > 0 then
  call('LTRIM', log, '0', length_N - live_N == 1 and '-2' or live_N + units - 1)
end
call('PEXPIRE', log, lifetime)
