-- Writes a job, moves it from one place to another, and writes its events.
--
-- KEYS  the jobs, hash: id -> "version job"; the events, stream; how many jobs of each limiter wait, hash; the place that the
--       job leaves, and the place where it goes, sorted sets
-- ARGV  id, version that is changed ('0' of a new job), "version job", '1' when it leaves a place, its rank in the other,
--       limiter whose waiting jobs change in number or '', by how much, the most events, then the events
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
if ARGV[4] == '1' then
  redis.call('ZREM', KEYS[4], ARGV[1])
end
redis.call('ZADD', KEYS[5], ARGV[5], ARGV[1])
if ARGV[6] ~= '' then
  redis.call('HINCRBY', KEYS[3], ARGV[6], ARGV[7])
end
for i = 9, #ARGV do
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[8], '*', 'event', ARGV[i])
end
