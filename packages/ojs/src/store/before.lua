-- Stops when another has changed the job. ARGV as in after.lua.
local record = redis.call('HGET', KEYS[1], ARGV[1])
if (record and string.match(record, '^%d+') or '0') ~= ARGV[2] then
  return 'changed'
end
