-- Writes the entry of a window, and grants.
--
-- REQUIRES: call time skew log length live
-- PROVIDES: nothing

call('LPUSH', log, time)
if length > live then
  call('LTRIM', log, '0', length == live + 1 and '-2' or live)
end
call('PEXPIRE', log, ARGV[5])
call('SET', KEYS[1], time .. ' ' .. skew .. ARGV[2], 'PX', ARGV[5])
return string.format('%d ', live) .. time
