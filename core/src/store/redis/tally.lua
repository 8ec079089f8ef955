-- Adds what a process has counted of a limiter to its statistics; see tally.rs.
-- KEYS 1 statistics   then of each hour in which keys were refused a sorted set: member: key, score: how often
-- ARGV 1 for how many ms the statistics are kept if this creates them   2 number of fields   then the fields, each followed by its
--      number; then for each hour the number of its keys and these, each followed by its number
-- With too many keys in an hour the lowest counts go, as in store/refused_keys.rs.
local KEPT, MOST, TWO_HOURS = 200, 400, 7200000
local at = 2 * ARGV[2] + 3
for i = 3, at - 1, 2 do
  if ARGV[i] == 'degraded_at' then
    -- The time of the last.
    local before = redis.pcall('HGET', KEYS[1], ARGV[i])
    if (tonumber(type(before) == 'string' and before or '') or 0) < ARGV[i + 1] + 0 then
      redis.pcall('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    end
  else
    redis.pcall('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
if redis.pcall('PTTL', KEYS[1]) == -1 then
  redis.pcall('PEXPIRE', KEYS[1], ARGV[1])
end
for k = 2, #KEYS do
  local keys, last = KEYS[k], at + 2 * ARGV[at]
  for i = at + 1, last, 2 do
    redis.pcall('ZINCRBY', keys, ARGV[i + 1], ARGV[i])
  end
  at = last + 1
  redis.pcall('PEXPIRE', keys, TWO_HOURS)
  local count = redis.pcall('ZCARD', keys)
  if type(count) == 'number' and count > MOST then
    local least = redis.call('ZRANGE', keys, KEPT, KEPT, 'REV', 'WITHSCORES')[2]
    redis.call('ZREMRANGEBYSCORE', keys, '-inf', least)
    for _, key in ipairs(redis.call('ZRANGE', keys, 0, -1)) do
      redis.call('ZINCRBY', keys, -least, key)
    end
  end
end
return 0
