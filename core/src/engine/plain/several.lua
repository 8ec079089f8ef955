-- Plain calls to two to eight limits, all or none: as plain/state.lua, but the levels of the limits are captured in their order, and
-- the reply has the times of the decision.
--
-- KEYS  1  the state     then the log of each window, and with a permit the permits
-- ARGV  1  the pattern of a state of these limits: it captures last, skew, and of each meter and bucket its level
--       2  the format that writes it from these, last and skew as text
--       3  a letter for each limit: m meter, t meter of one unit, b bucket, w window
--       then of each limit three words: of a meter leak, capacity times scale, and scale; of a bucket limit, interval and offset;
--          of a window limit, interval, and how long its log lives in ms
--       then of each limit the units to take, of a meter times its scale
--       then with a permit its three words, and only for tests the time
-- REPLY 0: not plain. Else as to acquire without an id, see engine/state.lua
-- No units are above their limit, and not all are zero.
--
-- REQUIRES: server_time
-- PROVIDES: MAX call floor ceil words kinds raw clock now last skew at levels logs index wait remaining reset longest_reset least_remaining

local MAX = 4503599627370496
-- Locals are read quicker than globals.
local call, floor, ceil, words = redis.call, math.floor, math.ceil, ARGV
local kinds = words[3]
local raw = call('GET', KEYS[1])
-- Seconds and microseconds, as TIME replies them.
local clock = server_time and {string.format('%.0f', math.floor(server_time / 1000000)), string.format('%.0f', server_time % 1000000)}
  or call('TIME')
local now, last, skew, levels, logs = clock[1] * 1000000 + clock[2], 0, '0', {}, {}
if raw then
  levels = {string.match(raw, words[1])}
  if not levels[1] then
    return 0
  end
  last, skew = levels[1] + 0, levels[2]
  now = now + skew
  if now < last or now > MAX then
    return 0
  end
end
-- The time of an entry; nil of a damaged one.
local function at(log, entry)
  local time = tonumber(call('LINDEX', log, entry) or nil)
  return time and time >= 0 and time <= now and time % 1 == 0 and time or nil
end
local index, wait, remaining, reset, longest_reset, least_remaining = 0, 0, 0, 0, 0, MAX
do
  local capture, units_at = 2, 3 * #kinds + 3
  for i = 1, #kinds do
    local kind, a, b = string.sub(kinds, i, i), words[3 * i + 1] + 0, words[3 * i + 2] + 0
    local units = words[units_at + i] + 0
    local limit_wait, limit_remaining, limit_reset = 0, 0, 0
    if kind == 'w' then
      local log = KEYS[#logs + 2]
      local length, cutoff = call('LLEN', log), now - b
      -- Counts the entries that are still in the interval, as plain/window.lua does.
      local live, low, step = length, 0, 1
      while low < live do
        local probe = not step and floor((low + live) / 2) or live > step and live - step or 0
        local from_end = length - probe
        local time = at(log, from_end == 1 and '-1' or from_end == 2 and '-2' or probe)
        if not time then
          return 0
        elseif time > cutoff then
          low, step = probe + 1, nil
        else
          live, step = probe, step and (from_end == 1 and 1 or step * 2)
        end
      end
      -- A limit of which a call takes nothing does not hold it up.
      if units > 0 and live + units > a then
        local expires = at(log, a - units)
        if not expires then
          return 0
        end
        limit_wait = expires + b - now
      end
      if units > 0 and limit_wait == 0 then
        limit_remaining, limit_reset = a - live - units, b
      elseif live > 0 then
        local newest = at(log, '0')
        if not newest then
          return 0
        end
        limit_remaining, limit_reset = live < a and a - live or 0, newest + b - now
      else
        limit_remaining = a
      end
      logs[#logs + 1] = {log, words[3 * i + 3], length, live, units}
    else
      capture = capture + 1
      local level, full = raw and levels[capture] + 0 or 0, kind == 'b' and a or b
      if level > 2 * full then
        return 0
      end
      if kind == 'b' then
        local elapsed = (now + words[3 * i + 3]) % b
        if now - last > elapsed then
          level = 0
        end
        if units > 0 and level + units > a then
          limit_wait = b - elapsed
        else
          level = level + units
        end
        limit_remaining, limit_reset = level < a and a - level or 0, level > 0 and b - elapsed or 0
      else
        local elapsed, early = now - last, 0
        if elapsed < level / a then
          level = level - elapsed * a
        else
          if kind == 't' and units > 0 and elapsed < level / a + 1 then
            early = elapsed * a - level
          end
          level = 0
        end
        if units > 0 and level + units > b then
          limit_wait = ceil((level + units - b) / a)
        else
          level = level + units - early
        end
        limit_remaining, limit_reset = level < b and floor((b - level) / words[3 * i + 3]) or 0, ceil(level / a)
      end
      levels[capture] = level
    end
    if limit_wait > wait or wait == 0 and limit_remaining < least_remaining then
      index, wait, remaining, reset, least_remaining = i - 1, limit_wait, limit_remaining, limit_reset, limit_remaining
    end
    if limit_reset > longest_reset then
      longest_reset = limit_reset
    end
  end
end
if wait > 0 then
  return {0, index, remaining, math.min(wait, MAX), reset, now}
end
