-- The scripts of plain calls decide an acquire by the limits of a policy, all or none, on a state that has the records of these
-- limits alone, or release a lease. They are composed of pieces for the kinds of the limits, in their order: see compose.rs.
-- They decide as the whole script does, in a third of its time: no function is made, the numbers of the limits are compared as a part
-- of the state, and the caller computes the times of the decision from the state. On any other state (a queue, overrides, other limits, a
-- clock that ran backwards, damage) they change nothing, and the caller sends the call to the whole script.
--
-- KEYS  1  the state, as in engine/state.lua; then the log of each window, with a permit the permits, of leases these and their records
-- ARGV  1  the pattern of a state of these limits: it captures last, skew, and of each meter and bucket its level
--       2  the format that writes it from these, last and skew as text
--       then of each limit three words: of a meter capacity, leak and scale; of a bucket limit, interval and offset; of a window limit,
--          interval, and how long its log lives in ms; of leases two: limit and lock timeout
--       then of each limit the units to take; with a permit its tags and id, its charge, and how long it can be corrected in us; of a
--          lease its id; and only for tests the time
--       to release instead of the units the id and when the lease was granted
-- REPLY 0: not plain. Else a text: the state that was written (granted), or the state as it is and behind its end the time (refused);
--       and, each behind a space, of each window its entries before the call, and where the call is refused or takes nothing of
--       it the wait and the reset of the window. A table of numbers takes longer to send than a text.
--       To a lease as to acquire with an id, see engine/state.lua; to a release 1 and the time
-- No units are above their limit, and not all are zero.
--
-- REQUIRES: server_time
-- PROVIDES: MAX call raw time now last skew level_1 level_2 level_3 level_4 level_5 level_6 level_7 level_8

local MAX = 4503599627370496
-- Locals are read quicker than globals.
local call, time = redis.call, server_time
if not time then
  -- TIME replies the seconds and the microseconds, which make the text for what is written: to print such a number takes as long as
  -- a command.
  local clock = call('TIME')
  time = clock[1] .. (#clock[2] == 6 and clock[2] or string.format('%06d', clock[2]))
end
local raw, now = call('GET', KEYS[1]), time + 0
local last, skew, level_1, level_2, level_3, level_4, level_5, level_6, level_7, level_8 = 0, '0', 0, 0, 0, 0, 0, 0, 0, 0
if raw then
  last, skew, level_1, level_2, level_3, level_4, level_5, level_6, level_7, level_8 = string.match(raw, ARGV[1])
  if not last then
    return 0
  end
  last = last + 0
  if skew ~= '0' then
    now = now + skew
    time = string.format('%.0f', now)
  end
  if now < last or now > MAX then
    return 0
  end
end
