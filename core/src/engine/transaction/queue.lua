-- The queue of a limiter: tickets in the order they came. Twin of queue.rs; the contract is in redis.lua.
--
-- queue    zset    member: ticket id, score: its number
-- records  hash    ticket id -> "number start units since look lapse grace channel"; '' -> "number units";
--                  LEASE .. id -> "granted_at fence units" of a lease, which says whose the lease is when an id comes again
--                  start: units queued before it; since: when it came; look: when it looks again; lapse: when its place
--                  is lost unless it has looked. The record '' counts numbers and units over the life of the queue.
--
-- A ticket is called by a message "delay_us id" on its channel, when its turn has come or comes sooner than it thinks.
-- Nobody there to hear it: the ticket loses its place at once, and takes it again when it looks.

local MAX_TICKETS, RECHECK, SLACK, MAX_LOOKS, MAX_LAPSED = 100000, 5000000, 1000, 64, 500

local LEASE = '\31'
local permits, queue, records = KEYS[key + 1], KEYS[key + 2], KEYS[key + 3]
if not queue then
  -- Only what exists while there are leases may be asked for: the slot is on its way to another node.
  permits, records = nil, permits
end
tickets = queue and call('ZCARD', queue) or 0
-- Should the state have been lost, a ticket has one unit at least.
tickets_units = tickets > 0 and max(tickets_units, tickets) or 0
-- Whether the queue has changed, so that the state must say so, and how many have left it.
local touched, removed = false, 0

local function ticket_of(name)
  local record = call('HGET', records, name)
  if not record then
    return nil
  end
  local _, _, number, start, cost, since, look, lapse, grace, channel =
    find(record, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (.*)$')
  if not channel or lapse - MAX > 0 or grace - MAX > 0 or look - MAX > 0 or start - MAX > 0 or cost - MAX > 0 then
    damaged = true
    return nil
  end
  return {
    id = name, number = number + 0, start = start + 0, units = cost + 0, since = since + 0,
    look = look + 0, lapse = lapse + 0, grace = grace + 0, channel = channel,
  }
end

-- The ticket of the caller.
local function own_ticket()
  return tickets > 0 and call('ZRANK', queue, id) and ticket_of(id) or nil
end

-- How long the records live: as long as a ticket or a lease, whose late release is still counted for a while.
local function records_expiry()
  local longest = slots and slots.live > 0 and slots.lease(slots.live) - now + LATE or 0
  return expiry(max(longest, tickets > 0 and tickets_until - now or 0))
end

local function keep(ticket)
  call('HSET', records, ticket.id, format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f %s', ticket.number, ticket.start,
    ticket.units, ticket.since, ticket.look, ticket.lapse, ticket.grace, ticket.channel))
  tickets_until, touched = max(tickets_until, ticket.lapse), true
end

local function leave(ticket)
  call('ZREM', queue, ticket.id)
  call('HDEL', records, ticket.id)
  tickets, touched, removed = tickets - 1, true, removed + 1
  tickets_units = tickets > 0 and max(tickets_units - ticket.units, 0) or 0
end

-- The ticket at a place of the queue, nil behind its end. A lapsed one leaves, and one whose limit is too small for it by
-- now, unless it is looking just now, and the next takes its place. One call removes so many at most; the next ones go on.
local function ticket_at(place)
  while true do
    local name = call('ZRANGE', queue, place, place)[1]
    local ticket = name and ticket_of(name)
    local stays = ticket and (name == id or ticket.lapse > now and not misfit(ticket.units))
    if not name or ticket and (stays or removed >= MAX_LAPSED) then
      return ticket
    end
    leave(ticket or {id = name, units = 0})
    tally('lapsed', 1)
  end
end

-- What stands before a place: tickets, their units, and the first time at which one of them may lapse.
local function standing(place)
  local ahead, before, lapse = 0, 0, MAX
  while ahead < place and ahead < MAX_LOOKS do
    local gone = tickets
    local ticket = ticket_at(ahead)
    place = place - (gone - tickets)
    if not ticket or ahead >= place then
      return ahead, before, lapse
    end
    ahead, before, lapse = ahead + 1, before + ticket.units, min(lapse, ticket.lapse)
  end
  return place, before + place - ahead, lapse
end

-- Calls those whose turn has come, and tells the next when it comes; the caller itself knows.
local function advance()
  local ahead, before, turn = 0, 0, MAX
  while tickets > 0 and ahead < MAX_LOOKS and removed < MAX_LAPSED do
    local ticket = ticket_at(ahead)
    if not ticket then
      return
    end
    local _, wait = decide(ahead, before, ticket.units, 0)
    local look = wait == 0 and now or min(now + wait, turn)
    local heard = true
    if ticket.id ~= id and ticket.channel ~= '' and ticket.look > look + (wait == 0 and 0 or SLACK) then
      -- A user who may not publish calls nobody; they look by themselves.
      local ears = attempt('PUBLISH', ticket.channel, format('%.0f %s', look - now, ticket.id))
      if ears == 0 then
        heard = false
        leave(ticket)
      elseif type(ears) == 'number' then
        ticket.look, ticket.lapse = look, look + ticket.grace
        keep(ticket)
      end
    end
    if verb == 'control' and ticket.channel == '' and ticket.look > look + SLACK then
      -- It cannot be told that a pause has ended, and shall not stop the others until it was to end.
      ticket.look, ticket.lapse = look, look + ticket.grace
      keep(ticket)
    end
    if wait > 0 and heard then
      return
    end
    if heard then
      ahead, before, turn = ahead + 1, before + ticket.units, ticket.id == id and turn or min(turn, ticket.lapse)
    end
  end
end
