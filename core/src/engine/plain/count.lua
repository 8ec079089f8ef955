-- Writes the count of a bucket, and grants.
--
-- REQUIRES: call time now skew interval elapsed taken
-- PROVIDES: nothing

call('SET', KEYS[1], string.format(ARGV[2], time, skew, taken), 'PX', math.ceil((interval - elapsed) / 1000) + 10000 .. '')
return {1, taken, now}
