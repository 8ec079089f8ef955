-- leaky (also points and throttle): a meter that leaks `capacity` per `drain`. Twin of leaky.rs.
-- capacity / drain is reduced to leak / scale, or to the next lower fraction that fits, and the level counts
-- units * scale, so a leak is exact. Of `own`, `largest`, `held` and FULL see bucket.lua.
--
-- REQUIRES: level held held_scale own largest capacity leak scale last now cost change
-- CHANGES: level
-- PROVIDES: full elapsed most wait early remaining reset

local full, elapsed, wait, early = capacity * scale, now - last, 0, 0
local most = 2 * full
-- FULL
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
-- END
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
-- FULL
local remaining, reset = level < full and math.floor((full - level) / scale) or 0, math.ceil(level / leak)
-- END
