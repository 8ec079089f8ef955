-- A bucket among the limits of a plain call.
--
-- REQUIRES: level_N limit
-- CHANGES: level_N
-- PROVIDES: count largest

local count, largest = level_N + 0, limit
if count > 2 * limit then
  return 0
end
-- RULE
level_N = count
