-- A meter; `is_single` says that its capacity is one unit. See limits/leaky.lua.
--
-- REQUIRES: units is_single raw time now last level
-- PROVIDES: leak full elapsed left early taken

local leak, full, elapsed, left, early = ARGV[3] + 0, ARGV[4] + 0, now - last, 0, 0
if level > 2 * full then
  return 0
end
if elapsed < level / leak then
  left = level - elapsed * leak
elseif is_single and elapsed < level / leak + 1 then
  early = elapsed * leak - level
end
local taken = left + units - early
if taken > full then
  return raw .. time
end
