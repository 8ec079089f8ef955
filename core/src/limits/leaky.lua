-- leaky (also points and throttle): a meter that leaks `capacity` per `drain`. Twin of leaky.rs.
-- capacity / drain is reduced to leak / scale, or to the next lower fraction that fits, and the level counts
-- units * scale, so a leak is exact. Of `own`, `largest` and `held` see bucket.lua.
--
-- REQUIRES: nothing
-- PROVIDES: leaky undrained

local function leaky(level, held, held_scale, own, largest, capacity, leak, scale, last, now, cost, change)
  local full, elapsed = capacity * scale, now - last
  local most = 2 * full
  if held_scale ~= scale or held ~= capacity or own ~= capacity or largest ~= capacity then
    if held_scale ~= scale then
      -- A product of floats, which does not wrap round in Lua 5.4.
      level = math.ceil(level / held_scale) * 1.0 * scale
    end
    -- Of another policy stays what fits, else up to one whole limit of debt, as far as it can be counted.
    local countable = math.floor(4503599627370496 / scale)
    most = math.min(2 * largest, countable) * scale
    local is_kept = held == own or held == math.floor(4503599627370496 / held_scale)
    level = math.min(level, is_kept and most or math.min(largest, countable) * scale)
  end
  local wait, early = 0, 0
  if elapsed < level / leak then
    level = level - elapsed * leak
  else
    if capacity == 1 and elapsed < level / leak + 1 then
      -- The fraction of a microsecond by which a throttle was free before this call counts for the next start.
      early = elapsed * leak - level
    end
    level = 0
  end
  if cost and level + cost * scale > full then
    wait = math.ceil((level + cost * scale - full) / leak)
  elseif change ~= 0 then
    level = math.max(math.min(level + change * scale, most) - early, 0)
  end
  return level, wait, level < full and math.floor((full - level) / scale) or 0, math.ceil(level / leak)
end

-- The units of a charge that cannot have drained in the time since it was taken. The products are floats, which do not wrap
-- round in Lua 5.4, and exact where the difference counts.
local undrained

if ARGV[4 * string.sub(ARGV[1], 1, 1) + 2] == 'correct' or ARGV[4 * string.sub(ARGV[1], 1, 1) + 2] == 'learn' then
  function undrained(charged, elapsed, most, leak, scale)
    charged = math.min(charged, most)
    local drained = elapsed * 1.0 * leak
    if drained >= charged * 1.0 * scale then
      return 0
    end
    return charged - math.ceil(drained / scale)
  end
end
