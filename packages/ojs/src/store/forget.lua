-- Forgets a job that has ended.
--
-- KEYS  the jobs, hash: id -> "version job"; the place where it is, sorted set
-- ARGV  id, version that is forgotten
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[1], ARGV[1])
