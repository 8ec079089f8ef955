-- A lease of a limited number. See limits/concurrency.lua and transaction/enter.lua. The level of the state is the last fencing
-- token.
--
-- REQUIRES: MAX call time now skew level_1 units id wait reset is_full
-- PROVIDES: LATE_RELEASE leases records limit timeout cost change count live token lifetime

local LATE_RELEASE = 300000000
local leases, records, limit, timeout, cost, change = KEYS[2], KEYS[3], ARGV[3] + 0, ARGV[4] + 0, 1, 1
if level_1 + 0 > MAX or call('ZSCORE', leases, id) then
  return 0
end
local count, live = call('ZCARD', leases), 0
if count > 0 then
  live = call('ZCOUNT', leases, '(' .. time, '+inf')
  if live < count and call('ZCOUNT', leases, '0', time) > 0 then
    -- Leases that have ended make room, and are counted.
    return 0
  end
end
-- RULE
if is_full then
  return {0, 0, 0, wait, reset, now}
end
local token = math.max(level_1 + 1, now)
local lifetime = math.ceil((reset + LATE_RELEASE) / 1000) + 10000 .. ''
call('HSET', records, '\31' .. id, time .. (token == now and ' ' .. time or string.format(' %.0f', token)) .. ' ' .. units)
call('ZADD', leases, string.format('%.0f', now + timeout), id)
call('PEXPIRE', leases, lifetime)
call('PEXPIRE', records, lifetime)
call('SET', KEYS[1], string.format(ARGV[2], time, skew, token), 'PX', lifetime)
return {1, 0, limit - live, 0, reset, now, timeout, token, 0, 0, -1, 0, 0}
