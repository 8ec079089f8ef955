-- What changes during a call that the fast path does not decide, and the decision over all limits, which such a call needs
-- several times. Twin of state.rs.
--
-- REQUIRES: bucket concurrency leaky quota window push MAX DAMAGED call format find min max limit_count verb units costs
-- REQUIRES: raw last skew levels_at tickets queued queued_until now skew_changed quotas overrides
-- PROVIDES: LATE_RELEASE MAX_LABELS TOO_MANY_LABELS unpack ctx handlers key_count others kept_until SLACK evaluate
-- PROVIDES: own_units limit_exceeded_by expiry load_list write_state append_to_logs keep_skew

-- How long leases and their fencing token are kept after their end: a late release is counted, and the token rises also
-- after the server's clock ran backwards.
local LATE_RELEASE = 300000000
local unpack = table.unpack or unpack

-- How many limits of a name can be in use, over all its policies.
local MAX_LABELS = 32
local TOO_MANY_LABELS = 'PGLABELS too many limits of this name are in use'

-- What changes during the call. `lease_limit` is the concurrency limit, and `longest_reset` the time until every limit is
-- whole again after the last evaluation; `queued` are the units of all tickets for each tag, `queued_text` the same
-- until it changes; `queue_changed` says that the
-- state must be written for the queue's sake.
local ctx = {
  last = last, limits = {}, lease_limit = nil, longest_reset = 0, damaged = false,
  tickets = tickets, queued = {}, queued_text = queued, queued_until = queued_until, queue_changed = false, removed = 0,
}
for tag, load in string.gmatch(queued, '([^=,]+)=(%d+)') do
  ctx.queued[tag] = min(load + 0, MAX)
end

-- The function that decides each verb. Only the function of the call's verb is made: a function costs time for every local of the
-- chunk that it uses.
local handlers = {}

-- The records of limits that this call does not have, until when the state lives without this call, and how much longer that
-- is than it matters.
local others, kept_until, SLACK = {}, nil, 10000000

-- What this call takes of each limit, or only looks at.
local own_units = {looks = units == 0 and not costs}

