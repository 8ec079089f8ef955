-- A call without an id: stands behind the queue and does not look at it. The same decision as in limits.lua, in one pass
-- and without a table or a function, which the script would make anew for every call: half the time.

local is_plain = not id and (verb == 'acquire' or verb == 'peek')
if is_plain then
  local ahead, before = tickets, tickets_units
  if now >= tickets_until or units == 0 then
    ahead, before = 0, 0
  end
  local change = verb == 'acquire' and units or 0
  local index, wait, remaining, reset, ends, least = 0, 0, 0, 0, 0, MAX
  local state, windows, key, damaged = '', nil, 2, false
  for i = 0, n - 1 do
    local o = 4 * i + 2
    local kind, a, b, c = ARGV[o], ARGV[o + 1] + 0, ARGV[o + 2] + 0, ARGV[o + 3] + 0
    local cost, delta = before + units, change
    if units > a and kind ~= 't' and kind ~= 'c' then
      return {5, i, a, 0, 0, now}
    elseif kind == 't' then
      -- A throttle counts starts.
      cost, delta = ahead + min(units, 1), min(change, 1)
    elseif kind == 'c' then
      is_plain = false
      break
    end
    local w, left, r
    if kind == 'w' then
      windows, key = windows or {}, key + 1
      local log = KEYS[key]
      local length = call('LLEN', log)
      local function at(entry)
        local time = tonumber(call('LINDEX', log, entry) or nil)
        if not (time and time >= 0 and time <= now and time % 1 == 0) then
          damaged = true
          return 0
        end
        return time
      end
      local live
      live, w, left, r = window(length, at, a, b, now, cost, delta)
      windows[#windows + 1] = {log, b, length, live}
    elseif kind == 'b' then
      local count, held = 0, a
      if raw then
        _, position, count, held = find(raw, '^ (%d+) (%d+)', position + 1)
        if not held or held - MAX > 0 or count - 2 * held > 0 then
          return redis.error_reply(DAMAGED)
        end
        count, held = count + 0, held + 0
      end
      count, w, left, r = bucket(count, held, a, b, c, last, now, cost, delta)
      if w == 0 then
        state = state .. format(' %.0f ', count) .. ARGV[o + 1]
      end
    else
      local level, held, scale = 0, a, c
      if raw then
        _, position, level, held, scale = find(raw, '^ (%d+) (%d+) (%d+)', position + 1)
        local full = position and held * scale or 0
        if full == 0 or full > MAX or level - 2 * full > 0 then
          return redis.error_reply(DAMAGED)
        end
        level, held, scale = level + 0, held + 0, scale + 0
      end
      if ahead > 0 then
        cost = min(cost, math.floor(MAX / c))
      end
      level, w, left, r = leaky(level, held, scale, a, b, c, last, now, cost, delta)
      if w == 0 then
        state = state .. format(' %.0f ', level) .. ARGV[o + 1] .. ' ' .. ARGV[o + 3]
      end
    end
    if w > MAX then
      w = MAX
    end
    if told and w > told_until - now and told_until < MAX and told[i + 1] ~= '-' then
      -- An override ends before, and then other numbers rule.
      w = told_until - now
    end
    if w > wait or wait == 0 and left < least then
      index, wait, remaining, reset, least = i, w, left, r, left
    end
    if r > ends then
      ends = r
    end
  end

  if pause - now > wait then
    index, wait, remaining, reset = n, pause - now, 0, pause - now
  end
  if wait > 0 and ahead > 0 then
    -- Perhaps only those before it are in its way.
    is_plain = false
  end
  if is_plain then
    if damaged or raw and position ~= #raw then
      return redis.error_reply(DAMAGED)
    end
    if wait == 0 and change > 0 then
      if attempt('HINCRBY', KEYS[2], 'granted', 1) == 1 then
        begin_statistics()
      end
      if units > 1 and attempt('HINCRBY', KEYS[2], 'units', units - 1) == units - 1 then
        begin_statistics()
      end
      if tickets > 0 then
        state = format('%.0f %.0f:%.0f:%.0f:%.0f:%.0f', now, skew, tickets, tickets_units, tickets_until, now) .. orders .. state
        ends = max(ends, tickets_until - now)
      else
        state = format('%.0f %.0f', now, skew) .. orders .. state
      end
      ends = max(ends, orders_life)
      for _, w in ipairs(windows or {}) do
        local log, length, live = w[1], w[3], w[4]
        push(log, format('%.0f', now), units)
        if length > live then
          call('LTRIM', log, 0, live + units - 1)
        end
        call('PEXPIRE', log, math.ceil(w[2] / 1000) + 10000)
      end
      call('SET', KEYS[1], state, 'PX', format('%.0f', math.ceil(ends / 1000) + 10000))
    elseif verb == 'acquire' then
      if wait > 0 and attempt('HINCRBY', KEYS[2], 'refused', 1) == 1 then
        begin_statistics()
      end
      if moved then
        -- Without this the clock of a full limiter would stand still until the server's catches up.
        call('SET', KEYS[1], format('%.0f %.0f', last, skew) .. string.match(raw, '^%d+ %d+(.*)'), 'KEEPTTL')
      end
    end
    if ARGV[base + 6] and verb == 'acquire' then
      register(now)
    end
    return {wait == 0 and 1 or 0, index, remaining, wait, reset, now, own and (index < n and ARGV[4 * index + 3] + 0 or 0)}
  end
end
