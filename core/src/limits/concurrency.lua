-- concurrency: a maximum of leases at once. `lease(k)` is the end of the k-th of `live` leases to end.
-- A wait is until enough leases have timed out; a release may come sooner. Twin of concurrency.rs.
--
-- REQUIRES: nothing
-- PROVIDES: concurrency

local function concurrency(live, lease, limit, timeout, now, cost, change)
  local wait, reset = 0, live > 0 and lease(live) - now or 0
  if cost and live + cost > limit then
    local ended = live + cost - limit
    wait = ended <= live and lease(ended) - now or timeout
  elseif change > 0 then
    live, reset = live + change, math.max(reset, timeout)
  end
  return live, wait, math.max(limit - live, 0), reset
end
