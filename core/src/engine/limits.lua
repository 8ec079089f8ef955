-- What changes during a call that the fast path does not decide, and the decision over all limits, which such a call needs
-- several times. Twin of state.rs.
--
-- REQUIRES: bucket concurrency leaky window push MAX DAMAGED call attempt format find min max limit_count units
-- REQUIRES: expire_statistics raw last skew levels_at tickets queued_units queued_until now skew_changed overrides
-- PROVIDES: LATE_RELEASE unpack ctx handlers key_count evaluate limit_exceeded_by add_statistic expiry write_state
-- PROVIDES: append_to_logs keep_skew

-- How long leases and their fencing token are kept after their end: a late release is counted, and the token rises also
-- after the server's clock ran backwards.
local LATE_RELEASE = 300000000
local unpack = table.unpack or unpack

-- What changes during the call. `lease_limit` is the concurrency limit, and `longest_reset` the time until every limit is
-- whole again after the last evaluation; `queue_changed` says that the state must be written for the queue's sake.
local ctx = {
  last = last, limits = {}, lease_limit = nil, longest_reset = 0, damaged = false,
  tickets = tickets, queued_units = queued_units, queued_until = queued_until, queue_changed = false, removed = 0,
}

-- The function that decides each verb. Only that of the call's verb is made: a function costs time for every local of the
-- chunk that it uses.
local handlers = {}

local key_count = 2
do
  local cursor, _ = levels_at, nil
  for i = 1, limit_count do
    local o = 4 * i - 2
    local kind, a, c = ARGV[o], ARGV[o + 1] + 0, ARGV[o + 3] + 0
    local limit = {
      kind = kind, a = a, b = ARGV[o + 2] + 0, c = c, level = 0, held_a = a, held_scale = c, new_level = 0,
    }
    ctx.limits[i] = limit
    if kind == 'w' then
      key_count = key_count + 1
      local log = KEYS[key_count]
      limit.key, limit.length = log, call('LLEN', log)
      limit.at = function(entry)
        local time = tonumber(call('LINDEX', log, entry) or nil)
        if not (time and time >= 0 and time <= now and time % 1 == 0) then
          ctx.damaged = true
          return 0
        end
        return time
      end
    elseif kind == 'c' then
      key_count = key_count + 1
      local leases, after = KEYS[key_count], format('(%.0f', now)
      ctx.lease_limit, limit.key, limit.live = limit, leases, call('ZCOUNT', leases, after, '+inf')
      -- Live leases are the last of the set. A rank is found without a walk, which LIMIT is not.
      limit.lease_end = function(k)
        local rank = call('ZCARD', leases) - limit.live + k - 1
        local lease_end = tonumber(call('ZRANGE', leases, rank, rank, 'WITHSCORES')[2] or nil)
        if not (lease_end and lease_end <= 2 * MAX and lease_end % 1 == 0) then
          ctx.damaged = true
          return now
        end
        return lease_end
      end
      if raw then
        _, cursor, limit.level = find(raw, '^ (%d+)', cursor + 1)
        if not cursor or limit.level - 2 * MAX > 0 then
          return redis.error_reply(DAMAGED)
        end
        limit.level = limit.level + 0
      end
    elseif not raw then
      -- Nothing was taken yet.
    elseif kind == 'b' then
      local count, held
      _, cursor, count, held = find(raw, '^ (%d+) (%d+)', cursor + 1)
      if not cursor or held - MAX > 0 or count - 2 * held > 0 then
        return redis.error_reply(DAMAGED)
      end
      limit.level, limit.held_a = count + 0, held + 0
    else
      local level, held, scale
      _, cursor, level, held, scale = find(raw, '^ (%d+) (%d+) (%d+)', cursor + 1)
      local full = cursor and held * 1.0 * scale or 0
      if full == 0 or full > MAX or level - 2 * full > 0 then
        return redis.error_reply(DAMAGED)
      end
      limit.level, limit.held_a, limit.held_scale = level + 0, held + 0, scale + 0
    end
  end
  if raw and cursor ~= #raw then
    return redis.error_reply(DAMAGED)
  end
end

