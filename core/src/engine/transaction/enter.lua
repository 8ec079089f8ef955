-- Acquire with an id: grants, queues or refuses. Twin of enter.rs.
--
-- REQUIRES: MAX DAMAGED MAX_REMOVALS call format find min max limit_count verb_at verb units id register_limiter now
-- REQUIRES: overrides LATE_RELEASE unpack ctx handlers evaluate limit_exceeded_by add_statistic expiry write_state
-- REQUIRES: append_to_logs keep_skew MAX_CHECKED_TICKETS LEASE permits_key queue_key records_key read_ticket
-- REQUIRES: caller_ticket own_tags records_expiry write_ticket remove_ticket load_ahead advance_queue PERMIT_TIMEOUT
-- REQUIRES: PERMIT_EXPIRY to_text adopt_levels write_queue_summary find_lease
-- PROVIDES: nothing

if verb == 'acquire' then
  function handlers.acquire()
    local MAX_TICKETS, RECHECK, MAX_PERMITS, MAX_RECLAIMED = 100000, 5000000, 10000, 1000
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
      local index, _, remaining, reset = evaluate(0, 0, 0, 0)
      return reply(1, index, remaining, 0, reset, lease_end - now, (recorded_token or lease_limit.level) + 0, 0, 0, -1,
        (recorded_at or 0) + 0, (charged or 0) + 0)
    end
    local exceeded = limit_exceeded_by(units)
    if exceeded then
      if ticket then
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

    local index, wait, remaining, reset, rate = evaluate(0, 0, units, units)
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

      -- Their units, as far as those are known without reading each ticket.
      local function units_of(ahead)
        if ctx.queued_units == ctx.tickets or returns and not ticket then
          return ahead
        elseif not ticket then
          return ctx.queued_units
        end
        local head = read_ticket(call('ZRANGE', queue_key, 0, 0)[1])
        return max(min(ticket.units_before - (head and head.units_before or 0), ctx.queued_units - ticket.units), 0)
      end

      local ahead, units_ahead, first_expiry = tickets_ahead(), 0, MAX
      if wait == 0 then
        if ahead > 0 then
          -- Perhaps nobody was notified yet: the limit was raised, or a lease has ended by itself.
          advance_queue()
          ahead = tickets_ahead()
        end
        ahead, units_ahead, first_expiry = load_ahead(ahead)
        if ahead > MAX_CHECKED_TICKETS then
          units_ahead = max(units_ahead, units_of(ahead))
        end
        index, wait, remaining, reset, rate = evaluate(0, 0, units, units)
      else
        units_ahead = units_of(ahead)
      end
      if ahead > 0 then
        index, wait, remaining, reset, rate = evaluate(ahead, units_ahead, units, units)
        -- A ticket that has expired and could not be removed yet delays this call only.
        wait = wait < MAX and min(wait, max(first_expiry - now, 1)) or wait
      end
    end
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end

    local is_full = ctx.tickets >= MAX_TICKETS or ctx.queued_units + units > MAX
    -- While a limit is zero, a ticket keeps its position.
    local queues = may_queue and max_wait > 0 and (rate <= max_wait and (ticket or not is_full) or ticket and rate == MAX)
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
      if not ticket then
        local _, _, counter, total = find(call('HGET', records_key, '') or '0 0', '^(%d+) (%d+)$')
        if not total or counter - MAX > 0 or total - MAX > 0 then
          return redis.error_reply(DAMAGED)
        end
        counter, total = counter + 0, ctx.tickets > 0 and total + 0 or 0
        ticket = {id = id, number = counter + 1, units_before = total, units = units, queued_at = now}
        if returns and requested + 0 <= counter then
          local head = ctx.tickets > 0 and read_ticket(call('ZRANGE', queue_key, 0, 0)[1])
          ticket.number, ticket.units_before = requested + 0, head and head.units_before or total
        end
        call('HSET', records_key, '', format('%.0f %.0f', max(counter, ticket.number), min(total + units, MAX)))
        call('ZADD', queue_key, to_text(ticket.number), id)
        ctx.tickets, ctx.queued_units = ctx.tickets + 1, ctx.queued_units + units
      end
      ticket.next_check, ticket.expires_at = now + delay, now + delay + claim_timeout
      ticket.claim_timeout, ticket.tags, ticket.channel = claim_timeout, own_tags(), channel
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
    if ARGV[verb_at + 4] == '1' then
      local permit = format('%s|%s:%.0f:%.0f', own_tags(), id, now, units)
      call('ZADD', permits_key, to_text((now + PERMIT_TIMEOUT) * 2), permit)
      call('PEXPIRE', permits_key, PERMIT_EXPIRY)
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
      call('HSET', records_key, LEASE .. id, format('%.0f %.0f %.0f', now, fencing_token, units))
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
    append_to_logs()
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
