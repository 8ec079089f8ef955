-- The time of the server as a text, of which the next piece makes the limiter's time. TIME replies it in two pieces, seconds and
-- microseconds: they make the text for what is written, since to print such a number takes as long as a command.
--
-- REQUIRES: server_time
-- PROVIDES: call server_text

-- Locals are read quicker than globals.
local call, server_text = redis.call, server_time
if not server_text then
  local clock = call('TIME')
  server_text = clock[1] .. (#clock[2] == 6 and clock[2] or string.format('%06d', clock[2]))
end
