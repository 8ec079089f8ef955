-- Acquire with an id: grants, queues or refuses. Twin of `enter` in verb.rs.

local patience, grace, channel, place = ARGV[base + 7] or '', nil, nil, nil
local queues = patience ~= ''
if queues then
  patience, grace, channel, place = patience + 0, ARGV[base + 8] + 0, ARGV[base + 9], ARGV[base + 10]
end
-- Whoever has a lease already takes nothing.
local held, since, held_fence, held_units = lease_of()
local ticket = own_ticket()
if damaged then
  return redis.error_reply(DAMAGED)
end
if held and held > now then
  local index, _, remaining, reset = decide(0, 0, 0, 0)
  return reply(1, index, remaining, 0, reset, held - now, (held_fence or slots.level) + 0, 0, 0, -1,
    (since or 0) + 0, (held_units or 0) + 0)
end
local never = misfit(units)
if never then
  if ticket then
    leave(ticket)
    advance()
    write_line()
  end
  return {5, never - 1, limits[never].a, 0, 0, now}
end
if queues and not ticket and place == '-' then
  return reply(3, 0, 0, 0, 0)
end
local returns = queues and place ~= '' and place ~= '-'

local index, wait, remaining, reset, rate = decide(0, 0, units, units)
if units == 0 then
  keep_skew()
  return reply(wait == 0 and 1 or 0, index, remaining, wait, reset)
end

-- How many stand before it: who comes back under its old number stands where it stood.
local function rank()
  if ticket then
    return call('ZRANK', queue, id)
  elseif returns then
    return call('ZCOUNT', queue, '-inf', place)
  end
  return tickets
end

-- What so many take, as far as it is known without looking at each.
local function units_of(ahead)
  if tickets_units == tickets or returns and not ticket then
    return ahead
  elseif not ticket then
    return tickets_units
  end
  local head = ticket_of(call('ZRANGE', queue, 0, 0)[1])
  return max(min(ticket.start - (head and head.start or 0), tickets_units - ticket.units), 0)
end

if tickets > 0 then
  -- All that is before it in the queue goes first.
  local ahead, before, lapse = rank(), 0, MAX
  if wait == 0 then
    if ahead > 0 then
      -- It may be that nobody was called yet: the limit was raised, or a lease has ended by itself.
      advance()
      ahead = rank()
    end
    ahead, before, lapse = standing(ahead)
    if ahead > MAX_LOOKS then
      before = max(before, units_of(ahead))
    end
    index, wait, remaining, reset, rate = decide(0, 0, units, units)
  else
    before = units_of(ahead)
  end
  if ahead > 0 then
    index, wait, remaining, reset, rate = decide(ahead, before, units, units)
    -- One that has lapsed and could not be removed yet is in its way for this call only.
    wait = wait < MAX and min(wait, max(lapse - now, 1)) or wait
  end
end
if damaged then
  return redis.error_reply(DAMAGED)
end

local is_full = tickets >= MAX_TICKETS or tickets_units + units > MAX
-- Where nobody may be for now, who has a place keeps it.
local stands = queues and patience > 0 and (rate <= patience and (ticket or not is_full) or ticket and rate == MAX)
if wait > 0 and not stands then
  if ticket then
    leave(ticket)
    advance()
  end
  tally('refused', 1)
  if touched then
    write_line()
  else
    keep_skew()
  end
  register(now)
  return reply(0, index, remaining, wait, reset)
end

if wait > 0 then
  -- Takes a place in the queue, or keeps it. What a release can shorten is looked at again all the same, and who has a
  -- channel, and so somebody who waits, shows that it is alive.
  local look = wait > rate and max(rate, min(wait, RECHECK)) or wait < MAX and wait or RECHECK
  if channel ~= '' then
    look = min(look, RECHECK)
  end
  if not ticket then
    local _, _, counter, total = find(call('HGET', records, '') or '0 0', '^(%d+) (%d+)$')
    if not total or counter - MAX > 0 or total - MAX > 0 then
      return redis.error_reply(DAMAGED)
    end
    counter, total = counter + 0, tickets > 0 and total + 0 or 0
    ticket = {id = id, number = counter + 1, start = total, units = units, since = now}
    if returns and place + 0 <= counter then
      local head = tickets > 0 and ticket_of(call('ZRANGE', queue, 0, 0)[1])
      ticket.number, ticket.start = place + 0, head and head.start or total
    end
    call('HSET', records, '', format('%.0f %.0f', max(counter, ticket.number), min(total + units, MAX)))
    call('ZADD', queue, text(ticket.number), id)
    tickets, tickets_units = tickets + 1, tickets_units + units
  end
  ticket.look, ticket.lapse, ticket.grace, ticket.channel = now + look, now + look + grace, grace, channel
  keep(ticket)
  call('PEXPIRE', queue, expiry(tickets_until - now))
  call('PEXPIRE', records, records_expiry())
  write_line()
  register(now)
  return reply(2, index, remaining, look, reset, 0, 0, ticket.number, call('ZRANK', queue, id),
    (slots or wait == MAX) and -1 or wait)
end

-- Grants.
local longest, lease, fence = ends, 0, 0
if ARGV[base + 4] == '1' then
  call('ZADD', permits, text((now + PERMIT_TIMEOUT) * 2), format('%s:%.0f:%.0f', id, now, units))
  call('PEXPIRE', permits, PERMIT_EXPIRY)
  -- In pieces, but often enough that they are never many more.
  if math.floor(now / 10000) ~= math.floor(last / 10000) then
    local excess = max(call('ZCOUNT', permits, '-inf', text(now * 2 + 1)), call('ZCARD', permits) - MAX_PERMITS)
    if excess > 0 then
      call('ZREMRANGEBYRANK', permits, 0, min(excess, MAX_REMOVALS) - 1)
    end
  end
end
if slots then
  lease, fence = slots.b, max(slots.level + 1, now)
  slots.level = fence
  call('HSET', records, LEASE .. id, format('%.0f %.0f %.0f', now, fence, units))
  call('ZADD', slots.key, text(now + lease), id)
  -- Leases that have ended make room. The last thousand of them stay known, so that the late release of each counts once.
  local ended = call('ZRANGEBYSCORE', slots.key, 0, text(now), 'WITHSCORES', 'LIMIT', 0, MAX_REMOVALS)
  if #ended > 0 then
    local words = {}
    for i = 1, #ended, 2 do
      words[i], words[i + 1] = '-' .. ended[i + 1], ended[i]
    end
    call('ZADD', slots.key, unpack(words))
    tally('reclaimed', #ended / 2)
    local reclaimed = call('ZCOUNT', slots.key, '-inf', '(0')
    if reclaimed > MAX_RECLAIMED then
      local names = call('ZRANGE', slots.key, MAX_RECLAIMED, reclaimed - 1)
      call('ZREM', slots.key, unpack(names))
      for i = 1, #names do
        names[i] = LEASE .. names[i]
      end
      call('HDEL', records, unpack(names))
    end
  end
  call('PEXPIRE', slots.key, expiry(longest + LATE))
  call('PEXPIRE', records, expiry(max(longest + LATE, tickets > 0 and tickets_until - now or 0)))
end
tally('granted', 1)
tally('units', units - 1)
log()
if tickets > 0 then
  settle()
  if ticket then
    leave(ticket)
    tally('waited', 1)
    tally('wait', now - ticket.since)
  end
  advance()
end
write(longest)
register(now)
return reply(1, index, remaining, 0, reset, lease, fence, ticket and ticket.number)
