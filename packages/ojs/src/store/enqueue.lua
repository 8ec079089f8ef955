-- Writes new jobs, or none of them when another has taken the id of one, whose place in the list it returns.
--
-- KEYS  the jobs, hash: id -> "version job"; the events, stream; how many jobs of each limiter wait, hash; then of each job the
--       place where it goes, a sorted set
-- ARGV  the most events, then of each job the arguments of after.lua, with one event
local COUNT = 9
for i = 4, #KEYS do
  if redis.call('HEXISTS', KEYS[1], ARGV[(i - 4) * COUNT + 2]) == 1 then
    return i - 4
  end
end
for i = 4, #KEYS do
  local first = (i - 4) * COUNT + 2
  local id, _, job, _, rank, limiter, by, _, event = unpack(ARGV, first, first + COUNT - 1)
  redis.call('HSET', KEYS[1], id, job)
  redis.call('ZADD', KEYS[i], rank, id)
  if limiter ~= '' then
    redis.call('HINCRBY', KEYS[3], limiter, by)
  end
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[1], '*', 'event', event)
end
