-- A decision of several limiters between two functions of the caller, in one script. `together` is together.lua as a function of
-- keys and arguments; `before` and `after` are the caller's.
--
-- KEYS  the caller's keys, then those of the limiters
-- ARGV  number of the caller's keys, number of its arguments, its arguments; then ARGV of together.lua, nothing without limiters
-- REPLY 0 and what `before` returned, when that was not nil: nothing was decided; or 1 and the reply of together.lua
--        or the error PGAFTER with that of `after`
-- `after` runs when every limiter passes the call, and after every cancellation. What `before` writes stays in any case.

local own_keys, own_arguments, keys, arguments = {}, {}, {}, {}
local key_count, argument_count = ARGV[1] + 0, ARGV[2] + 0
for i = 1, #KEYS do
  if i <= key_count then
    own_keys[i] = KEYS[i]
  else
    keys[i - key_count] = KEYS[i]
  end
end
for i = 3, #ARGV do
  if i <= argument_count + 2 then
    own_arguments[i - 2] = ARGV[i]
  else
    arguments[i - 2 - argument_count] = ARGV[i]
  end
end

local stopped = before(own_keys, own_arguments)
if stopped then
  return {0, stopped}
end
local replies = #arguments > 0 and together(keys, arguments) or {}
if replies.err then
  return replies
end
local passes = true
for _, reply in ipairs(replies) do
  -- 6 is a refusal in shadow, which passes the call; the replies to a cancellation are 6 and 8.
  passes = passes and (reply[1] == 1 or reply[1] >= 6)
end
if passes then
  local is_done, why = pcall(after, own_keys, own_arguments)
  if not is_done then
    -- In Redis 6.2 it is a text. The limiters have written.
    return {err = 'PGAFTER ' .. string.gsub(type(why) == 'table' and why.err or tostring(why), '%c', ' ')}
  end
end
return {1, replies}
