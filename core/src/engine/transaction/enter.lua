-- What the call asks for; the contract is in redis.lua. Twin of the verbs in state.rs.

local PERMIT_TIMEOUT, PERMIT_EXPIRY, SETTLED_MEMORY, MAX_PERMITS = 300000000, 310000, 60000000, 10000
local MAX_RECLAIMED = 1000

local function text(number)
  return format('%.0f', number)
end

local function reply(status, index, remaining, wait, reset, lease, fence, number, place, ready, granted_at, charged)
  return {
    status, index, remaining, wait, reset, now, lease or 0, fence or 0, number or 0, place or 0, ready or -1,
    granted_at or 0, charged or 0, own and (index < n and limits[index + 1].a or 0),
  }
end

-- Takes the decided levels over, so that more can be decided on them.
local function settle()
  last = now
  for i = 1, n do
    local limit = limits[i]
    if limit.kind == 'c' then
      limit.live = limit.new
    elseif limit.kind ~= 'w' then
      limit.level, limit.held, limit.scale = limit.new, limit.a, limit.c
    end
  end
end

-- Writes what the state says of the queue; what was taken stays as it is.
local function write_line()
  if not raw then
    decide(0, 0, 0, 0)
    return write(ends)
  end
  local state = format('%.0f %.0f', last, skew)
  local rest = string.match(raw, '^%d+ %d+%S*(.*)')
  local longest = orders_life
  if tickets == 0 and longest == 0 then
    return call('SET', KEYS[1], state .. orders .. rest, 'KEEPTTL')
  end
  if tickets > 0 then
    state = state .. format(':%.0f:%.0f:%.0f:%.0f', tickets, tickets_units, tickets_until, now)
    longest = max(longest, tickets_until - now)
  end
  state = state .. orders
  local life = max(call('PTTL', KEYS[1]), math.ceil(longest / 1000) + 10000)
  call('SET', KEYS[1], state .. rest, 'PX', text(life))
end

-- When the lease of the caller ends, and its record; nothing when `granted_at` says that it is another's of the same id.
-- Only a late release is told of one that has made room for another: its end is below zero.
local function lease_of(granted_at)
  local lease = slots and tonumber(call('ZSCORE', slots.key, id) or nil)
  if lease and not (lease >= -2 * MAX and lease <= 2 * MAX and lease % 1 == 0) then
    damaged = true
  end
  local record = lease and call('HGET', records, LEASE .. id) or ''
  local _, _, since, fence, charged = find(record, '^(%d+) (%d+) (%d+)$')
  if not lease or lease < 0 and verb ~= 'release' or granted_at and since and since - granted_at ~= 0 then
    return nil
  end
  return lease, since, fence, charged
end

local function give_back(lease)
  call('ZREM', slots.key, id)
  call('HDEL', records, LEASE .. id)
  if lease > now then
    slots.live = slots.live - 1
  end
end

if verb == 'statistics' then
  local fields = {'granted', 'refused', 'waited', 'wait', 'units', 'corrections', 'held', 'overages', 'reclaimed', 'lapsed'}
  local stored, counts = redis.pcall('HMGET', KEYS[2], unpack(fields)), {}
  for i = 1, #fields do
    counts[i] = max(tonumber(stored[i] or nil) or 0, 0)
  end
  -- Granted units are stored as what they are above one for each grant.
  counts[5] = max((tonumber(stored[5] or nil) or 0) + counts[1], 0)
  counts[#fields + 1], counts[#fields + 2] = slots and slots.live or 0, tickets
  return counts
end

if verb == 'release' then
  local granted_at = ARGV[base + 4] + 0
  local lease = lease_of(granted_at)
  if damaged then
    return redis.error_reply(DAMAGED)
  end
  if lease then
    give_back(lease)
  end
  local late = not (lease and lease > now) and slots and now >= granted_at + slots.b
  -- An id may be old, made up, or released before: only what is known counts, and it is known once.
  if lease then
    tally('held', max(now - granted_at, 0))
  end
  if late or lease and lease <= now then
    tally('overages', lease and 1 or 0)
    return {5}
  elseif not lease then
    return {6}
  end
  advance()
  if touched then
    write_line()
  end
  return {7}
end

if verb == 'renew' then
  local lease = lease_of(ARGV[base + 4] + 0)
  if damaged then
    return redis.error_reply(DAMAGED)
  end
  if not lease or lease <= now then
    return {5, 0}
  end
  local longest = max(slots.lease(slots.live), now + slots.b) - now
  call('ZADD', slots.key, text(now + slots.b), id)
  for _, name in ipairs({slots.key, records, KEYS[1]}) do
    if call('PTTL', name) < (longest + LATE) / 1000 + 10000 then
      call('PEXPIRE', name, expiry(longest + LATE))
    end
  end
  return {9, slots.b}
end

if verb == 'cancel' then
  local ticket, lease = own_ticket(), lease_of()
  if damaged then
    return redis.error_reply(DAMAGED)
  end
  if lease then
    give_back(lease)
  end
  if ticket then
    leave(ticket)
  end
  if ARGV[base + 4] == '1' then
    tally('refused', 1)
  end
  advance()
  if touched then
    write_line()
  end
  return {(ticket or lease) and 8 or 6}
end

