-- quota: a count in a period of the calendar. `periods` has the start of the period of `now`, its end, and the ends of the
-- next two. Of the other numbers see bucket.lua. Twin of quota.rs.
--
-- REQUIRES: quotas
-- PROVIDES: quota

local quota

-- Other calls do without the function.
if quotas then
  function quota(count, held, own, largest, limit, periods, last, now, cost, change)
    if last < periods[1] then
      count = 0
    elseif held ~= own then
      count = math.min(count, held == 4503599627370496 and 2 * largest or largest)
    end
    local wait = 0
    if cost and count + cost > limit then
      -- Those ahead may fill more than one period. Of more than three the wait is until the third has ended.
      local full = math.ceil((math.min(count, limit) + cost) / limit)
      wait = periods[math.max(math.min(full, 4), 2)] - now
    elseif change ~= 0 then
      count = math.max(math.min(count + change, 2 * largest), 0)
    end
    return count, wait, count < limit and limit - count or 0, count > 0 and periods[2] - now or 0
  end
end
