-- The fast path: calls without an id, which count the queue's summary as load ahead and do not read the queue, on a state
-- whose records are of the call's limits, in their order. The same decision as in limits.lua, in one pass and without
-- a table or a function, which the script would make anew for every call: that halves the time. A limiter that is recorded has
-- no fast path.
--
-- REQUIRES: dry_run bucket leaky quota window MAX DAMAGED call format find min max limit_count conduct verb_at verb units
-- REQUIRES: describes costs id add_statistic register_limiter raw last skew levels_at tickets queued queued_until now skew_changed quotas
-- REQUIRES: overrides recorded_until
-- PROVIDES: push

-- Adds `count` entries at the newest end of a log, in pieces that Lua can unpack.
local function push(log, entry, count)
  local unpack = table.unpack or unpack
  local entries = {}
  for i = 1, math.min(count, 1000) do
    entries[i] = entry
  end
  while count > 0 do
    redis.call('LPUSH', log, unpack(entries, 1, math.min(count, 1000)))
    count = count - 1000
  end
end

if not id and not describes and (verb == 'acquire' or verb == 'peek') and recorded_until <= now then
  local is_decided, writes = true, verb == 'acquire' and not dry_run
  local ahead = nil
  if tickets > 0 and now < queued_until and units > 0 then
    ahead = {}
    for tag, load in string.gmatch(queued, '([^=,]+)=(%d+)') do
      ahead[tag] = min(load + 0, MAX)
    end
  end
  local overridden, overridden_until, paused_until, blocked_until, is_special = nil, 0, 0, 0, conduct
  if overrides then
    overridden, overridden_until, paused_until = overrides.own and overrides.overridden, overrides.overridden_until, overrides.paused_until
    blocked_until, is_special = max(overrides.blocked_until, overrides.barred_until), is_special or overrides.mode
  end
  local index, wait, remaining, reset, longest_reset, least_remaining = 0, 0, 0, 0, 0, MAX
  local levels, windows, key, damaged, cursor = '', nil, 2, false, levels_at
  for i = 0, limit_count - 1 do
    local o = 4 * i + 2
    local tag, a, b, c = ARGV[o], ARGV[o + 1] + 0, ARGV[o + 2] + 0, ARGV[o + 3] + 0
    local own, largest = a, a
    if overridden then
      own = string.match(overrides.own[tag], '^%d+') + 0
      largest = overrides.largest(tag, own, a)
    end
    local kind, held_tag = #tag == 1 and tag or string.sub(tag, 1, 1), tag
    local taken = costs and costs[i + 1] or units
    if kind == 't' then
      -- A throttle counts starts.
      taken = min(units, 1)
    elseif kind == 'c' or taken > a then
      is_decided = false
      break
    end
    local cost, delta = taken + (ahead and ahead[tag] or 0), verb == 'acquire' and taken or 0
    if taken == 0 and (costs or units > 0) then
      -- A limit from which a call takes nothing does not delay the call.
      cost = nil
    end
    local limit_wait, limit_remaining, limit_reset
    if kind == 'w' then
      windows, key = windows or {}, key + 1
      if raw then
        local _
        _, cursor, held_tag = find(raw, '^ ([^ @]+)', cursor + 1)
        if held_tag ~= tag then
          is_decided = false
          break
        end
      end
      levels = levels .. ' ' .. tag
      local log = KEYS[key]
      local length = call('LLEN', log)
      local live
      live, limit_wait, limit_remaining, limit_reset = window(log, length, a, b, now, cost, delta, 2 * a)
      if not limit_wait then
        damaged, limit_wait, limit_remaining, limit_reset = true, 0, 0, 0
      end
      windows[#windows + 1] = {log, b, length, live, taken}
    elseif kind == 'b' or kind == 'q' then
      local count, held = 0, a
      if raw then
        local _
        _, cursor, held_tag, count, held = find(raw, '^ ([^ @]+) (%d+) (%d+)', cursor + 1)
        if held_tag ~= tag or held - MAX > 0 or count - 2 * held > 0 then
          is_decided = false
          break
        end
        count, held = count + 0, held + 0
      end
      if kind == 'b' then
        count, limit_wait, limit_remaining, limit_reset = bucket(count, held, own, largest, a, b, c, last, now, cost, delta)
      else
        count, limit_wait, limit_remaining, limit_reset = quota(count, held, own, largest, a, quotas[tag], last, now, cost, delta)
      end
      if limit_wait == 0 then
        levels = levels .. format(' %s %.0f ', tag, count)
          .. (overridden and format('%.0f', overrides.held_amount(own, count, 1)) or ARGV[o + 1])
      end
    else
      local level, held, scale = 0, a, c
      if raw then
        local _
        _, cursor, held_tag, level, held, scale = find(raw, '^ ([^ @]+) (%d+) (%d+) (%d+)', cursor + 1)
        local full = held_tag == tag and held * 1.0 * scale or 0
        if full == 0 or full > MAX or level - 2 * full > 0 then
          is_decided = false
          break
        end
        level, held, scale = level + 0, held + 0, scale + 0
      end
      if ahead and cost then
        cost = min(cost, math.floor(MAX / c))
      end
      level, limit_wait, limit_remaining, limit_reset = leaky(level, held, scale, own, largest, a, b, c, last, now, cost, delta)
      if limit_wait == 0 then
        levels = levels .. format(' %s %.0f ', tag, level)
          .. (overridden and format('%.0f', overrides.held_amount(own, level, c)) or ARGV[o + 1]) .. ' ' .. ARGV[o + 3]
      end
    end
    if limit_wait > MAX then
      limit_wait = MAX
    end
    if overridden and limit_wait > overridden_until - now and overridden_until < MAX and overridden[tag] then
      -- The override ends before that, and then other numbers apply.
      limit_wait = overridden_until - now
    end
    if limit_wait > wait or wait == 0 and limit_remaining < least_remaining then
      index, wait, remaining, reset, least_remaining = i, limit_wait, limit_remaining, limit_reset, limit_remaining
    end
    if limit_reset > longest_reset then
      longest_reset = limit_reset
    end
  end

  if paused_until - now > wait then
    index, wait, remaining, reset = limit_count, paused_until - now, 0, paused_until - now
  end
  if blocked_until - now > wait then
    index, wait, remaining, reset = limit_count + 1, blocked_until - now, 0, blocked_until - now
  end
  if wait > 0 and (ahead or is_special) then
    -- Perhaps only tickets that have expired are in its way, or it passes in shadow, or is counted.
    is_decided = false
  end
  -- The state ends with " .".
  if is_decided and (not raw or string.sub(raw, cursor + 1) == ' .') then
    if damaged then
      return redis.error_reply(DAMAGED)
    end
    if wait == 0 and (costs or units > 0) and writes then
      add_statistic(5 * remaining <= ARGV[4 * index + 3] + 0 and 'n' or 'g', 1)
      add_statistic('u', units - 1)
      local state = format('%.0f %.0f', now, skew)
      if tickets > 0 then
        state = state .. format(':%.0f:%.0f:%.0f:', tickets, queued_until, now) .. queued
        longest_reset = max(longest_reset, queued_until - now)
      end
      if overrides then
        state = state .. overrides.text
        longest_reset = max(longest_reset, overrides.lifetime)
      end
      for _, window_limit in ipairs(windows or {}) do
        local log, length, live, taken = window_limit[1], window_limit[3], window_limit[4], window_limit[5]
        push(log, format('%.0f', now), taken)
        if length > live and taken > 0 then
          call('LTRIM', log, 0, live + taken - 1)
        end
        call('PEXPIRE', log, math.ceil(window_limit[2] / 1000) + 10000)
      end
      call('SET', KEYS[1], state .. levels .. ' .', 'PX', format('%.0f', math.ceil(longest_reset / 1000) + 10000))
    elseif writes then
      if wait > 0 then
        add_statistic('r', 1, index)
      end
      if skew_changed then
        -- Without this the clock of a full limiter would stand still until the server's catches up.
        call('SET', KEYS[1], format('%.0f %.0f', last, skew) .. string.match(raw, '^%d+ %d+(.*)'), 'KEEPTTL')
      end
    end
    if ARGV[verb_at + 6] and verb == 'acquire' then
      register_limiter(now)
    end
    local is_overridden = overrides and overrides.own
    return {
      wait == 0 and 1 or 0, index, remaining, wait, reset, now,
      is_overridden and (index < limit_count and ARGV[4 * index + 3] + 0 or 0),
    }
  end
end
