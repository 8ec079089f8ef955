-- Keeps the permit of a charge that can be corrected. See transaction/enter.lua.
--
-- KEYS  2  permits   ARGV  6  tags and id of the permit     7  its charge     8  how long it can be corrected, in us
--
-- REQUIRES: call now last
-- PROVIDES: MAX_PERMITS MAX_REMOVALS settle_within lifetime

local MAX_PERMITS, MAX_REMOVALS = 100000, 1000
local settle_within = ARGV[8] + 0
local lifetime = math.ceil(settle_within / 1000) + 10000
call('ZADD', KEYS[2], string.format('%.0f', (now + settle_within) * 2), string.format('%s:%.0f:%s', ARGV[6], now, ARGV[7]))
if call('PTTL', KEYS[2]) < lifetime then
  call('PEXPIRE', KEYS[2], lifetime .. '')
end
if math.floor(now / 10000) ~= math.floor(last / 10000) then
  local ended = call('ZCOUNT', KEYS[2], '-inf', string.format('%.0f', now * 2 + 1))
  local excess = math.max(ended, call('ZCARD', KEYS[2]) - MAX_PERMITS)
  if excess > 0 then
    call('ZREMRANGEBYRANK', KEYS[2], 0, math.min(excess, MAX_REMOVALS) - 1)
  end
end
