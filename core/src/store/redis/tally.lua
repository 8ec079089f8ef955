-- Adds what a process has counted of a limiter to its statistics; see tally.rs.
-- KEYS 1 statistics   then of each hour in which keys were refused a sorted set: member: key, score: how often
-- ARGV 1 for how many ms the statistics are kept if this creates them   2 number of fields   then the fields, each followed by its
--      number; then for each hour the number of its keys and these, each followed by its number
-- Replies 0, or the error of a server that takes no writes now: then nothing is added, and the process keeps its counts.
-- With too many keys in an hour the lowest counts go, as in store/refused_keys.rs.
local KEPT, MOST, TWO_HOURS = 200, 400, 7200000
local REFUSES_WRITES = {READONLY = true, OOM = true, MISCONF = true, NOREPLICAS = true}
local is_written = false
-- Returns the error of a server that takes no writes, unless something was written. Others are of a damaged key, or of what the
-- user may not do, and would stay.
local function write(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then
    is_written = true
  elseif not is_written then
    -- Redis 6.2 says first where in the script.
    local code = string.match(reply.err, '^%u+') or string.match(reply.err, ' %-(%u+)')
    return REFUSES_WRITES[code or ''] and reply
  end
end
local at = 2 * ARGV[2] + 3
for i = 3, at - 1, 2 do
  local refused
  if ARGV[i] == 'degraded_at' then
    -- The time of the last.
    local before = redis.pcall('HGET', KEYS[1], ARGV[i])
    if (tonumber(type(before) == 'string' and before or '') or 0) < ARGV[i + 1] + 0 then
      refused = write('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    end
  else
    refused = write('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])
  end
  if refused then
    return refused
  end
end
if redis.pcall('PTTL', KEYS[1]) == -1 then
  redis.pcall('PEXPIRE', KEYS[1], ARGV[1])
end
for k = 2, #KEYS do
  local keys, last = KEYS[k], at + 2 * ARGV[at]
  for i = at + 1, last, 2 do
    local refused = write('ZINCRBY', keys, ARGV[i + 1], ARGV[i])
    if refused then
      return refused
    end
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
