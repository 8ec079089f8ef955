-- Releases a lease while no call waits in the queue. See transaction/permit.lua.
--
-- REQUIRES: MAX call now level_1 id granted_at
-- PROVIDES: leases records ends

local leases, records = KEYS[2], KEYS[3]
local ends = tonumber(call('ZSCORE', leases, id) or nil)
if level_1 + 0 > MAX or not (ends and ends > now and ends <= 2 * MAX and ends % 1 == 0)
  or string.match(call('HGET', records, '\31' .. id) or '', '^%d+') ~= granted_at then
  return 0
end
call('ZREM', leases, id)
call('HDEL', records, '\31' .. id)
return {1, now}
