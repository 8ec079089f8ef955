-- Plain calls to two to eight limits, all or none: as plain/state.lua, but the levels of the limits are captured in their order, and
-- a refusal has the times of the decision.
--
-- KEYS  1  the state     then the log of each window, and with a permit the permits
-- ARGV  1  the pattern of a state of these limits: it captures last, skew, and of each meter and bucket its level
--       2  the format that writes it from these, last and skew as text
--       3  a letter for each limit: m meter, t meter of one unit, b bucket, w window
--       then of each limit three words: of a meter leak, capacity times scale, and scale; of a bucket limit, interval and offset;
--          of a window limit, interval, and how long its log lives in ms
--       then the units to take: "5" of every limit, or "1,2000", of each
--       then with a permit its three words, and only for tests the time
-- REPLY 0: not plain. To a refusal as to acquire without an id, see engine/state.lua. Else the text of the state that was written and,
--       each behind a space, of each window its entries before the call, and of one of which the call takes nothing also how long
--       until it has none
-- No units are above their limit, and not all are zero.
--
-- REQUIRES: call server_text
-- PROVIDES: MAX words kinds raw time now last skew levels logs index wait remaining reset longest_reset

local MAX = 4503599627370496
local words = ARGV
local kinds = words[3]
local raw = call('GET', KEYS[1])
local time, now, last, skew, levels, logs = server_text, server_text + 0, 0, '0', {}, {}
if raw then
  levels = {string.match(raw, words[1])}
  if not levels[1] then
    return 0
  end
  last, skew = levels[1] + 0, levels[2]
  if skew ~= '0' then
    now = now + skew
    time = string.format('%.0f', now)
  end
  if now < last or now > MAX then
    return 0
  end
end
-- What a limit leaves over matters only to a refusal, whose reason it is; else the caller computes it from the levels.
local index, wait, remaining, reset, longest_reset = 0, 0, 0, 0, 0
do
  local capture, word, costs, cost = 2, 4, nil, words[3 * #kinds + 4]
  if string.find(cost, ',', 1, true) then
    costs = {}
    for part in string.gmatch(cost, '%d+') do
      costs[#costs + 1] = part + 0
    end
  else
    cost = cost + 0
  end
  for i = 1, #kinds do
    local kind, a, b, units = string.sub(kinds, i, i), words[word] + 0, words[word + 1] + 0, costs and costs[i] or cost
    local limit_wait, limit_remaining, limit_reset = 0, 0, 0
    if kind == 'w' then
      local log = KEYS[#logs + 2]
      local length, cutoff = call('LLEN', log), now - b
      -- Counts the entries that are still in the interval, as plain/window.lua does.
      local live, low, step = length, 0, 1
      while low < live do
        local probe = not step and math.floor((low + live) / 2) or live > step and live - step or 0
        local from_end = length - probe
        local entry = tonumber(call('LINDEX', log, from_end == 1 and '-1' or from_end == 2 and '-2' or probe) or nil)
        if not (entry and entry >= 0 and entry <= now and entry % 1 == 0) then
          return 0
        elseif entry > cutoff then
          low, step = probe + 1, nil
        else
          live, step = probe, step and (from_end == 1 and 1 or step * 2)
        end
      end
      -- A limit of which a call takes nothing does not hold it up.
      local is_full = units > 0 and live + units > a
      if units > 0 and not is_full then
        limit_reset = b
      elseif live > 0 then
        local newest = tonumber(call('LINDEX', log, '0') or nil)
        local expires = newest
        if is_full then
          expires = tonumber(call('LINDEX', log, a - units) or nil)
        end
        if not (newest and newest >= 0 and newest <= now and newest % 1 == 0)
          or not (expires and expires >= 0 and expires <= now and expires % 1 == 0) then
          return 0
        end
        limit_reset = newest + b - now
        if is_full then
          limit_wait, limit_remaining = expires + b - now, live < a and a - live or 0
        end
      end
      logs[#logs + 1] = {log, words[word + 2], length, live, units, limit_reset}
    else
      capture = capture + 1
      local level, full = raw and levels[capture] + 0 or 0, kind == 'b' and a or b
      if level > 2 * full then
        return 0
      end
      if kind == 'b' then
        local elapsed = (now + words[word + 2]) % b
        if now - last > elapsed then
          level = 0
        end
        if units > 0 and level + units > a then
          limit_wait, limit_remaining = b - elapsed, level < a and a - level or 0
        else
          level = level + units
        end
        limit_reset = level > 0 and b - elapsed or 0
      else
        local elapsed, early, scale = now - last, 0, words[word + 2] + 0
        units = kind == 't' and units > 0 and scale or units * scale
        if elapsed < level / a then
          level = level - elapsed * a
        else
          if kind == 't' and units > 0 and elapsed < level / a + 1 then
            early = elapsed * a - level
          end
          level = 0
        end
        if units > 0 and level + units > b then
          limit_wait = math.ceil((level + units - b) / a)
          limit_remaining = level < b and math.floor((b - level) / scale) or 0
        else
          level = level + units - early
        end
        limit_reset = level / a
      end
      levels[capture] = level
    end
    if limit_wait > wait then
      index, wait, remaining, reset = i - 1, limit_wait, limit_remaining, math.ceil(limit_reset)
    end
    if limit_reset > longest_reset then
      longest_reset = limit_reset
    end
    word = word + 3
  end
end
if wait > 0 then
  return {0, index, remaining, math.min(wait, MAX), reset, now}
end
