-- window: the times of the last grants, newest first; half-open, so an entry one interval old has expired.
-- `at(i)` is the i-th newest of `length` times, `most` what can be taken, twice the limit if absent. Twin of window.rs.
--
-- REQUIRES: nothing
-- PROVIDES: window push

local function window(length, at, limit, interval, now, cost, change, most)
  -- How many entries are live: gallops from the old end, so usually two looks.
  local live, step, cutoff = length, 1, now - interval
  while live > 0 do
    local probe = math.max(live - step, 0)
    if at(probe) > cutoff then
      local low = probe + 1
      while low < live do
        local middle = math.floor((low + live) / 2)
        if at(middle) > cutoff then
          low = middle + 1
        else
          live = middle
        end
      end
      break
    end
    live, step = probe, step * 2
  end
  local wait, reset = 0, 0
  if cost and live + cost > limit then
    -- This many entries must expire first: the live ones, then the entries of the calls ahead, which take their places.
    local expired = live + cost - limit
    if expired > live and expired > limit then
      -- The bound keeps the product below 2^53.
      wait = math.min(math.floor((expired - 1) / limit), math.ceil(4503599627370496 / interval)) * interval
      expired = (expired - 1) % limit + 1
    end
    wait = wait + (expired <= live and at(live - expired) + interval - now or interval)
  elseif change > 0 and live < (most or 2 * limit) then
    reset = interval
  end
  if reset == 0 and live > 0 then
    reset = at(0) + interval - now
  end
  return live, wait, math.max(limit - live - (wait == 0 and change or 0), 0), reset
end

-- Adds `count` entries at the newest end of a log, in pieces that Lua can unpack.
local function push(log, entry, count)
  local unpack = table.unpack or unpack
  local entries = {}
  for i = 1, math.min(count, 1000) do
    entries[i] = entry
  end
  while count > 0 do
    redis.call('LPUSH', log, unpack(entries, 1, math.min(count, 1000)))
    count = count - 1000
  end
end
