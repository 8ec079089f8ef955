-- Writes the state, and grants. The format uses as many levels as it has.
--
-- REQUIRES: call time skew level_1 level_2 level_3 level_4 level_5 level_6 level_7 level_8 longest_reset windows
-- PROVIDES: state

local state = string.format(ARGV[2], time, skew, level_1, level_2, level_3, level_4, level_5, level_6, level_7, level_8)
call('SET', KEYS[1], state, 'PX', math.ceil(longest_reset / 1000) + 10000)
return state .. windows
