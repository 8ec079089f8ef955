-- bucket: a count in the aligned window floor((now + offset) / interval). Twin of bucket.rs.

local function bucket(count, held, limit, interval, offset, last, now, cost, change)
  local elapsed = (now + offset) % interval
  if now - last > elapsed then
    count = 0
  elseif held ~= limit and count > limit then
    count = limit
  end
  local wait = 0
  if cost and count + cost > limit then
    -- Those ahead may fill more than one interval.
    wait = interval - elapsed + (math.max(math.ceil((math.min(count, limit) + cost) / limit), 2) - 2) * interval
  elseif change ~= 0 then
    count = math.max(math.min(count + change, 2 * limit), 0)
  end
  return count, wait, count < limit and limit - count or 0, count > 0 and interval - elapsed or 0
end
