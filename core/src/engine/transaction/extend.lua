-- More units for an open permit, and how a permit is found of which the caller has an older id. Twin of extend.rs.
--
-- A permit's id has its charge. An extension puts the greater charge into the member of the permit, and into a hash by the id
-- without the charge: "charge deadline". Its ids of before the extension find it there. Beside it, under the same field and a "+",
-- are the last extensions, newest first: "time:units time:units deadline". A correction changes the last reservation first.
--
-- REQUIRES: DAMAGED call format max min limit_count verb_at verb id now overrides unpack ctx handlers key_count evaluate
-- REQUIRES: own_units limit_exceeded_by add_statistic expiry write_state append_to_logs keep_skew permits_key own_tags
-- REQUIRES: advance_queue PERMIT_TIMEOUT to_text adopt_levels
-- PROVIDES: SETTLED_MEMORY numbers_of find_permit

local SETTLED_MEMORY = 60000000
local numbers_of, find_permit

if verb == 'extend' or verb == 'correct' or verb == 'learn' then
  function numbers_of(list)
    local numbers = {}
    for number in string.gmatch(list, '%d+') do
      numbers[#numbers + 1] = number + 0
    end
    return numbers
  end

  -- The member of the caller's permit, what it has charged of each limit of this call, its status as of a correction (3 open)
  -- and its deadline.
  function find_permit()
    local granted_at, charged = ARGV[verb_at + 4] + 0, numbers_of(ARGV[verb_at + 5])
    local tags, order = own_tags()
    local permit = tags .. '|' .. (id or '')
    local mark = tonumber(call('ZSCORE', permits_key, permit) or nil)
    for i = 1, limit_count do
      charged[i] = charged[i] or charged[1]
    end
    if not mark then
      local base = string.match(permit, '^(.*):[%d,]+$')
      local charge = base and string.match(call('HGET', KEYS[key_count + 4], base) or '', '^([%d,]+) %d+$')
      if charge then
        permit = base .. ':' .. charge
        mark = tonumber(call('ZSCORE', permits_key, permit) or nil)
        local sums = numbers_of(charge)
        for place, i in ipairs(order) do
          charged[i] = sums[place] or sums[1]
        end
      end
    end
    local is_settled = mark and mark % 2 == 1
    local deadline = mark and (is_settled and mark - 1 or mark) / 2
    if mark and now < deadline then
      return permit, charged, is_settled and 4 or 3, deadline
    end
    -- The time of every permit is at least this long. A younger one was forgotten or settled, or is of another policy.
    return permit, charged, now >= granted_at + PERMIT_TIMEOUT and 5 or 6
  end

  -- What a permit has reserved of each limit, the last first: the time, and the units. Those without the time of an extension
  -- are of the grant.
  function ctx.reservations_of(permit, charged, granted_at)
    local reservations, last_at, _, order = {}, granted_at, own_tags()
    local base = string.match(permit, '^(.*):[%d,]+$')
    local extensions = base and call('HGET', KEYS[key_count + 4], base .. '+') or ''
    for i = 1, limit_count do
      reservations[i] = {}
    end
    local rest = {unpack(charged)}
    for at, list in string.gmatch(extensions, '(%d+):([%d,]+)') do
      local numbers = numbers_of(list)
      at = min(at + 0, now)
      last_at = max(last_at, at)
      for place, i in ipairs(order) do
        local of_limit = min(numbers[place] or numbers[1], rest[i])
        rest[i] = rest[i] - of_limit
        reservations[i][#reservations[i] + 1] = {at, of_limit}
      end
    end
    for i = 1, limit_count do
      reservations[i][#reservations[i] + 1] = {granted_at, rest[i]}
    end
    return reservations, last_at
  end
end

if verb == 'extend' then
  local MAX_EXTENSIONS = 32
  local extensions_key = KEYS[key_count + 4]

  -- Remembers the charge of a permit and its extensions until its deadline, and forgets some of those whose deadline has passed.
  local function keep_extension(base, charge, units, deadline)
    local extensions, count = format('%.0f:%s', now, units), 1
    for extension in string.gmatch(call('HGET', extensions_key, base .. '+') or '', '%d+:[%d,]+') do
      if count < MAX_EXTENSIONS then
        extensions, count = extensions .. ' ' .. extension, count + 1
      end
    end
    call('HSET', extensions_key, base, charge .. ' ' .. to_text(deadline), base .. '+', extensions .. ' ' .. to_text(deadline))
    call('PEXPIRE', extensions_key, to_text(max(call('PTTL', extensions_key), expiry(deadline - now) + 0)))
    -- The cursor of the walk is kept beside the permits, none of which has the empty name. Each extension adds two at most and
    -- looks at ten, so that those which have lapsed are few.
    local page = call('HSCAN', extensions_key, call('HGET', extensions_key, '') or '0', 'COUNT', 10)
    for i = 1, #page[2], 2 do
      local ends = tonumber(string.match(page[2][i + 1], ' (%d+)$') or nil)
      if ends and ends <= now then
        call('HDEL', extensions_key, page[2][i])
      end
    end
    call('HSET', extensions_key, '', page[1])
  end

  function handlers.extend()
    -- Read before the first write, which a value of another type would follow.
    call('HLEN', extensions_key)
    local granted = numbers_of(ARGV[verb_at + 5])
    local permit, charged, status, deadline = find_permit()
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    elseif status ~= 3 then
      return {status}
    end
    local _, order = own_tags()
    -- What the caller's id says and the units make the sum. What an extension with a lost reply has reserved is part of it.
    local taken, most = {}, 0
    for i = 1, limit_count do
      local kind = ctx.limits[i].kind
      local units = (kind == 't' or kind == 'c') and 0 or max((granted[i] or granted[1]) + own_units[i] - charged[i], 0)
      taken[i], charged[i], most = units, charged[i] + units, max(most, units)
    end
    -- A repeated extension only looks.
    taken.looks = most == 0
    local exceeded = limit_exceeded_by(taken, 'own')
    if exceeded then
      return {5, exceeded - 1, ctx.limits[exceeded].a, 0, 0, now, '0'}
    end
    local index, wait, remaining, reset = evaluate(taken, nil, taken)
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    local sums, units, is_one, refuses = {}, {}, true, most > 0 and wait > 0
    for place, i in ipairs(order) do
      units[place] = to_text(taken[i])
      sums[place] = to_text(refuses and taken[i] or charged[i])
      is_one = is_one and sums[place] == sums[1]
    end
    local charge = is_one and sums[1] or table.concat(sums, ',')
    if most == 0 then
      -- Nothing is taken, whatever holds up other calls.
      keep_skew()
      wait = 0
    elseif wait > 0 then
      keep_skew()
    else
      local base, lifetime = string.match(permit, '^(.*):[%d,]+$'), ctx.longest_reset
      call('ZADD', permits_key, to_text(deadline * 2), base .. ':' .. charge)
      call('ZREM', permits_key, permit)
      keep_extension(base, charge, table.concat(units, ','), deadline)
      add_statistic('u', most)
      append_to_logs(taken)
      adopt_levels()
      if ctx.tickets > 0 then
        advance_queue()
      end
      write_state(lifetime)
    end
    local is_overridden = overrides and overrides.own
    return {
      wait == 0 and 1 or 0, index, remaining, wait, reset, now, charge,
      is_overridden and (index < limit_count and ctx.limits[index + 1].a or 0),
    }
  end
end
