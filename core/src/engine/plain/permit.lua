-- Keeps the permit of a charge that can be corrected. See transaction/enter.lua. `permit` are its tags and its id, and `permits` is
-- the key of all.
--
-- REQUIRES: permit charge settle_within permits call time now last
-- PROVIDES: MAX_PERMITS MAX_REMOVALS lifetime

local MAX_PERMITS, MAX_REMOVALS = 100000, 1000
local lifetime = math.ceil(settle_within / 1000) + 10000
call('ZADD', permits, string.format('%.0f', (now + settle_within) * 2), permit .. ':' .. time .. ':' .. charge)
if call('PTTL', permits) < lifetime then
  call('PEXPIRE', permits, lifetime .. '')
end
if math.floor(now / 10000) ~= math.floor(last / 10000) then
  local ended = call('ZCOUNT', permits, '-inf', string.format('%.0f', now * 2 + 1))
  local excess = math.max(ended, call('ZCARD', permits) - MAX_PERMITS)
  if excess > 0 then
    call('ZREMRANGEBYRANK', permits, 0, math.min(excess, MAX_REMOVALS) - 1)
  end
end
