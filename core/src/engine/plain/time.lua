-- The text of `now`, for what is written. As a rule the reply to TIME has it in two pieces; to print such a number takes as long as
-- a command. Only tests have times in the first second.
--
-- REQUIRES: clock now skew
-- PROVIDES: time

local time = skew == '0' and #clock[2] == 6 and clock[1] ~= '0' and clock[1] .. clock[2] or string.format('%.0f', now)