-- Checks every limit for `cost` behind `ahead` calls that take `units_ahead`; a cost of nil checks only the change, which
-- corrects a grant of `granted_at`. Returns the limit with the longest wait, else the one with the least left, and as
-- `rate` the longest wait that no release can shorten. The changed levels are left in `new_level`.
local function evaluate(ahead, units_ahead, cost, change, granted_at)
  local index, wait, remaining, reset, least_remaining, rate, longest_reset = 0, 0, 0, 0, MAX, 0, 0
  local last, limits = ctx.last, ctx.limits
  for i = 1, limit_count do
    local limit = limits[i]
    local kind, a, limit_cost, delta = limit.kind, limit.a, cost and units_ahead + cost, change
    if kind == 't' or kind == 'c' then
      -- Counts starts.
      limit_cost, delta = cost and ahead + min(cost, 1), cost and min(change, 1) or 0
    elseif not cost then
      -- A debt is at most one whole limit.
      delta = max(min(change, 2 * a), -2 * a)
    end
    local level, limit_wait, limit_remaining, limit_reset
    if kind == 'w' then
      level, limit_wait, limit_remaining, limit_reset = window(limit.length, limit.at, a, limit.b, now, limit_cost, delta)
    elseif kind == 'c' then
      level, limit_wait, limit_remaining, limit_reset =
        concurrency(limit.live, limit.lease_end, a, limit.b, now, limit_cost, delta)
    elseif kind == 'b' then
      if not cost and delta ~= 0 and now - granted_at > (now + limit.c) % limit.b then
        delta = 0
      end
      level, limit_wait, limit_remaining, limit_reset =
        bucket(limit.level, limit.held_a, a, limit.b, limit.c, last, now, limit_cost, delta)
    else
      if ahead > 0 then
        limit_cost = min(limit_cost, math.floor(MAX / limit.c))
      end
      level, limit_wait, limit_remaining, limit_reset =
        leaky(limit.level, limit.held_a, limit.held_scale, a, limit.b, limit.c, last, now, limit_cost, delta)
    end
    limit.new_level = level
    if limit_wait > MAX or limit_wait > 0 and a == 0 then
      -- A limit of zero leases passes nobody, whatever is released.
      limit_wait = MAX
    end
    local is_rate = kind ~= 'c' or limit_wait == MAX
    if overrides and overrides.overridden then
      local ends = overrides.overridden_until
      if limit_wait > ends - now and ends < MAX and overrides.overridden[i] ~= '-' then
        -- The override ends before that, and then other numbers apply.
        limit_wait = ends - now
      end
    end
    if limit_wait > wait or wait == 0 and limit_remaining < least_remaining then
      index, wait, remaining, reset, least_remaining = i - 1, limit_wait, limit_remaining, limit_reset, limit_remaining
    end
    if limit_wait > rate and is_rate then
      rate = limit_wait
    end
    if limit_reset > longest_reset then
      longest_reset = limit_reset
    end
  end
  ctx.longest_reset = longest_reset
  if cost and overrides then
    local pause = overrides.paused_until - now
    if pause > wait then
      index, wait, remaining, reset = limit_count, pause, 0, pause
    end
    rate = max(rate, pause)
  end
  return index, wait, remaining, reset, rate
end

-- The first limit whose capacity is below so many units.
local function limit_exceeded_by(cost)
  for i = 1, limit_count do
    local limit = ctx.limits[i]
    if cost > limit.a and limit.kind ~= 't' and limit.kind ~= 'c' then
      return i
    end
  end
end

-- Statistics decide nothing, so a damaged one stops nothing.
local function add_statistic(field, by)
  if by ~= 0 and attempt('HINCRBY', KEYS[2], field, by) == by then
    expire_statistics()
  end
end

-- Milliseconds that a key lives whose content matters for so many microseconds.
local function expiry(micros)
  return format('%.0f', math.ceil(micros / 1000) + 10000)
end

-- Writes the state with the levels of the last evaluation.
local function write_state(lifetime)
  local state = format('%.0f %.0f', now, skew)
  if ctx.lease_limit then
    lifetime = lifetime + LATE_RELEASE
  end
  if ctx.tickets > 0 then
    state = state .. format(':%.0f:%.0f:%.0f:%.0f', ctx.tickets, ctx.queued_units, ctx.queued_until, now)
    lifetime = max(lifetime, ctx.queued_until - now)
  end
  if overrides then
    state, lifetime = state .. overrides.text, max(lifetime, overrides.lifetime)
  end
  for i = 1, limit_count do
    local limit = ctx.limits[i]
    local kind = limit.kind
    if kind == 'b' then
      state = state .. format(' %.0f ', limit.new_level) .. ARGV[4 * i - 1]
    elseif kind == 'c' then
      state = state .. format(' %.0f', limit.level)
    elseif kind ~= 'w' then
      state = state .. format(' %.0f ', limit.new_level) .. ARGV[4 * i - 1] .. ' ' .. ARGV[4 * i + 1]
    end
  end
  call('SET', KEYS[1], state, 'PX', expiry(lifetime))
end

-- Adds what was granted to every log.
local function append_to_logs()
  for i = 1, limit_count do
    local limit = ctx.limits[i]
    if limit.kind == 'w' then
      push(limit.key, format('%.0f', now), units)
      if limit.length > limit.new_level then
        call('LTRIM', limit.key, 0, limit.new_level + units - 1)
      end
      limit.length = limit.new_level + units
      call('PEXPIRE', limit.key, expiry(limit.b))
    end
  end
end

-- Without this the clock of a full limiter would stand still until the server's catches up.
local function keep_skew()
  if skew_changed then
    call('SET', KEYS[1], format('%.0f %.0f', ctx.last, skew) .. string.match(raw, '^%d+ %d+(.*)'), 'KEEPTTL')
  end
end
