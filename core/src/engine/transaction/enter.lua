-- Acquire with an id: grants, queues or refuses. Twin of enter.rs.
--
-- REQUIRES: dry_run MAX_REMOVALS MAX DAMAGED call format find min max limit_count verb_at verb units costs id register_limiter
-- REQUIRES: now overrides LATE_RELEASE unpack ctx handlers evaluate own_units limit_exceeded_by add_statistic expiry
-- REQUIRES: load_list write_state append_to_logs keep_skew MAX_CHECKED_TICKETS LEASE permits_key queue_key records_key
-- REQUIRES: read_ticket caller_ticket own_tags add_loads records_expiry write_ticket remove_ticket load_ahead
-- REQUIRES: advance_queue to_text adopt_levels write_queue_summary find_lease
-- PROVIDES: nothing

if verb == 'acquire' then
  function handlers.acquire()
    local MAX_TICKETS, RECHECK, MAX_PERMITS, MAX_RECLAIMED = 100000, 5000000, 100000, 1000
    local function reply(status, index, remaining, wait, reset, lease, fencing_token, number, position, ready, granted_at, charged)
      return {
        status, index, remaining, wait, reset, now, lease or 0, fencing_token or 0, number or 0, position or 0, ready or -1,
        granted_at or 0, charged or 0,
        overrides and overrides.own and (index < limit_count and ctx.limits[index + 1].a or 0),
      }
    end

    local max_wait, claim_timeout, channel, requested = ARGV[verb_at + 7] or '', nil, nil, nil
    local may_queue = max_wait ~= ''
    if may_queue then
      max_wait, claim_timeout = max_wait + 0, ARGV[verb_at + 8] + 0
      channel, requested = ARGV[verb_at + 9], ARGV[verb_at + 10]
    end
    local lease_limit = ctx.lease_limit
    local lease_end, recorded_at, recorded_token, charged = find_lease()
    local ticket = caller_ticket()
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    if lease_end and lease_end > now then
      -- The id has a lease, and takes nothing more.
      local nothing = {}
      for i = 1, limit_count do
        nothing[i] = 0
      end
      local index, _, remaining, reset = evaluate(nothing)
      return reply(1, index, remaining, 0, reset, lease_end - now, (recorded_token or lease_limit.level) + 0, 0, 0, -1,
        (recorded_at or 0) + 0, tonumber(charged or 0) or charged)
    end
    local exceeded = limit_exceeded_by(own_units, 'own')
    if exceeded then
      if ticket and not dry_run then
        remove_ticket(ticket)
        advance_queue()
        write_queue_summary()
      end
      return {5, exceeded - 1, ctx.limits[exceeded].a, 0, 0, now}
    end
    if may_queue and not ticket and requested == '-' then
      return reply(3, 0, 0, 0, 0)
    end
    local returns = may_queue and requested ~= '' and requested ~= '-'

    local index, wait, remaining, reset, rate = evaluate(own_units, nil, own_units)
    if units == 0 then
      keep_skew()
      return reply(wait == 0 and 1 or 0, index, remaining, wait, reset)
    end

    if ctx.tickets > 0 then
      -- Tickets ahead of it. One that comes back with its number has the position that it had.
      local function tickets_ahead()
        if ticket then
          return call('ZRANK', queue_key, id)
        elseif returns then
          return call('ZCOUNT', queue_key, '-inf', requested)
        end
        return ctx.tickets
      end

      -- Their units of each limit, as far as those are known without reading each ticket.
      local function known_units(ahead)
        local head, is_read, known = nil, false, {}
        for i = 1, limit_count do
          local kind, tag = ctx.limits[i].kind, ctx.limits[i].record_tag
          local queued = ctx.queued[tag] or 0
          local units_before, own = ticket and ticket.before[tag], ticket and ticket.units[tag]
          local others = max(queued - (own or 0), 0)
          if kind == 't' or kind == 'c' or queued == ctx.tickets or returns and not units_before then
            known[i] = min(ahead, others)
          elseif not units_before then
            known[i] = others
          else
            if not is_read then
              head, is_read = read_ticket(call('ZRANGE', queue_key, 0, 0)[1]), true
            end
            known[i] = min(max(units_before - (head and head.before[tag] or 0), 0), others)
          end
        end
        return known
      end

      local ahead, units_ahead, first_expiry = tickets_ahead(), nil, MAX
      if wait == 0 then
        if ahead > 0 then
          -- Perhaps nobody was notified yet: the limit was raised, or a lease has ended by itself.
          advance_queue()
          ahead = tickets_ahead()
        end
        ahead, units_ahead, first_expiry = load_ahead(ahead)
        if ahead > MAX_CHECKED_TICKETS then
          for i, known in ipairs(known_units(ahead)) do
            units_ahead[i] = max(units_ahead[i], known)
          end
        end
        index, wait, remaining, reset, rate = evaluate(own_units, nil, own_units)
      else
        local is_lowered = false
        for i = 1, overrides and overrides.own and limit_count or 0 do
          local limit = ctx.limits[i]
          local counts_units = limit.kind ~= 't' and limit.kind ~= 'c'
          is_lowered = is_lowered or counts_units and string.match(overrides.own[limit.tag], '^%d+') - limit.a > 0
        end
        if is_lowered then
          -- Tickets above a lowered limit do not count.
          ahead, units_ahead = load_ahead(ahead)
        end
        if not is_lowered or ahead > MAX_CHECKED_TICKETS then
          units_ahead = known_units(ahead)
        end
      end
      if ahead > 0 then
        index, wait, remaining, reset, rate = evaluate(own_units, units_ahead, own_units)
        -- A ticket that has expired and could not be removed yet delays this call only.
        wait = wait < MAX and min(wait, max(first_expiry - now, 1)) or wait
      end
    end
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end

    local is_full = ctx.tickets >= MAX_TICKETS
    for i = 1, limit_count do
      is_full = is_full or (ctx.queued[ctx.limits[i].record_tag] or 0) + own_units[i] > MAX
    end
    -- While a limit is zero, a ticket keeps its position.
    local queues = may_queue and max_wait > 0 and not limit_exceeded_by(own_units, 'known')
      and (rate <= max_wait and (ticket or not is_full) or ticket and rate == MAX)
    if dry_run then
      if ctx.queue_changed then
        -- Tickets that have expired left the queue, or others were notified.
        write_queue_summary()
      end
      register_limiter(now)
      return reply(wait == 0 and 1 or queues and 2 or 0, index, remaining, wait, reset)
    end
    if wait > 0 and not queues then
      if ticket then
        remove_ticket(ticket)
        advance_queue()
      end
      add_statistic('refused', 1)
      if ctx.queue_changed then
        write_queue_summary()
      else
        keep_skew()
      end
      register_limiter(now)
      return reply(0, index, remaining, wait, reset)
    end

    if wait > 0 then
      -- Takes or keeps a position in the queue. A wait that a release can shorten is checked again in any case, and a ticket
      -- with a channel, for which a process waits, shows that the process is alive.
      local delay = wait > rate and max(rate, min(wait, RECHECK)) or wait < MAX and wait or RECHECK
      if channel ~= '' then
        delay = min(delay, RECHECK)
      end
      local tags, order = own_tags()
      local is_same = ticket and ticket.tags == tags
      for i = 1, is_same and limit_count or 0 do
        is_same = is_same and ticket.units[ctx.limits[i].record_tag] == own_units[i]
      end
      if not is_same then
        -- A new ticket, or one whose call has other limits or another cost than the call before.
        local _, _, counter, loads = find(call('HGET', records_key, '') or '0 ', '^(%d+) (%S*)$')
        local is_list = loads and string.gsub(loads ~= '' and loads .. ',' or '', '%l[^=,]*=%d+,', '') == ''
        if not is_list or counter - MAX > 0 then
          return redis.error_reply(DAMAGED)
        end
        local totals = {}
        for tag, load in string.gmatch(ctx.tickets > 0 and loads or '', '([^=,]+)=(%d+)') do
          totals[tag] = min(load + 0, MAX)
        end
        counter = counter + 0
        local is_back = not ticket and returns and requested + 0 <= counter
        local other = ticket or is_back and ctx.tickets > 0 and read_ticket(call('ZRANGE', queue_key, 0, 0)[1])
        local own, before, texts = {id = id, tags = tags, units = {}}, {}, {}
        for place, i in ipairs(order) do
          local tag = ctx.limits[i].record_tag
          local total = totals[tag] or 0
          local known = other and other.before[tag]
          own.units[tag], texts[place] = own_units[i], to_text(own_units[i])
          before[place] = to_text(known and min(known, ticket and MAX or total) or total)
        end
        own.before_text, own.units_text = table.concat(before, ','), table.concat(texts, ',')
        if ticket then
          add_loads(ctx.queued, ticket, -1)
          own.number, own.queued_at = ticket.number, ticket.queued_at
        else
          own.number, own.queued_at = is_back and requested + 0 or counter + 1, now
          add_loads(totals, own, 1)
          call('HSET', records_key, '', format('%.0f ', max(counter, own.number)) .. load_list(totals))
          call('ZADD', queue_key, to_text(own.number), id)
          ctx.tickets = ctx.tickets + 1
        end
        add_loads(ctx.queued, own, 1)
        ticket = own
      end
      ticket.next_check, ticket.expires_at = now + delay, now + delay + claim_timeout
      ticket.claim_timeout, ticket.channel = claim_timeout, channel
      write_ticket(ticket)
      call('PEXPIRE', queue_key, expiry(ctx.queued_until - now))
      call('PEXPIRE', records_key, records_expiry())
      write_queue_summary()
      register_limiter(now)
      return reply(2, index, remaining, delay, reset, 0, 0, ticket.number, call('ZRANK', queue_key, id),
        (lease_limit or wait == MAX) and -1 or wait)
    end

    -- Grants.
    local lifetime, timeout, fencing_token = ctx.longest_reset, 0, 0
    local charge = to_text(units)
    if costs then
      local _, order = own_tags()
      local charges = {}
      for place, i in ipairs(order) do
        charges[place] = to_text(costs[i])
      end
      charge = table.concat(charges, ',')
    end
    local settle_within = tonumber(ARGV[verb_at + 4])
    if settle_within then
      local permit = format('%s|%s:%.0f:%s', (own_tags()), id, now, charge)
      call('ZADD', permits_key, to_text((now + settle_within) * 2), permit)
      call('PEXPIRE', permits_key, to_text(max(call('PTTL', permits_key), expiry(settle_within) + 0)))
      -- Removes a bounded number, and often enough that there are never many more.
      if math.floor(now / 10000) ~= math.floor(ctx.last / 10000) then
        local excess = max(call('ZCOUNT', permits_key, '-inf', to_text(now * 2 + 1)), call('ZCARD', permits_key) - MAX_PERMITS)
        if excess > 0 then
          call('ZREMRANGEBYRANK', permits_key, 0, min(excess, MAX_REMOVALS) - 1)
        end
      end
    end
    if lease_limit then
      local leases_key = lease_limit.key
      timeout, fencing_token = lease_limit.b, max(lease_limit.level + 1, now)
      lease_limit.level = fencing_token
      call('HSET', records_key, LEASE .. id, format('%.0f %.0f %s', now, fencing_token, charge))
      call('ZADD', leases_key, to_text(now + timeout), id)
      -- Leases that have ended make room. The last thousand of them are kept, so that a late release of each counts once.
      local ended = call('ZRANGEBYSCORE', leases_key, 0, to_text(now), 'WITHSCORES', 'LIMIT', 0, MAX_REMOVALS)
      if #ended > 0 then
        local members = {}
        for i = 1, #ended, 2 do
          members[i], members[i + 1] = '-' .. ended[i + 1], ended[i]
        end
        call('ZADD', leases_key, unpack(members))
        add_statistic('reclaimed', math.floor(#ended / 2))
        local reclaimed = call('ZCOUNT', leases_key, '-inf', '(0')
        if reclaimed > MAX_RECLAIMED then
          local names = call('ZRANGE', leases_key, MAX_RECLAIMED, reclaimed - 1)
          call('ZREM', leases_key, unpack(names))
          for i = 1, #names do
            names[i] = LEASE .. names[i]
          end
          call('HDEL', records_key, unpack(names))
        end
      end
      call('PEXPIRE', leases_key, expiry(lifetime + LATE_RELEASE))
      call('PEXPIRE', records_key, expiry(max(lifetime + LATE_RELEASE, ctx.tickets > 0 and ctx.queued_until - now or 0)))
    end
    add_statistic('granted', 1)
    add_statistic('units', units - 1)
    append_to_logs(own_units)
    if ctx.tickets > 0 then
      adopt_levels()
      if ticket then
        remove_ticket(ticket)
        add_statistic('waited', 1)
        add_statistic('wait', now - ticket.queued_at)
      end
      advance_queue()
    end
    write_state(lifetime)
    register_limiter(now)
    return reply(1, index, remaining, 0, reset, timeout, fencing_token, ticket and ticket.number)
  end
end
