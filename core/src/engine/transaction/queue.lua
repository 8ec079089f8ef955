-- The queue of a limiter: tickets in the order they came. Twin of transaction/queue.rs; the contract is in state.lua.
--
-- queue    zset    member: ticket id, score: its number
-- records  hash    ticket id -> "number units_before units queued_at next_check expires_at claim_timeout tags channel";
--                  '' -> "number units": counts both over the life of the queue;
--                  LEASE .. id -> "granted_at fencing_token units": which grant a lease is of when an id is used again
--                  units_before: units queued before it; next_check: when the ticket calls again; expires_at: when its
--                  position is lost unless it has called; tags: those of its call's limits, with commas between.
--
-- A ticket is notified by a message "delay_us id" on its channel when its turn has come, or comes before its next check.
-- A message without a subscriber costs the ticket its position, which it gets back when it calls.
--
-- REQUIRES: MAX call attempt format find min max limit_count verb id now LATE_RELEASE ctx key_count evaluate limit_exceeded_by
-- REQUIRES: add_statistic expiry
-- PROVIDES: MAX_CHECKED_TICKETS MAX_EXPIRED LEASE permits_key queue_key records_key read_ticket caller_ticket
-- PROVIDES: own_tags tags_of records_expiry write_ticket remove_ticket ticket_at load_ahead advance_queue

local MAX_CHECKED_TICKETS, MAX_EXPIRED = 64, 500
local LEASE = '\31'
local permits_key, queue_key, records_key = KEYS[key_count + 1], KEYS[key_count + 2], KEYS[key_count + 3]
if not queue_key then
  -- While a slot moves to another node, a call may only name keys that exist as long as there are leases.
  permits_key, records_key = nil, permits_key
end
ctx.tickets = queue_key and call('ZCARD', queue_key) or 0
-- A ticket has at least one unit, also when the state was lost.
ctx.queued_units = ctx.tickets > 0 and max(ctx.queued_units, ctx.tickets) or 0

local function read_ticket(name)
  local record = call('HGET', records_key, name)
  if not record then
    return nil
  end
  local _, _, number, before, cost, queued_at, next_check, expires_at, claim_timeout, tags, channel =
    find(record, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (.*)$')
  if not channel or expires_at - MAX > 0 or claim_timeout - MAX > 0 or next_check - MAX > 0 or before - MAX > 0
    or cost - MAX > 0 then
    ctx.damaged = true
    return nil
  end
  return {
    id = name, number = number + 0, units_before = before + 0, units = cost + 0, queued_at = queued_at + 0,
    next_check = next_check + 0, expires_at = expires_at + 0, claim_timeout = claim_timeout + 0, tags = tags,
    channel = channel,
  }
end

-- The tags of this call's limits, as a ticket stores them.
local function own_tags()
  local tags = {}
  for i = 1, limit_count do
    tags[i] = ctx.limits[i].record_tag
  end
  -- Permits and tickets of the same limits are alike, in whatever order a policy has them.
  table.sort(tags)
  return table.concat(tags, ',')
end

-- The tags of a ticket of another policy as a set, and whether this call has one of them; nil and true for a ticket with
-- the tags of this call. A call without limits, which works on the name alone, has to do with every ticket.
local function tags_of(ticket)
  ctx.own_tags = ctx.own_tags or own_tags()
  if ticket.tags == ctx.own_tags then
    return nil, true
  end
  local tags, is_shared = {}, limit_count == 0
  for tag in string.gmatch(ticket.tags, '[^,]+') do
    tags[tag] = true
    is_shared = is_shared or find(',' .. ctx.own_tags .. ',', ',' .. tag .. ',', 1, true) ~= nil
  end
  return tags, is_shared
end

local function caller_ticket()
  return ctx.tickets > 0 and call('ZRANK', queue_key, id) and read_ticket(id) or nil
end

-- The records live as long as a ticket, or as a lease whose late release is still counted for a while.
local function records_expiry()
  local lease_limit = ctx.lease_limit
  local lifetime = lease_limit and lease_limit.live > 0 and lease_limit.lease_end(lease_limit.live) - now + LATE_RELEASE or 0
  if not lease_limit then
    -- Leases of another policy may need them for longer.
    lifetime = max(call('PTTL', records_key) - 10000, 0) * 1000
  end
  return expiry(max(lifetime, ctx.tickets > 0 and ctx.queued_until - now or 0))
end

local function write_ticket(ticket)
  call('HSET', records_key, ticket.id, format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f %s %s', ticket.number, ticket.units_before,
    ticket.units, ticket.queued_at, ticket.next_check, ticket.expires_at, ticket.claim_timeout, ticket.tags,
    ticket.channel))
  ctx.queued_until, ctx.queue_changed = max(ctx.queued_until, ticket.expires_at), true