local key_count = 2
do
  local METER = '^ (%d+) (%d+) (%d+)'
  local NUMBERS = {b = '^ (%d+) (%d+)', q = '^ (%d+) (%d+)', c = '^ (%d+)', w = '^', l = METER, p = METER, t = METER}
  local records, order, cursor = {}, {}, levels_at
  while raw and cursor + 2 < #raw do
    local _, tag_end, tag = find(raw, '^ (%l[^ @]*)', cursor + 1)
    local numbers = tag and not records[tag] and NUMBERS[string.sub(tag, 1, 1)]
    local stop, level, held, scale
    if numbers then
      _, stop, level, held, scale = find(raw, numbers, tag_end + 1)
    end
    local full = scale and held * 1.0 * scale or held or MAX
    if not stop or full - MAX > 0 or full - 1 < 0 or level and level - 2 * full > 0 then
      return redis.error_reply(DAMAGED)
    end
    local _, suffix_end, at, ends = find(raw, '^@(%d+)~(%d+)', stop + 1)
    if at and (at - last > 0 or ends - MAX > 0) then
      return redis.error_reply(DAMAGED)
    end
    records[tag] = {
      text = string.sub(raw, cursor + 1, stop), at = (at or last) + 0, ends = ends and ends + 0, level = (level or 0) + 0,
      held_a = (held or 0) + 0, held_scale = (scale or 0) + 0,
    }
    order[#order + 1] = tag
    cursor = suffix_end or stop
  end

  if raw and string.sub(raw, cursor + 1) ~= ' .' then
    return redis.error_reply(DAMAGED)
  end

  for i = 1, limit_count do
    local o = 4 * i - 2
    local tag, a, c = ARGV[o], ARGV[o + 1] + 0, ARGV[o + 3] + 0
    local kind = string.sub(tag, 1, 1)
    -- Leases are of the name, whatever the label of the limit.
    local record_tag = kind == 'c' and kind or tag
    local own = overrides and overrides.own and string.match(overrides.own[tag], '^%d+') + 0 or a
    local record = records[record_tag] or {at = last, level = 0, held_a = own, held_scale = c}
    records[record_tag] = nil
    local limit = {
      tag = tag, record_tag = record_tag, kind = kind, a = a, b = ARGV[o + 2] + 0, c = c, own = own, at_time = record.at,
      largest = overrides and overrides.largest(tag, own, a) or a,
      level = record.level, held_a = record.held_a, held_scale = record.held_scale, new_level = 0,
    }
    ctx.limits[i] = limit
    own_units[i] = costs and costs[i] or units
    if kind == 't' or kind == 'c' then
      -- Counts starts.
      own_units[i] = min(units, 1)
    end
    if kind == 'w' then
      key_count = key_count + 1
      limit.key, limit.length = KEYS[key_count], call('LLEN', KEYS[key_count])
    elseif kind == 'c' then
      key_count = key_count + 1
      local leases, after = KEYS[key_count], format('(%.0f', now)
      ctx.lease_limit, limit.key, limit.live = limit, leases, call('ZCOUNT', leases, after, '+inf')
    end
  end
  for _, tag in ipairs(order) do
    local record = records[tag]
    if record and (record.ends or MAX) > now then
      others[#others + 1] = record
    end
  end
  if limit_count + #others > MAX_LABELS and verb ~= 'inspect' then
    return redis.error_reply(TOO_MANY_LABELS)
  end
end

-- The end of the last live lease.
function ctx.last_lease_end()
  local lease_end = tonumber(call('ZRANGE', ctx.lease_limit.key, '-1', '-1', 'WITHSCORES')[2] or nil)
  if not (lease_end and lease_end <= 2 * MAX and lease_end % 1 == 0) then
    ctx.damaged = true
    return now
  end
  return lease_end
end

-- The most units that can be taken of a limit: up to one whole limit of debt, also under a limit in the place of the policy's, and
-- of a meter what can be counted.
function ctx.most_of(limit)
  local most, kind = 2 * limit.largest, limit.kind
  return (kind == 'l' or kind == 'p') and min(most, math.floor(MAX / limit.c)) or most
end

-- Checks every limit, or those that `asked` has, for the units of each, behind the units of the tickets ahead; without `asked`
-- only applies the changes, which correct a grant of `granted_at`. Returns the limit with the longest wait, else the one
-- with the least left, and as `rate` the longest wait that no release can shorten. The changed levels are left in
-- `new_level`. Adds to `numbers` of each limit its amount, its interval, what remains, its wait and its reset.
local function evaluate(asked, ahead, changes, granted_at, numbers)
  local index, wait, remaining, reset, least_remaining, rate, longest_reset = 0, 0, 0, 0, MAX, 0, 0
  local limits, takes = ctx.limits, asked and not asked.looks
  for i = 1, limit_count do
    local limit = limits[i]
    local cost, delta = asked and asked[i], changes and changes[i] or 0
    if cost or not asked then
      local kind, a, load = limit.kind, limit.a, ahead and ahead[i] or 0
      -- A limit from which a call takes nothing does not delay the call.
      local limit_cost, counts_starts = cost and not (cost == 0 and takes) and cost + load or nil, kind == 't' or kind == 'c'
      if not cost and counts_starts then
        delta = 0
      elseif not cost then
        delta = max(min(delta, ctx.most_of(limit)), -ctx.most_of(limit))
      end
      local level, limit_wait, limit_remaining, limit_reset
      if kind == 'w' then
        level, limit_wait, limit_remaining, limit_reset =
          window(limit.key, limit.length, a, limit.b, now, limit_cost, delta, ctx.most_of(limit))
      elseif kind == 'c' then
        level, limit_wait, limit_remaining, limit_reset =
          concurrency(limit.key, limit.live, a, limit.b, now, limit_cost, delta)
      elseif kind == 'b' then
        if not cost and delta ~= 0 and now - granted_at > (now + limit.c) % limit.b then
          delta = 0
        end
        level, limit_wait, limit_remaining, limit_reset =
          bucket(limit.level, limit.held_a, limit.own, limit.largest, a, limit.b, limit.c, limit.at_time, now, limit_cost, delta)
      elseif kind == 'q' then
        local periods = quotas[limit.tag]
        if not cost and delta ~= 0 and granted_at < periods[1] then
          delta = 0
        end
        level, limit_wait, limit_remaining, limit_reset =
          quota(limit.level, limit.held_a, limit.own, limit.largest, a, periods, limit.at_time, now, limit_cost, delta)
      else
        -- More than fits anyway, and the product stays below 2^53.
        limit_cost = limit_cost and min(limit_cost, math.floor(MAX / limit.c))
        level, limit_wait, limit_remaining, limit_reset = leaky(
          limit.level, limit.held_a, limit.held_scale, limit.own, limit.largest, a, limit.b, limit.c, limit.at_time, now, limit_cost, delta)
        if changes or not asked then
          -- A throttle has become free within this microsecond. Of what takes no start its record must not have the time, because
          -- the fraction counts for a start in the same microsecond.
          local elapsed, drain = now - limit.at_time, limit.level / limit.b
          limit.is_early = kind == 't' and changes and delta == 0 and limit.held_scale == limit.c
            and elapsed > drain and elapsed < drain + 1
        end
      end
      if not limit_wait then
        ctx.damaged, limit_wait, limit_remaining, limit_reset = true, 0, 0, 0
      end
      limit.new_level = level
      local is_too_large = cost and cost > a
      if limit_wait > MAX or limit_wait > 0 and (a == 0 or is_too_large) then
        -- A limit of zero leases passes nobody, whatever is released, nor a limit below the cost.
        limit_wait = MAX
      end
      local is_rate = kind ~= 'c' or limit_wait == MAX
      if overrides and overrides.overridden then
        local ends = overrides.overridden_until
        if limit_wait > ends - now and ends < MAX and overrides.overridden[limit.tag] then
          -- The override ends before that, and then other numbers apply.
          limit_wait = ends - now
        end
      end
      if numbers then
        numbers[#numbers + 1] = a
        -- The interval of a meter is what all of it takes; the interval of a quota is in its calendar.
        numbers[#numbers + 1] = kind == 't' and limit.c or (kind == 'l' or kind == 'p') and math.floor(a * limit.c / limit.b) or limit.b
        numbers[#numbers + 1] = limit_remaining
        numbers[#numbers + 1] = limit_wait
        numbers[#numbers + 1] = limit_reset
      end
      -- A debit describes a limit that it charges.
      if limit_wait > wait or wait == 0 and limit_remaining < least_remaining and (asked or not counts_starts) then
        index, wait, remaining, reset, least_remaining = i - 1, limit_wait, limit_remaining, limit_reset, limit_remaining
      end
      if limit_wait > rate and is_rate then
        rate = limit_wait
      end
      if limit_reset > longest_reset then
        longest_reset = limit_reset
      end
    end
  end
  ctx.longest_reset = longest_reset
  if asked and overrides then
    local pause, block = overrides.paused_until - now, max(overrides.blocked_until, overrides.barred_until) - now
    if pause > wait then
      index, wait, remaining, reset = limit_count, pause, 0, pause
    end
    if block > wait then
      index, wait, remaining, reset = limit_count + 1, block, 0, block
    end
    rate = max(rate, pause, block)
  end
  return index, wait, remaining, reset, rate
end

-- The first limit that is below the units; with `for_ever` only one that is below them in the caller's policy too, or stays so as
-- far as is known.
local function limit_exceeded_by(asked, for_ever)
  for i = 1, limit_count do
    local limit = ctx.limits[i]
    local kind, cost = limit.kind, asked[i] or 0
    if cost > limit.a and kind ~= 't' and kind ~= 'c' then
      local own = overrides and overrides.own and overrides.own[limit.tag]
      local ends = own and overrides.overridden[limit.tag] and overrides.overridden_until or MAX
      if not for_ever or for_ever == 'own' and (not own or cost > string.match(own, '^%d+') + 0)
        or for_ever == 'known' and ends == MAX then
        return i
      end
    end
  end
end

-- For how many milliseconds a key lives whose content matters for a time in microseconds.
local function expiry(micros)
  return format('%.0f', math.ceil(micros / 1000) + 10000)
end

-- "tag=units" of each tag, with commas between.
local function load_list(loads)
  local list = {}
  for tag, load in pairs(loads) do
    list[#list + 1] = load > 0 and format('%s=%.0f', tag, load) or nil
  end
  return table.concat(list, ',')
end

function ctx.held_of(limit)
  local scale = (limit.kind == 'b' or limit.kind == 'q') and 1 or limit.c
  return overrides and overrides.held_amount(limit.own, limit.new_level, scale) or limit.own
end

-- Writes the state with the levels of the last evaluation.
local function write_state(lifetime)
  local state = format('%.0f %.0f', now, skew)
  if ctx.lease_limit then
    lifetime = lifetime + LATE_RELEASE
  end
  if ctx.tickets > 0 then
    state = state .. format(':%.0f:%.0f:%.0f:', ctx.tickets, ctx.queued_until, now) .. (ctx.queued_text or load_list(ctx.queued))
    lifetime = max(lifetime, ctx.queued_until - now)
  end
  if overrides then
    state, lifetime = state .. overrides.text, max(lifetime, overrides.lifetime)
  end
  for i = 1, limit_count do
    local limit = ctx.limits[i]
    local kind = limit.kind
    state = state .. ' ' .. limit.record_tag
    if kind == 'b' or kind == 'q' then
      state = state .. format(' %.0f %.0f', limit.new_level, ctx.held_of(limit))
    elseif kind == 'c' then
      state = state .. format(' %.0f', limit.level)
    elseif kind ~= 'w' then
      local level = limit.is_early and limit.level or limit.new_level
      state = state .. format(' %.0f %.0f %.0f', level, ctx.held_of(limit), limit.c)
      if limit.is_early then
        state = state .. format('@%.0f~%.0f', limit.at_time, now + 1)
      end
    end
  end
  for _, record in ipairs(others) do
    -- The last call with this limit gave the state the time that it needs, and ten seconds. The record stays for these too:
    -- a window's log does, and expiry is not exact to the microsecond. They are not added again and again.
    kept_until = kept_until or min(now + max(call('PTTL', KEYS[1]), 0) * 1000, MAX)
    local ends = record.ends or kept_until
    state, lifetime = state .. format('%s@%.0f~%.0f', record.text, record.at, ends), max(lifetime, ends - SLACK - now)
  end
  call('SET', KEYS[1], state .. ' .', 'PX', expiry(lifetime))
end

-- Adds the units of each limit to its log.
local function append_to_logs(taken)
  for i = 1, limit_count do
    local limit = ctx.limits[i]
    if limit.kind == 'w' and taken[i] > 0 then
      push(limit.key, format('%.0f', now), taken[i])
      if limit.length > limit.new_level then
        call('LTRIM', limit.key, 0, limit.new_level + taken[i] - 1)
      end
      limit.length = limit.new_level + taken[i]
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
