-- A lease of a limited number. See limits/concurrency.lua and transaction/enter.lua. The level of the state is the last fencing
-- token.
--
-- REQUIRES: MAX call time now skew level_1 units id
-- PROVIDES: LATE_RELEASE leases records limit timeout count live reset token lifetime

local LATE_RELEASE = 300000000
local leases, records, limit, timeout = KEYS[2], KEYS[3], ARGV[3] + 0, ARGV[4] + 0
if level_1 + 0 > MAX or call('ZSCORE', leases, id) then
  return 0
end
local count, live, reset = call('ZCARD', leases), 0, 0
if count > 0 then
  live = call('ZCOUNT', leases, '(' .. time, '+inf')
  if live < count and call('ZCOUNT', leases, '0', time) > 0 then
    -- Leases that have ended make room, and are counted.
    return 0
  end
  if live > 0 then
    -- An end that is no number becomes a fraction, which is damage.
    reset = (tonumber(call('ZRANGE', leases, '-1', '-1', 'WITHSCORES')[2]) or 0.5) - now
    if not (reset % 1 == 0 and reset <= MAX) then
      return 0
    end
  end
end
if live >= limit then
  local wait = reset
  if limit > 1 then
    local first = string.format('%d', count - limit)
    wait = (tonumber(call('ZRANGE', leases, first, first, 'WITHSCORES')[2]) or 0.5) - now
  end
  if wait % 1 ~= 0 then
    return 0
  end
  return {0, 0, 0, wait, reset, now}
end
reset = math.max(reset, timeout)
local token = math.max(level_1 + 1, now)
local lifetime = math.ceil((reset + LATE_RELEASE) / 1000) + 10000 .. ''
call('HSET', records, '\31' .. id, time .. (token == now and ' ' .. time or string.format(' %.0f', token)) .. ' ' .. units)
call('ZADD', leases, string.format('%.0f', now + timeout), id)
call('PEXPIRE', leases, lifetime)
call('PEXPIRE', records, lifetime)
call('SET', KEYS[1], string.format(ARGV[2], time, skew, token), 'PX', lifetime)
return {1, 0, limit - live - 1, 0, reset, now, timeout, token, 0, 0, -1, 0, 0}
