-- Returns the jobs at a place from one rank to another, in their order. An id without a job would hide those behind it; it is
-- taken away, and they move up.
--
-- KEYS  the jobs, hash: id -> "version job"; the place, sorted set
-- ARGV  the first rank, the last
local texts
repeat
  local ids = redis.call('ZRANGE', KEYS[2], ARGV[1], ARGV[2])
  texts = #ids == 0 and {} or redis.call('HMGET', KEYS[1], unpack(ids))
  local is_whole = true
  for i, text in ipairs(texts) do
    if not text then
      redis.call('ZREM', KEYS[2], ids[i])
      is_whole = false
    end
  end
until is_whole
return texts
