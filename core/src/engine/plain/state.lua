-- The plain scripts decide an acquire by one limit, on a state that has the record of that limit alone, or release a lease. This
-- piece is the beginning of each; the piece of the kind follows. They decide as the whole script does, in a third of its time: no
-- function is made, the numbers of the limit are compared as a part of the state, and the caller computes the times of the
-- decision from the level. On any other state (a queue, overrides, other limits, a clock that ran backwards, damage) they change
-- nothing, and the caller sends the call to the whole script.
--
-- KEYS  1  the state, as in engine/state.lua     2  of a window its log, with a permit the permits, of leases these
--       3  the records of leases
-- ARGV  1  the pattern of a state of this limit: it captures last, skew and the level
--       2  the format that writes it from these, last and skew as text
--       3  of a meter its leak; else the limit     4  of a meter its capacity times its scale; else the interval or lock timeout
--       5  of a bucket its offset; of a window how long its log lives in ms
--       then the units to take, of a meter times its scale, but of a window; with a permit its tags and id, its charge, and how long it can be
--          corrected in us; of a lease its id; and only for tests the time
--       to release instead of the units the id and when the lease was granted
-- REPLY 0: not plain. Else 1 (granted) or 0, the level (a window's entries) that the decision left, and the time;
--       of a window that refuses, also the time of the entry that must expire and of the newest.
--       To a lease as to acquire with an id, see engine/state.lua; to a release 1 and the time
-- The units fit the limit, and are not zero.
--
-- REQUIRES: server_time
-- PROVIDES: MAX call raw clock now last skew level

local MAX = 4503599627370496
local call = redis.call
local raw = call('GET', KEYS[1])
-- Seconds and microseconds, as TIME replies them.
local clock = server_time and {string.format('%.0f', math.floor(server_time / 1000000)), string.format('%.0f', server_time % 1000000)}
  or call('TIME')
local now, last, skew, level = clock[1] * 1000000 + clock[2], 0, '0', 0
if raw then
  last, skew, level = string.match(raw, ARGV[1])
  if not last then
    return 0
  end
  last, now, level = last + 0, now + skew, level + 0
  if now < last or now > MAX then
    return 0
  end
end
