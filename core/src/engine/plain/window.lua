-- A window among the limits of a plain call.
--
-- REQUIRES: call log limit change windows live wait reset length_N live_N
-- CHANGES: windows length_N live_N
-- PROVIDES: length most

local length, most = call('LLEN', log), 2 * limit
-- RULE
length_N, live_N = length, live
windows = windows .. (wait == 0 and change > 0 and string.format(' %d', live) or string.format(' %d/%.0f/%.0f', live, wait, reset))
