-- What a call needs that looks at leases or at the queue: every limit in a table, so that it can be asked several times.
-- Twin of state.rs.

position = line_end
local limits, slots, key, damaged = {}, nil, 2, false
for i = 1, n do
  local o = 4 * i - 2
  local kind, a, c = ARGV[o], ARGV[o + 1] + 0, ARGV[o + 3] + 0
  local limit = {kind = kind, a = a, b = ARGV[o + 2] + 0, c = c, level = 0, held = a, scale = c, new = 0}
  limits[i] = limit
  if kind == 'w' then
    key = key + 1
    local log = KEYS[key]
    limit.key, limit.length = log, call('LLEN', log)
    limit.at = function(entry)
      local time = tonumber(call('LINDEX', log, entry) or nil)
      if not (time and time >= 0 and time <= now and time % 1 == 0) then
        damaged = true
        return 0
      end
      return time
    end
  elseif kind == 'c' then
    key = key + 1
    local leases, after = KEYS[key], format('(%.0f', now)
    slots, limit.key, limit.live = limit, leases, call('ZCOUNT', leases, after, '+inf')
    -- Those that live are the last of the set. A rank is found without a walk, which LIMIT is not.
    limit.lease = function(k)
      local rank = call('ZCARD', leases) - limit.live + k - 1
      local lease = tonumber(call('ZRANGE', leases, rank, rank, 'WITHSCORES')[2] or nil)
      if not (lease and lease <= 2 * MAX and lease % 1 == 0) then
        damaged = true
        return now
      end
      return lease
    end
    if raw then
      _, position, limit.level = find(raw, '^ (%d+)', position + 1)
      if not position or limit.level - 2 * MAX > 0 then
        return redis.error_reply(DAMAGED)
      end
      limit.level = limit.level + 0
    end
  elseif not raw then
    -- Nothing was taken yet.
  elseif kind == 'b' then
    local count, held
    _, position, count, held = find(raw, '^ (%d+) (%d+)', position + 1)
    if not position or held - MAX > 0 or count - 2 * held > 0 then
      return redis.error_reply(DAMAGED)
    end
    limit.level, limit.held = count + 0, held + 0
  else
    local level, held, scale
    _, position, level, held, scale = find(raw, '^ (%d+) (%d+) (%d+)', position + 1)
    local full = position and held * scale or 0
    if full == 0 or full > MAX or level - 2 * full > 0 then
      return redis.error_reply(DAMAGED)
    end
    limit.level, limit.held, limit.scale = level + 0, held + 0, scale + 0
  end
end
if raw and position ~= #raw then
  return redis.error_reply(DAMAGED)
end

-- Asks every limit for `cost` behind `ahead` calls that take `before` units; nil asks only for the change. The limit
-- that takes longest refuses, else the one with the least left is described. `rate` is the longest wait that no
-- release can shorten. The changed levels are left in `new`, the time until all is whole again in `ends`.
local ends
local function decide(ahead, before, cost, change)
  local index, wait, remaining, reset, least, rate = 0, 0, 0, 0, MAX, 0
  ends = 0
  for i = 1, n do
    local limit = limits[i]
    local kind, a, wanted, delta = limit.kind, limit.a, cost and before + cost, change
    if kind == 't' or kind == 'c' then
      -- Counts starts.
      wanted, delta = cost and ahead + min(cost, 1), cost and min(change, 1) or 0
    elseif not cost then
      -- A debt is at most one whole limit.
      delta = max(min(change, 2 * a), -2 * a)
    end
    local level, w, left, r
    if kind == 'w' then
      level, w, left, r = window(limit.length, limit.at, a, limit.b, now, wanted, delta)
    elseif kind == 'c' then
      level, w, left, r = concurrency(limit.live, limit.lease, a, limit.b, now, wanted, delta)
    elseif kind == 'b' then
      if not cost and delta ~= 0 and now - ARGV[base + 4] > (now + limit.c) % limit.b then
        delta = 0
      end
      level, w, left, r = bucket(limit.level, limit.held, a, limit.b, limit.c, last, now, wanted, delta)
    else
      if ahead > 0 then
        wanted = min(wanted, math.floor(MAX / limit.c))
      end
      level, w, left, r = leaky(limit.level, limit.held, limit.scale, a, limit.b, limit.c, last, now, wanted, delta)
    end
    limit.new = level
    if w > MAX or w > 0 and a == 0 then
      -- No release lets anybody in where nobody may be.
      w = MAX
    end
    local is_rate = kind ~= 'c' or w == MAX
    if told and w > told_until - now and told_until < MAX and told[i] ~= '-' then
      -- An override ends before, and then other numbers rule.
      w = told_until - now
    end
    if w > wait or wait == 0 and left < least then
      index, wait, remaining, reset, least = i - 1, w, left, r, left
    end
    if w > rate and is_rate then
      rate = w
    end
    if r > ends then
      ends = r
    end
  end
  if cost and pause - now > wait then
    index, wait, remaining, reset = n, pause - now, 0, pause - now
  end
  rate = cost and max(rate, pause - now) or rate
  return index, wait, remaining, reset, rate
