-- A meter among the limits of a plain call.
--
-- REQUIRES: level_N capacity leak scale
-- CHANGES: level_N
-- PROVIDES: level reset

local level = level_N + 0
if level > 2 * capacity * scale then
  return 0
end
-- RULE
local reset = level / leak
level_N = level
