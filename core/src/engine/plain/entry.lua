-- Writes the entry of a window, and grants.
--
-- REQUIRES: call time now skew log length live
-- PROVIDES: nothing

call('LPUSH', log, time)
if length > live then
  call('LTRIM', log, '0', length == live + 1 and '-2' or live)
end
call('PEXPIRE', log, ARGV[5])
call('SET', KEYS[1], string.format(ARGV[2], time, skew), 'PX', ARGV[5])
return {1, live, now}