end

local function remove_ticket(ticket)
  call('ZREM', queue_key, ticket.id)
  call('HDEL', records_key, ticket.id)
  ctx.tickets, ctx.queue_changed, ctx.removed = ctx.tickets - 1, true, ctx.removed + 1
  ctx.queued_units = ctx.tickets > 0 and max(ctx.queued_units - ticket.units, 0) or 0
end

-- The ticket at a position, nil behind the end of the queue. One that has expired, or that has become too large for a
-- limit, is removed unless it is the caller's, and the next takes its position. Each call removes a bounded number; the
-- following calls continue.
local function ticket_at(position)
  while true do
    local name = call('ZRANGE', queue_key, position, position)[1]
    local ticket = name and read_ticket(name)
    local stays = ticket and (name == id or ticket.expires_at > now and not limit_exceeded_by(ticket.units, (tags_of(ticket))))
    if not name or ticket and (stays or ctx.removed >= MAX_EXPIRED) then
      return ticket
    end
    remove_ticket(ticket or {id = name, units = 0})
    add_statistic('lapsed', 1)
  end
end

-- The tickets before a position that have a limit in common with this call, their units, and the first time at which one of
-- them may expire.
local function load_ahead(position)
  local checked, ahead, units_ahead, first_expiry = 0, 0, 0, MAX
  while checked < position and checked < MAX_CHECKED_TICKETS do
    local tickets = ctx.tickets
    local ticket = ticket_at(checked)
    position = position - (tickets - ctx.tickets)
    if not ticket or checked >= position then
      return ahead, units_ahead, first_expiry
    end
    checked = checked + 1
    local _, is_shared = tags_of(ticket)
    if is_shared then
      ahead, units_ahead, first_expiry = ahead + 1, units_ahead + ticket.units, min(first_expiry, ticket.expires_at)
    end
  end
  local unchecked = max(position - checked, 0)
  return ahead + unchecked, units_ahead + unchecked, first_expiry
end

-- Notifies every ticket that can be granted, and the next one of the time at which it can be. The caller's own ticket
-- needs no message. The call changes nothing for tickets that have no limit in common with it, unless it ends a pause.
local function advance_queue()
  local NOTIFY_SLACK = 1000
  local checked, ahead, units_ahead, first_expiry = 0, 0, 0, MAX
  while ctx.tickets > 0 and checked < MAX_CHECKED_TICKETS and ctx.removed < MAX_EXPIRED do
    local ticket = ticket_at(checked)
    if not ticket then
      return
    end
    local tags, is_shared = tags_of(ticket)
    if is_shared or verb == 'control' then
      local _, wait = evaluate(ahead, units_ahead, ticket.units, 0, nil, tags)
      local check = wait == 0 and now or min(now + wait, first_expiry)
      local is_present = true
      if ticket.id ~= id and ticket.channel ~= '' and ticket.next_check > check + (wait == 0 and 0 or NOTIFY_SLACK) then
        -- PUBLISH fails for a user without that right: then tickets are not notified and call by themselves.
        local receivers = attempt('PUBLISH', ticket.channel, format('%.0f %s', check - now, ticket.id))
        if receivers == 0 then
          is_present = false
          remove_ticket(ticket)
        elseif type(receivers) == 'number' then
          ticket.next_check, ticket.expires_at = check, check + ticket.claim_timeout
          write_ticket(ticket)
        end
      end
      if verb == 'control' and ticket.channel == '' and ticket.next_check > check + NOTIFY_SLACK then
        -- It cannot be notified that a pause has ended, and must not block the others until the pause was to end.
        ticket.next_check, ticket.expires_at = check, check + ticket.claim_timeout
        write_ticket(ticket)
      end
      if wait > 0 and is_present then
        return
      end
      if is_present and is_shared then
        ahead, units_ahead = ahead + 1, units_ahead + ticket.units
        first_expiry = ticket.id == id and first_expiry or min(first_expiry, ticket.expires_at)
      end
      checked = is_present and checked + 1 or checked
    else
      checked = checked + 1
    end
  end
end
