-- The queue of a limiter: tickets by priority, then by number; join.lua says which number a ticket gets. Twin of
-- transaction/queue.rs; the contract is in state.lua.
--
-- queue    zset    member: ticket id, score: its number - priority * LEVEL
-- records  hash    ticket id -> "number units_before units queued_at next_check expires_at claim_timeout tags channel", the
--                  number with ":priority" behind it when that is not 0, the channel with LEASE and the share behind it when
--                  the ticket is one of a share;
--                  '' -> "number loads": the last number, and "tag=units" of all tickets since the queue was empty;
--                  SHARE .. priority .. share -> "number tickets": the number after its last ticket, and its tickets;
--                  LEASE .. id -> "granted_at fencing_token charge": which grant a lease is of when an id is used again
--                  tags: those of its call's limits, sorted, with commas between; units: what it takes of each, one of a
--                  limit that counts calls; units_before: what was queued of each before it; next_check: when the ticket
--                  calls again; others pass it by when its claim timeout has passed since; expires_at: when its position is
--                  lost unless it has called.
--
-- A ticket is notified by a message "delay_us id" on its channel when its turn has come, or comes before its next check.
-- A message without a subscriber costs the ticket its position, which it gets back when it calls. The channel of a ticket that
-- was listed for a host, and has not called since, is CALLED; it gets no message, since its next check has come.
--
-- A ticket without units is suspended: another limiter holds its call up. It keeps its position and stops nobody.
--
-- REQUIRES: MAX_EXPIRED MAX call format find min max limit_count id now LATE_RELEASE ctx key_count
-- REQUIRES: limit_exceeded_by add_statistic expiry
-- PROVIDES: MAX_CHECKED_TICKETS LEASE SHARE CALLED permits_key queue_key records_key read_ticket caller_ticket own_tags
-- PROVIDES: units_of add_loads records_expiry write_ticket leave_share remove_ticket claim_end load_ahead
-- PROVIDES: call_again ticket_at

local MAX_CHECKED_TICKETS = 64
local LEASE, SHARE, CALLED = '\31', '\30', '\29'
local permits_key, queue_key, records_key = KEYS[key_count + 1], KEYS[key_count + 2], KEYS[key_count + 3]
if not queue_key then
  -- While a slot moves to another node, a call may only name keys that exist as long as there are leases.
  permits_key, records_key = nil, permits_key
end
ctx.tickets = queue_key and call('ZCARD', queue_key) or 0
if ctx.tickets == 0 then
  ctx.queued, ctx.queued_text = {}, ''
end

-- The ticket with an id, whose record may have been read already.
local function read_ticket(name, record)
  record = record or call('HGET', records_key, name)
  if not record then
    return nil
  end
  local _, _, number, priority, before, cost, queued_at, next_check, expires_at, claim_timeout, tags, channel =
    find(record, '^(%d+):?(%d?) ([%d,]+) ([%d,]+) (%d+) (%d+) (%d+) (%d+) (%S+) (.*)$')
  local share_at = channel and find(channel, LEASE, 1, true)
  local units, units_before, is_damaged = {}, {}, not channel or next_check - MAX > 0 or claim_timeout - MAX > 0
  if is_damaged or expires_at - MAX > 0 then
    ctx.damaged = true
    return nil
  end
  if find(tags, ',', 1, true) then
    local next_cost, next_before = string.gmatch(cost, '[^,]+'), string.gmatch(before, '[^,]+')
    for tag in string.gmatch(tags, '[^,]+') do
      local number, other = tonumber(next_cost() or nil), tonumber(next_before() or nil)
      if number and other then
        units[tag], units_before[tag] = number, other
        is_damaged = is_damaged or number > MAX or other > MAX
      end
    end
  else
    local number, other = tonumber(cost), tonumber(before)
    units[tags], units_before[tags] = number, other
    is_damaged = not (number and other) or number > MAX or other > MAX
  end
  if is_damaged then
    ctx.damaged = true
    return nil
  end
  return {
    id = name, number = number + 0, priority = tonumber(priority) or 0, before = units_before, units = units, before_text = before, units_text = cost,
    queued_at = queued_at + 0, next_check = next_check + 0, expires_at = expires_at + 0, claim_timeout = claim_timeout + 0,
    tags = tags, channel = string.sub(channel, 1, (share_at or 0) - 1), share = share_at and string.sub(channel, share_at + 1),
    is_suspended = not find(cost, '[1-9]'),
    is_passed = name ~= id and next_check + claim_timeout <= now and expires_at - now > 0,
  }
end

-- The sorted tags of this call's limits, as permits and tickets store them, and the positions of the limits in that order.
local function own_tags()
  if limit_count == 1 then
    return ctx.limits[1].record_tag, {1}
  elseif not ctx.own_tags then
    local limits, order, tags = ctx.limits, {}, {}
    for i = 1, limit_count do
      order[i] = i
    end
    -- By their bytes: `<` depends on the server's locale.
    table.sort(order, function(i, j)
      local one, other, k = limits[i].record_tag, limits[j].record_tag, 1
      while k <= #one and string.byte(one, k) == string.byte(other, k) do
        k = k + 1
      end
      return (string.byte(one, k) or 0) < (string.byte(other, k) or 0)
    end)
    for place, i in ipairs(order) do
      tags[place] = limits[i].record_tag
    end
    ctx.own_tags, ctx.tag_order = table.concat(tags, ','), order
  end
  return ctx.own_tags, ctx.tag_order
