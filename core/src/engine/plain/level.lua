-- Writes the level of a meter, and grants.
--
-- REQUIRES: call time now skew leak taken
-- PROVIDES: nothing

call('SET', KEYS[1], string.format(ARGV[2], time, skew, taken), 'PX', math.ceil(taken / leak / 1000) + 10000 .. '')
return {1, taken, now}
