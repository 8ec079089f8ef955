-- window: the times of the last grants, newest first; half-open, so an entry one interval old has expired. `log` has `length` times, and
-- `most` can be taken. An entry that is no time returns 0. Twin of window.rs; of FULL see bucket.lua.
--
-- REQUIRES: call log length limit interval now cost change most
-- CHANGES: nothing
-- PROVIDES: cutoff live low step probe entry wait reset remaining is_full expires newest

-- Counts the entries that are still in the interval, which come first. It looks at the two oldest and then at newer ones,
-- twice as far each time, until it finds one in the interval; a binary search between `low` and `live` finds the last of these.
-- Texts are quicker than numbers as arguments of a command.
local cutoff, live, low, step, probe, entry = now - interval, length, 0, 1, nil, nil
while low < live do
  probe = not step and math.floor((low + live) / 2) or live > step and live - step or 0
  local from_end = length - probe
  entry = tonumber(call('LINDEX', log, from_end == 1 and '-1' or from_end == 2 and '-2' or probe) or nil)
  if not (entry and entry >= 0 and entry <= now and entry % 1 == 0) then
    return 0
  elseif entry > cutoff then
    low, step = probe + 1, nil
  else
    live, step = probe, step and (from_end == 1 and 1 or step * 2)
  end
end
local wait, reset, is_full = 0, 0, cost and live + cost > limit
local expires, newest = now, now
if is_full then
  -- This many entries must expire first: the live ones, then the entries of the calls ahead, which take their places.
  local expired = live + cost - limit
  if expired > live and expired > limit then
    -- The bound keeps the product below 2^53.
    wait = math.min(math.floor((expired - 1) / limit), math.ceil(4503599627370496 / interval)) * interval
    expired = (expired - 1) % limit + 1
  end
  if expired <= live then
    -- The search has often looked at it.
    expires = live - expired == probe and entry or tonumber(call('LINDEX', log, live - expired) or nil)
  end
elseif change > 0 and live < most then
  reset = interval
end
if reset == 0 and live > 0 then
  newest = probe == 0 and entry or tonumber(call('LINDEX', log, '0') or nil)
end
if not (expires and expires >= 0 and expires <= now and expires % 1 == 0)
  or not (newest and newest >= 0 and newest <= now and newest % 1 == 0) then
  return 0
end
if is_full then
  wait = wait + expires + interval - now
end
if reset == 0 and live > 0 then
  reset = newest + interval - now
end
-- FULL
local remaining = math.max(limit - live - (wait == 0 and change or 0), 0)
-- END
