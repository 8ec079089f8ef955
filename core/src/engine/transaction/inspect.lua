-- Looks into a limiter: its limits, a page of its leases and one of its tickets. Writes nothing. Twin of inspect.rs.
--
-- REQUIRES: MAX DAMAGED call format find max limit_count verb_at verb now overrides unpack ctx handlers key_count evaluate
-- REQUIRES: LEASE queue_key records_key read_ticket
-- PROVIDES: nothing

if verb == 'inspect' then
  local offset, count = ARGV[verb_at + 4] + 0, ARGV[verb_at + 5] + 0

  -- Each limit by itself: a pause and a block do not count.
  local function each_limit()
    local list = {}
    for i = 1, limit_count do
      local limit, asked = ctx.limits[i], {}
      asked[i] = 1
      local _, wait, remaining, reset = evaluate(asked)
      local kind, taken, source = limit.kind, limit.new_level, 0
      if kind == 'l' or kind == 'p' or kind == 't' then
        -- The difference to a full meter is small enough for an exact division.
        taken = limit.a + math.ceil((taken - limit.a * limit.c) / limit.c)
      end
      if overrides then
        source = overrides.overridden[limit.tag] and 1 or overrides.learned[limit.tag] and 2 or 0
      end
      for _, value in ipairs({source, format('%.0f/%.0f/%.0f', limit.a, limit.b, limit.c), taken, remaining, wait, reset}) do
        list[#list + 1] = value
      end
    end
    return list
  end

  -- The number of live leases, which are the last of the set, and their page.
  local function leases()
    local key, live, list = KEYS[key_count + 4], nil, {}
    if ctx.lease_limit then
      key, live = ctx.lease_limit.key, ctx.lease_limit.live
    else
      live = call('ZCOUNT', key, format('(%.0f', now), '+inf')
    end
    if count == 0 or offset >= live then
      return live, list
    end
    local first, fields = call('ZCARD', key) - live + offset, {}
    local found = call('ZRANGE', key, first, first + count - 1, 'WITHSCORES')
    for i = 1, #found, 2 do
      fields[#fields + 1] = LEASE .. found[i]
    end
    local records = call('HMGET', records_key, unpack(fields))
    for n, record in ipairs(records) do
      local lease_end = tonumber(found[2 * n])
      if not (lease_end <= 2 * MAX and lease_end % 1 == 0) then
        ctx.damaged = true
        return live, list
      end
      local _, _, granted_at, fencing_token = find(record or '', '^(%d+) (%d+) [%d,]+$')
      local is_known = granted_at and fencing_token - MAX <= 0
      list[#list + 1] = found[2 * n - 1]
      list[#list + 1] = is_known and max(now - granted_at, 0) or -1
      list[#list + 1] = math.floor(lease_end - now)
      list[#list + 1] = is_known and fencing_token + 0 or -1
    end
    return live, list
  end

  -- The number of tickets, of which some may have lapsed unless all have, and a page of those that have not.
  local function tickets()
    local number, list = ctx.queued_until > now and ctx.tickets or 0, {}
    if count == 0 or offset >= number then
      return number, list
    end
    local found = call('ZRANGE', queue_key, offset, offset + count - 1)
    local records = call('HMGET', records_key, unpack(found))
    for n, name in ipairs(found) do
      local ticket = records[n] and read_ticket(name, records[n])
      if ticket and ticket.expires_at > now then
        list[#list + 1] = name
        list[#list + 1] = ticket.priority
        list[#list + 1] = ticket.share or ''
        list[#list + 1] = max(now - ticket.queued_at, 0)
        list[#list + 1] = ticket.next_check <= now and not ticket.is_suspended and 1 or 0
      end
    end
    return number, list
  end

  function handlers.inspect()
    local pause, block, mode = 0, 0, ''
    if overrides then
      pause = max(overrides.paused_until, now) - now
      block, mode = max(overrides.blocked_until, overrides.barred_until, now) - now, overrides.mode or ''
      overrides.paused_until, overrides.blocked_until, overrides.barred_until = 0, 0, 0
    end
    local limits, live, of_leases = each_limit(), leases()
    local number, of_tickets = tickets()
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    return {now, pause, block, mode, live, number, limits, of_leases, of_tickets}
  end
end
