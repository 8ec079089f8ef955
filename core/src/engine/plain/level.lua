-- Writes the level of a meter, and grants.
--
-- REQUIRES: call time skew leak taken
-- PROVIDES: state

local state = string.format(ARGV[2], time, skew, taken)
call('SET', KEYS[1], state, 'PX', math.ceil(taken / leak / 1000) + 10000)
return state