end

-- What a ticket takes of each limit of this call that it has; the second result says whether it has one. A call without
-- limits, which works on the name alone, has to do with every ticket.
local function units_of(ticket)
  local units, is_shared = {}, limit_count == 0
  for i = 1, limit_count do
    units[i] = ticket.units[ctx.limits[i].record_tag]
    is_shared = is_shared or units[i] ~= nil
  end
  return units, is_shared and not (ticket.is_suspended or ticket.is_passed)
end

-- Adds a multiple of the units of a ticket to the units of all tickets.
local function add_loads(loads, ticket, times)
  ctx.queued_text = nil
  for tag, units in pairs(ticket.units) do
    loads[tag] = max(min((loads[tag] or 0) + times * units, MAX), 0)
  end
end

local function caller_ticket()
  return ctx.tickets > 0 and call('ZRANK', queue_key, id) and read_ticket(id) or nil
end

-- The records live as long as a ticket, or as a lease whose late release is still counted for a while.
local function records_expiry()
  local lease_limit = ctx.lease_limit
  local lifetime = lease_limit and lease_limit.live > 0 and ctx.last_lease_end() - now + LATE_RELEASE or 0
  if not lease_limit then
    -- Leases of another policy may need them for longer.
    lifetime = max(call('PTTL', records_key) - 10000, 0) * 1000
  end
  return expiry(max(lifetime, ctx.tickets > 0 and ctx.queued_until - now or 0))
end

local function write_ticket(ticket)
  local number, channel = format('%.0f', ticket.number), ticket.channel
  if ticket.priority > 0 then
    number = format('%s:%.0f', number, ticket.priority)
  end
  if ticket.share then
    channel = channel .. LEASE .. ticket.share
  end
  call('HSET', records_key, ticket.id, format('%s %s %s %.0f %.0f %.0f %.0f %s %s', number, ticket.before_text,
    ticket.units_text, ticket.queued_at, ticket.next_check, ticket.expires_at, ticket.claim_timeout, ticket.tags, channel))
  ctx.queued_until, ctx.queue_changed = max(ctx.queued_until, ticket.expires_at), true
end

-- Counts a ticket of a share no more.
local function leave_share(priority, share)
  local field = format('%s%.0f%s', SHARE, priority, share)
  local number, tickets = string.match(call('HGET', records_key, field) or '', '^(%d+) (%d+)$')
  if tickets and tickets - 1 > 0 then
    call('HSET', records_key, field, format('%s %.0f', number, tickets - 1))
  else
    call('HDEL', records_key, field)
  end
end

local function remove_ticket(ticket)
  call('ZREM', queue_key, ticket.id)
  call('HDEL', records_key, ticket.id)
  if ticket.share then
    leave_share(ticket.priority, ticket.share)
  end
  ctx.tickets, ctx.queue_changed, ctx.removed = ctx.tickets - 1, true, ctx.removed + 1
  if ctx.tickets > 0 then
    add_loads(ctx.queued, ticket, -1)
  else
    ctx.queued, ctx.queued_text = {}, ''
  end
end

-- When others pass a ticket by, unless it has called.
local function claim_end(ticket)
  return ticket.next_check + ticket.claim_timeout
end

-- Gives a ticket another time to call.
local function call_again(ticket, check)
  ticket.next_check, ticket.expires_at = check, check + ticket.expires_at - ticket.next_check
  write_ticket(ticket)
end

-- The ticket at a position, nil behind the end of the queue. One that has expired is removed unless it is the caller's, and
-- the next takes its position. Each call removes a bounded number; the following calls continue.
local function ticket_at(position)
  while true do
    local name = call('ZRANGE', queue_key, position, position)[1]
    local ticket = name and read_ticket(name)
    local stays = ticket and (name == id or ticket.expires_at > now)
    if not name or ticket and (stays or ctx.removed >= MAX_EXPIRED) then
      return ticket
    end
    remove_ticket(ticket or {id = name, units = {}})
    add_statistic('lapsed', 1)
  end
end

-- The tickets before a position that have a limit in common with this call, their units of each limit, and the first time at
-- which others pass one of them by. A ticket above a limit stops nobody: it keeps its position, and its own call decides.
local function load_ahead(position)
  local checked, ahead, units_ahead, first_expiry = 0, 0, {}, MAX
  local unchecked = nil
  while not unchecked and checked < position and checked < MAX_CHECKED_TICKETS do
    local tickets = ctx.tickets
    local ticket = ticket_at(checked)
    position = position - (tickets - ctx.tickets)
    if not ticket or checked >= position then
      unchecked = 0
    else
      checked = checked + 1
      local units, is_shared = units_of(ticket)
      if is_shared and not limit_exceeded_by(units) then
        ahead, first_expiry = ahead + 1, min(first_expiry, claim_end(ticket))
        for i = 1, limit_count do
          units_ahead[i] = (units_ahead[i] or 0) + (units[i] or 0)
        end
      end
    end
  end
  unchecked = unchecked or max(position - checked, 0)
  for i = 1, limit_count do
    units_ahead[i] = (units_ahead[i] or 0) + unchecked
  end
  return ahead + unchecked, units_ahead, first_expiry, unchecked
end
