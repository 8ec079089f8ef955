-- A change on the condition that the overrides have one of these versions, in one script. `decide` is the script of one limiter.
--
-- KEYS  as in state.lua
-- ARGV  0, 1, the versions with a comma behind each, then ARGV of state.lua with the verb control or reset
-- REPLY as to the change; or -1 and the version, when it is another one: nothing was changed

local versions, change, look = ARGV[3], {}, {}
for i = 4, #ARGV do
  change[i - 3], look[i - 3] = ARGV[i], ARGV[i]
end
local verb_at = 4 * string.sub(change[1], 1, 1) + 2
look[verb_at], look[verb_at + 1] = 'control', '0'
for i = 3, 6 do
  look[verb_at + i] = ''
end
local state = decide(KEYS, look, false, 1000, 500)
if state.err then
  return state
end
local version = string.format('%.0f', state[1])
if not string.find(',' .. versions, ',' .. version .. ',', 1, true) then
  return {-1, version}
end
return decide(KEYS, change, false, 1000, 500)
