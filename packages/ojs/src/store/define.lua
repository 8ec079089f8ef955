-- Writes the definition of a limiter. Nothing is lost that another has written since it was read: strategies that only overrides
-- have named stay, and an override keeps the policy.
--
-- KEYS  the definitions, hash: limiter -> JSON
-- ARGV  limiter, its definition, '1' to keep the policy that is there
local written, before = cjson.decode(ARGV[2]), redis.call('HGET', KEYS[1], ARGV[1])
if before then
  before = cjson.decode(before)
  for label, kind in pairs(before.added or {}) do
    written.added[label] = kind
  end
  if ARGV[3] == '1' then
    written.document = before.document
  end
end
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(written))