end

-- The first limit that no wait lets so many pass.
local function misfit(wanted)
  for i = 1, n do
    local kind = limits[i].kind
    if wanted > limits[i].a and kind ~= 't' and kind ~= 'c' then
      return i
    end
  end
end

-- Adds to a statistic. Statistics decide nothing, so a damaged one stops nothing.
local function tally(field, by)
  if by ~= 0 and attempt('HINCRBY', KEYS[2], field, by) == by then
    begin_statistics()
  end
end

-- Milliseconds that a key lives whose content matters for so many microseconds.
local function expiry(micros)
  return format('%.0f', math.ceil(micros / 1000) + 10000)
end

-- Writes the state with the levels that were decided last.
local function write(longest)
  local state = format('%.0f %.0f', now, skew)
  if slots then
    longest = longest + LATE
  end
  if tickets > 0 then
    state = state .. format(':%.0f:%.0f:%.0f:%.0f', tickets, tickets_units, tickets_until, now)
    longest = max(longest, tickets_until - now)
  end
  state, longest = state .. orders, max(longest, orders_life)
  for i = 1, n do
    local limit = limits[i]
    local kind = limit.kind
    if kind == 'b' then
      state = state .. format(' %.0f ', limit.new) .. ARGV[4 * i - 1]
    elseif kind == 'c' then
      state = state .. format(' %.0f', limit.level)
    elseif kind ~= 'w' then
      state = state .. format(' %.0f ', limit.new) .. ARGV[4 * i - 1] .. ' ' .. ARGV[4 * i + 1]
    end
  end
  call('SET', KEYS[1], state, 'PX', expiry(longest))
end

-- Adds what was granted to every log.
local function log()
  for i = 1, n do
    local limit = limits[i]
    if limit.kind == 'w' then
      push(limit.key, format('%.0f', now), units)
      if limit.length > limit.new then
        call('LTRIM', limit.key, 0, limit.new + units - 1)
      end
      limit.length = limit.new + units
      call('PEXPIRE', limit.key, expiry(limit.b))
    end
  end
end

-- Without this the clock of a full limiter would stand still until the server's catches up.
local function keep_skew()
  if moved then
    call('SET', KEYS[1], format('%.0f %.0f', last, skew) .. string.match(raw, '^%d+ %d+(.*)'), 'KEEPTTL')
  end
end

if not id and (verb == 'acquire' or verb == 'peek') then
  -- A look at a policy with leases, or one that those before it refuse.
  local never = misfit(units)
  if never then
    return {5, never - 1, limits[never].a, 0, 0, now}
  end
  local ahead, before = tickets, tickets_units
  if now >= tickets_until or units == 0 then
    ahead, before = 0, 0
  end
  if verb == 'acquire' and ahead > 0 then
    local _, alone = decide(0, 0, units, 0)
    if alone == 0 then
      return {4, 0, 0, 0, 0, now}
    end
  end
  local index, wait, remaining, reset = decide(ahead, before, units, 0)
  if damaged then
    return redis.error_reply(DAMAGED)
  end
  if verb == 'acquire' then
    if wait > 0 then
      tally('refused', 1)
    end
    keep_skew()
    register(now)
  end
  return {wait == 0 and 1 or 0, index, remaining, wait, reset, now, own and (index < n and limits[index + 1].a or 0)}
end
