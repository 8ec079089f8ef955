-- Returns the jobs at a place from one rank to another, in their order. An id without a job would hide those behind it; it is
-- taken away, and they move up. At most so many times: the next call takes away more.
--
-- KEYS  the jobs, hash: id -> "version job"; the place, sorted set
-- ARGV  the first rank, the last
local TIMES = 20
local found = {}
for _ = 1, TIMES do
  local ids = redis.call('ZRANGE', KEYS[2], ARGV[1], ARGV[2])
  local texts = #ids == 0 and {} or redis.call('HMGET', KEYS[1], unpack(ids))
  found = {}
  for i, text in ipairs(texts) do
    if text then
      found[#found + 1] = text
    else
      redis.call('ZREM', KEYS[2], ids[i])
    end
  end
  if #found == #ids then
    break
  end
end
return found
