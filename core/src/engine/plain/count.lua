-- Writes the count of a bucket, and grants.
--
-- REQUIRES: call time skew interval elapsed taken
-- PROVIDES: state

local state = string.format(ARGV[2], time, skew, taken)
call('SET', KEYS[1], state, 'PX', math.ceil((interval - elapsed) / 1000) + 10000)
return state
