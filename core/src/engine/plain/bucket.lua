-- A count in an aligned interval. See limits/bucket.lua.
--
-- REQUIRES: units raw time now last level
-- PROVIDES: limit interval elapsed left taken

local limit, interval = ARGV[3] + 0, ARGV[4] + 0
local elapsed, left = (now + ARGV[5]) % interval, level
if level > 2 * limit then
  return 0
end
if now - last > elapsed then
  left = 0
end
local taken = left + units
if taken > limit then
  return raw .. time
end
