-- Acquire with an id: grants, queues or refuses. Twin of enter.rs.
--
-- REQUIRES: dry_run MAX_REMOVALS MAX DAMAGED call format min max limit_count verb_at verb units describes costs id
-- REQUIRES: register_limiter describe now overrides LATE_RELEASE unpack ctx handlers evaluate own_units limit_exceeded_by add_statistic expiry
-- REQUIRES: write_state append_to_logs keep_skew in_mode count_refusal MAX_CHECKED_TICKETS LEASE permits_key queue_key
-- REQUIRES: records_key read_ticket caller_ticket own_tags records_expiry write_ticket remove_ticket load_ahead
-- REQUIRES: read_hosts wake_host advance_queue to_text adopt_levels write_queue_summary find_lease LEVEL tickets_before count_turn join_queue rise
-- PROVIDES: nothing

if verb == 'acquire' then
  function handlers.acquire()
    local MAX_TICKETS, RECHECK, MIN_POLL, MAX_POLL, MAX_TURNS, CALLED_RECHECK = 100000, 15000000, 50000, 5000000, 1000, 60000000
    local MAX_PERMITS, MAX_RECLAIMED = 100000, 1000
    local numbers = nil
    local function reply(status, index, remaining, wait, reset, lease, fencing_token, number, position, ready, granted_at, charged)
      local list = {
        status, index, remaining, wait, reset, now, lease or 0, fencing_token or 0, number or 0, position or 0, ready or -1,
        granted_at or 0, charged or 0,
        overrides and overrides.own and (index < limit_count and ctx.limits[index + 1].a or 0),
      }
      if numbers then
        list[#list + 1] = numbers
      end
      return list
    end

    local max_wait, claim_timeout, keep, channel, requested = ARGV[verb_at + 7] or '', nil, nil, nil, nil
    local may_queue = max_wait ~= ''
    if may_queue then
      max_wait, claim_timeout, keep = max_wait + 0, ARGV[verb_at + 8] + 0, (ARGV[verb_at + 11] or 0) + 0
      channel, requested = ARGV[verb_at + 9], ARGV[verb_at + 10]
    end
    local lease_limit = ctx.lease_limit
    local lease_end, recorded_at, recorded_token, charged = find_lease()
    local ticket = caller_ticket()
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    ctx.waited = ticket and now - ticket.queued_at
    if lease_end and lease_end > now then
      -- The id has a lease, and takes nothing more.
      local nothing = {looks = true}
      for i = 1, limit_count do
        nothing[i] = 0
      end
      local index, _, remaining, reset = evaluate(nothing)
      numbers = describes and describe(0, true)
      return reply(1, index, remaining, 0, reset, lease_end - now, (recorded_token or lease_limit.level) + 0, 0, 0, -1,
        (recorded_at or 0) + 0, tonumber(charged or 0) or charged)
    end
    local exceeded = limit_exceeded_by(own_units, 'own')
    if exceeded then
      -- An estimate comes again, lowered, with its ticket.
      if ticket and not dry_run and ARGV[verb_at + 4] == '' then
        remove_ticket(ticket)
        advance_queue()
        write_queue_summary()
      end
      return {5, exceeded - 1, ctx.limits[exceeded].a, 0, 0, now}
    end
    if may_queue and not ticket and requested == '-' then
      return reply(3, 0, 0, 0, 0)
    end
    local returns = may_queue and tonumber(requested)

    local index, wait, remaining, reset, rate = evaluate(own_units, nil, own_units)
    local status
    if own_units.looks then
      numbers = describes and describe(wait)
      if ctx.damaged then
        return redis.error_reply(DAMAGED)
      end
      keep_skew()
      status = wait == 0 and 1 or 0
      if in_mode then
        status, index, wait, remaining, reset = in_mode(index, wait, remaining, reset, rate)
      end
      return reply(status, index, remaining, wait, reset)
    end

    if ticket then
      rise(ticket)
    end
    local number, units_ahead = 0, nil
    if ctx.tickets > 0 then
      -- Tickets ahead of it. One that comes back with its number has the position that it had.
      local function tickets_ahead()
        if ticket then
          return call('ZRANK', queue_key, id)
        end
        return tickets_before(returns)
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
          elseif ctx.queued.r then
            -- Not in the order of arrival: the mean of all.
            known[i] = min(math.floor(queued / ctx.tickets) * ahead, others)
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

      local ahead, first_expiry, unchecked, behind_others = nil, MAX, 0, 0
      ahead, number = tickets_ahead()
      if wait == 0 then
        if ahead > 0 then
          -- Perhaps nobody was notified yet: the limit was raised, or a lease has ended by itself.
          advance_queue()
          ahead, number = tickets_ahead()
        end
        ahead, units_ahead, first_expiry, unchecked = load_ahead(ahead)
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
        if unchecked > 0 and first_expiry > now then
          local others = {}
          for i = 1, limit_count do
            others[i] = unchecked
          end
          local _, wait_behind = evaluate(own_units, others, own_units)
          behind_others = wait_behind
        end
        index, wait, remaining, reset, rate = evaluate(own_units, units_ahead, own_units)
        -- A ticket that has expired and could not be removed yet delays this call only. When others pass by the tickets that were
        -- checked, the call still waits for those that were not.
        wait = wait < MAX and min(wait, max(first_expiry - now, 1, behind_others)) or wait
      end
    end
    numbers = describes and describe(wait)
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end

    local is_full = ctx.tickets >= MAX_TICKETS or (number or 0) >= LEVEL
    for i = 1, limit_count do
      is_full = is_full or (ctx.queued[ctx.limits[i].record_tag] or 0) + own_units[i] > MAX
    end
    status = wait == 0 and 1 or 0
    if in_mode then
      status, index, wait, remaining, reset, rate = in_mode(index, wait, remaining, reset, rate)
    end
    -- While a limit is zero, a ticket keeps its position. In shadow nobody waits.
    local queues = may_queue and max_wait > 0 and not ctx.is_shadow and not limit_exceeded_by(own_units, 'known')
      and (rate <= max_wait and (ticket or not is_full) or ticket and rate == MAX)
    if dry_run then
      if ctx.queue_changed then
        -- Tickets that have expired left the queue, or others were notified.
        write_queue_summary()
      end
      register_limiter(now)
      return reply(wait > 0 and queues and 2 or status, index, remaining, wait, reset)
    end
    if wait > 0 and not queues then
      if ticket then
        remove_ticket(ticket)
        advance_queue()
      end
      add_statistic(status == 6 and 'shadow_refused' or 'r', 1, index)
      if in_mode and count_refusal(index) or ctx.queue_changed then
        write_queue_summary()
      else
        keep_skew()
      end
      register_limiter(now)
      return reply(status, index, remaining, wait, reset)
    end

    if wait > 0 then
      -- The time until a lease is free for a call that gets no wake-up: by the mean time that leases are held, and a quarter more,
      -- because a call that comes too early has to come again. Until one is released it is how long the first is held.
      local function until_turn()
        local limit, ahead = lease_limit, 0
        for i = 1, limit_count do
          ahead = units_ahead and ctx.limits[i] == limit and units_ahead[i] or ahead
        end
        local turns = min(max(math.ceil((ahead + 1 + limit.live - limit.a) / limit.a), 1), MAX_TURNS)
        local first = limit.live > 0 and call('ZRANGE', limit.key, -limit.live, -limit.live)[1]
        local granted_at = first and string.match(call('HGET', records_key, LEASE .. first) or '', '^%d+')
        local age, mean = max(now - (granted_at or now), 0), ctx.queued.h
        local after = first and turns * min(max(age, MIN_POLL), MAX_POLL) or MAX_POLL
        if mean then
          after = max(turns * mean - min(age, mean), math.floor((age - mean) / 2))
        end
        return min(max(after + math.floor(after / 4), MIN_POLL), MAX_POLL)
      end

      -- Takes or keeps a position in the queue. A wait that a release can shorten is checked again in any case, and a ticket
      -- with a channel, for which a process waits, shows that the process is alive.
      -- A ticket rises only when its call retries.
      local recheck = (channel == '' or ARGV[verb_at + 15]) and MAX_POLL or RECHECK
      local delay = wait < MAX and wait or recheck
      if channel == '' and (ctx.queued.a or 0) <= now and #read_hosts() > 0 then
        ctx.queued.a, ctx.queued_text = ctx.hosts[#ctx.hosts].known_until, nil
      end
      if channel ~= '' then
        delay = min(delay, recheck)
      elseif wait > rate then
        -- A host calls the jobs whose turn has come, so that they need not ask.
        local is_called = (ctx.queued.a or 0) > now and claim_timeout + keep >= CALLED_RECHECK
        delay = max(rate, min(wait, is_called and CALLED_RECHECK or until_turn()))
      end
      ticket = join_queue(ticket, returns)
      if not ticket then
        return redis.error_reply(DAMAGED)
      end
      ticket.next_check, ticket.expires_at = now + delay, now + delay + claim_timeout + keep
      ticket.claim_timeout, ticket.channel = claim_timeout, channel
      write_ticket(ticket)
      call('PEXPIRE', queue_key, expiry(ctx.queued_until - now))
      call('PEXPIRE', records_key, records_expiry())
      local position = call('ZRANK', queue_key, id)
      if channel == '' and position == 0 and (ctx.queued.a or 0) > now then
        wake_host(min(now + wait, MAX))
      end
      write_queue_summary()
      register_limiter(now)
      return reply(2, index, remaining, delay, reset, 0, 0, ticket.number, position,
        (lease_limit or wait == MAX or ctx.queued.r) and -1 or wait)
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
    add_statistic(5 * remaining <= ctx.limits[index + 1].a and 'n' or 'g', 1)
    add_statistic('u', units - 1)
    append_to_logs(own_units)
    if ctx.tickets > 0 then
      adopt_levels()
      count_turn(ticket)
      if ticket then
        remove_ticket(ticket)
        local wait, bucket = now - ticket.queued_at, 0
        while bucket < 21 and wait >= 1000 * 2 ^ bucket do
          bucket = bucket + 1
        end
        add_statistic('w', 1, bucket)
        add_statistic('wait', wait)
      end
      advance_queue()
    end
    write_state(lifetime)
    register_limiter(now)
    return reply(1, index, remaining, 0, reset, timeout, fencing_token, ticket and ticket.number)
  end
end
