-- Leases, and the verbs of a permit: statistics, release, renew and cancel. Twin of permit.rs.
--
-- REQUIRES: MAX DAMAGED call attempt format find min max limit_count verb_at verb id raw skew now overrides LATE_RELEASE
-- REQUIRES: ctx handlers key_count evaluate add_statistic expiry load_list write_state LEASE records_key
-- REQUIRES: caller_ticket remove_ticket advance_queue
-- PROVIDES: PERMIT_TIMEOUT to_text adopt_levels write_queue_summary find_lease remove_lease

local PERMIT_TIMEOUT = 300000000

local function to_text(number)
  return format('%.0f', number)
end

-- Lets the next evaluation begin with the levels of the last.
local function adopt_levels()
  ctx.last = now
  for i = 1, limit_count do
    local limit = ctx.limits[i]
    if limit.kind == 'c' then
      limit.live = limit.new_level
    elseif limit.kind ~= 'w' and not limit.is_early then
      limit.level, limit.held_a, limit.held_scale, limit.at_time = limit.new_level, ctx.held_of(limit), limit.c, now
    end
  end
end

-- Writes the summary of the queue into the state and leaves the levels as they are.
local function write_queue_summary()
  if not raw then
    evaluate()
    return write_state(ctx.longest_reset)
  end
  local state = format('%.0f %.0f', ctx.last, skew)
  local rest = string.match(raw, '^%d+ %d+%S*(.*)')
  local overrides_text, lifetime = '', 0
  if overrides then
    overrides_text, lifetime = overrides.text, overrides.lifetime
  end
  if ctx.tickets == 0 and lifetime == 0 then
    return call('SET', KEYS[1], state .. overrides_text .. rest, 'KEEPTTL')
  end
  if ctx.tickets > 0 then
    state = state .. format(':%.0f:%.0f:%.0f:', ctx.tickets, ctx.queued_until, now) .. (ctx.queued_text or load_list(ctx.queued))
    lifetime = max(lifetime, ctx.queued_until - now)
  end
  state = state .. overrides_text
  local lifetime_ms = max(call('PTTL', KEYS[1]), math.ceil(lifetime / 1000) + 10000)
  call('SET', KEYS[1], state .. rest, 'PX', to_text(lifetime_ms))
end

-- The end of the caller's lease, and its record; nil when `granted_at` shows that the lease is of another grant with the
-- same id. Only a release finds a lease whose room another has taken: its end is negative.
local function find_lease(granted_at)
  local lease_limit = ctx.lease_limit
  local lease_end = lease_limit and tonumber(call('ZSCORE', lease_limit.key, id) or nil)
  if lease_end and not (lease_end >= -2 * MAX and lease_end <= 2 * MAX and lease_end % 1 == 0) then
    ctx.damaged = true
  end
  local record = lease_end and call('HGET', records_key, LEASE .. id) or ''
  local _, _, recorded_at, fencing_token, charged = find(record, '^(%d+) (%d+) ([%d,]+)$')
  if not lease_end or lease_end < 0 and verb ~= 'release'
    or granted_at and recorded_at and recorded_at - granted_at ~= 0 then
    return nil
  end
  return lease_end, recorded_at, fencing_token, charged
end

local function remove_lease(lease_end)
  local lease_limit = ctx.lease_limit
  call('ZREM', lease_limit.key, id)
  call('HDEL', records_key, LEASE .. id)
  if lease_end > now then
    lease_limit.live = lease_limit.live - 1
  end
end

if verb == 'statistics' then
  function handlers.statistics()
    local counts = attempt('HGETALL', KEYS[2])
    local leases = KEYS[key_count + 4]
    local live = ctx.lease_limit and ctx.lease_limit.live or leases and call('ZCOUNT', leases, format('(%.0f', now), '+inf')
    return {live or 0, ctx.tickets, counts.err and {} or counts, now}
  end
end

if verb == 'release' then
  function handlers.release()
    local MAX_HELD = 1099511627776
    local granted_at = ARGV[verb_at + 4] + 0
    local lease_end = find_lease(granted_at)
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    if lease_end then
      remove_lease(lease_end)
    end
    local lease_limit, is_live = ctx.lease_limit, lease_end and lease_end > now
    local is_late = not is_live and lease_limit and now >= granted_at + lease_limit.b
    -- An id may be old, made up, or released before: only a known lease is counted, and only once.
    if lease_end then
      local held, bucket = max(now - granted_at, 0), 0
      while bucket < 21 and held >= 1000 * 2 ^ bucket do
        bucket = bucket + 1
      end
      add_statistic('held', held)
      add_statistic('l' .. bucket, 1)
    end
    if is_late or lease_end and not is_live then
      add_statistic('overages', lease_end and 1 or 0)
      return {5}
    elseif not lease_end then
      return {6}
    end
    if ctx.tickets > 0 then
      -- The mean of the last releases, for calls that get no wake-up.
      local held, mean = min(max(now - granted_at, 1), MAX_HELD), ctx.queued.h
      ctx.queued.h, ctx.queued_text = mean and max(mean + math.floor((held - mean) / 8), 1) or held, nil
      ctx.queue_changed = true
    end
    advance_queue()
    if ctx.queue_changed then
      write_queue_summary()
    end
    return {7}
  end
end

if verb == 'renew' then
  function handlers.renew()
    local lease_end = find_lease(ARGV[verb_at + 4] + 0)
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    if not lease_end or lease_end <= now then
      return {5, 0}
    end
    local lease_limit = ctx.lease_limit
    local timeout = lease_limit.b
    local lifetime = max(ctx.last_lease_end(), now + timeout) - now + LATE_RELEASE
    call('ZADD', lease_limit.key, to_text(now + timeout), id)
    for _, key in ipairs({lease_limit.key, records_key, KEYS[1]}) do
      if call('PTTL', key) < lifetime / 1000 + 10000 then
        call('PEXPIRE', key, expiry(lifetime))
      end
    end
    return {9, timeout}
  end
end

if verb == 'cancel' then
  function handlers.cancel()
    local ticket, lease_end = caller_ticket(), find_lease()
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    if lease_end then
      remove_lease(lease_end)
    end
    if ticket then
      remove_ticket(ticket)
      ctx.waited = now - ticket.queued_at
    end
    local gave_up = ARGV[verb_at + 4]
    if gave_up == '1' or gave_up == 'here' and ticket and not ticket.is_suspended then
      add_statistic('r', 1)
    end
    advance_queue()
    if ctx.queue_changed then
      write_queue_summary()
    end
    return {(ticket or lease_end) and 8 or 6}
  end
end
