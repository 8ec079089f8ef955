-- concurrency: a maximum of leases at once. `live` of `leases` have not ended, and are the last of the set. A wait is until enough
-- leases have timed out; a release may come sooner. An end that is no time returns 0. Twin of concurrency.rs; of FULL see bucket.lua.
--
-- REQUIRES: call leases live limit timeout now cost change
-- CHANGES: live
-- PROVIDES: wait reset is_full remaining

local wait, reset, is_full = 0, 0, cost and live + cost > limit
if live > 0 then
  -- An end that is no number becomes a fraction.
  reset = (tonumber(call('ZRANGE', leases, '-1', '-1', 'WITHSCORES')[2] or nil) or 0.5) - now
end
if is_full then
  local ended = live + cost - limit
  wait = ended > live and timeout or reset
  if ended < live then
    -- A rank is found without a walk, which LIMIT is not.
    local rank = string.format('%d', call('ZCARD', leases) - live + ended - 1)
    wait = (tonumber(call('ZRANGE', leases, rank, rank, 'WITHSCORES')[2] or nil) or 0.5) - now
  end
end
if reset % 1 ~= 0 or wait % 1 ~= 0 or reset > 9007199254740992 - now then
  return 0
end
if change > 0 and not is_full then
  live, reset = live + change, math.max(reset, timeout)
end
-- FULL
local remaining = math.max(limit - live, 0)
-- END
