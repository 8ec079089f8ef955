-- The plain scripts decide an acquire by one limit, on a state that has the record of that limit alone, or release a lease. This
-- piece is the beginning of each; the piece of the kind follows. They decide as the whole script does, in a third of its time: no
-- function is made, the numbers of the limit are compared as a part of the state, and the caller computes the times of the
-- decision from the state. On any other state (a queue, overrides, other limits, a clock that ran backwards, damage) they change
-- nothing, and the caller sends the call to the whole script.
--
-- KEYS  1  the state, as in engine/state.lua     2  of a window its log, with a permit the permits, of leases these
--       3  the records of leases
-- ARGV  1  the pattern of a state of this limit: it captures last, skew and the level
--       2  the format that writes it from these, last and skew as text; of a window what stands behind them
--       3  of a meter its leak; else the limit     4  of a meter its capacity times its scale; else the interval or lock timeout
--       5  of a bucket its offset; of a window how long its log lives in ms
--       then the units to take, of a meter times its scale, but of a window; with a permit its tags and id, its charge, and how long it can be
--          corrected in us; of a lease its id; and only for tests the time
--       to release instead of the units the id and when the lease was granted
-- REPLY 0: not plain. Else of a meter and a bucket a text: the state that was written (granted), or the state as it is and behind its
--       end the time (refused). Of a window that grants the text of its entries before the call and of the time; that refuses 0, its
--       entries, and the times of now, of the entry that must expire and of the newest.
--       A table of numbers takes longer to send than a text.
--       To a lease as to acquire with an id, see engine/state.lua; to a release 1 and the time
-- The units fit the limit, and are not zero.
--
-- REQUIRES: call server_text
-- PROVIDES: MAX raw time now last skew level

local MAX = 4503599627370496
local raw = call('GET', KEYS[1])
local time, now, last, skew, level = server_text, server_text + 0, 0, '0', 0
if raw then
  last, skew, level = string.match(raw, ARGV[1])
  if not last then
    return 0
  end
  last, level = last + 0, level + 0
  if skew ~= '0' then
    now = now + skew
    time = string.format('%.0f', now)
  end
  if now < last or now > MAX then
    return 0
  end
end
