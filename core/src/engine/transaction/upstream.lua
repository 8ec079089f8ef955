-- What comes back: the actual cost of a permit, what upstream says of its budget, and orders. Twin of learn.rs.

-- How far the end of an upstream's interval must lie from ours to be another one: upstreams say it in whole seconds.
local SAME_END, MAX_OPEN, MAX_MOVED = 2000000, 250, 1000

local function moment(word)
  return min(string.sub(word, 1, 1) == '@' and string.sub(word, 2) + 0 or now + word, MAX)
end

-- The first order finds nothing written.
local function begin_orders()
  if not own then
    own, told, learned = {}, {}, {}
    for i = 1, n do
      own[i], told[i], learned[i] = format('%s/%s/%s', ARGV[4 * i - 1], ARGV[4 * i], ARGV[4 * i + 1]), '-', '-'
    end
  end
end

-- Puts the numbers that rule now in the place of the call's own.
local function obey()
  version = max(version + 1, now)
  for i = 1, n do
    local a, b, c = ruling(i, limits[i].kind)
    ARGV[4 * i - 1], ARGV[4 * i], ARGV[4 * i + 1] = a, b, c
    limits[i].a, limits[i].b, limits[i].c = a + 0, b + 0, c + 0
    if limits[i].kind == 'w' and call('PTTL', limits[i].key) < limits[i].b / 1000 + 10000 then
      call('PEXPIRE', limits[i].key, expiry(limits[i].b))
    end
  end
end

if verb == 'control' then
  local halt, term, changes = ARGV[base + 4], ARGV[base + 5], ARGV[base + 6]
  if damaged then
    return redis.error_reply(DAMAGED)
  end
  -- The call's own changes shall not count as a use.
  local fields = raw and 1 or attempt('HLEN', KEYS[2])
  local in_use = type(fields) == 'number' and min(fields, 1) or 0
  begin_orders()
  if halt ~= '' or changes ~= '' then
    -- What drained until now did so by the numbers that ruled.
    decide(0, 0, nil, 0)
    settle()
    if halt == '0' then
      pause = 0
    elseif halt ~= '' then
      pause = max(pause, moment(halt))
    end
    if changes ~= '' then
      if find(changes, '%d') then
        told_until = term == '' and MAX or moment(term)
      end
      local i = 0
      for numbers in string.gmatch(changes, '[^,]+') do
        i = i + 1
        if numbers ~= '=' or told_until <= now then
          told[i] = told_until > now and numbers or '-'
        end
      end
    end
    obey()
    decide(0, 0, nil, 0)
    settle()
    local longest = ends
    orders_life = compose()
    advance()
    if damaged then
      return redis.error_reply(DAMAGED)
    end
    write(longest)
  end
  orders_life = compose()
  local holds = table.concat(told, ',')
  local lasts = find(holds, '%d') and told_until < MAX and told_until - now or 0
  return {orders == '' and 0 or version, max(pause - now, 0), lasts, holds, table.concat(learned, ','), in_use}
end

if verb == 'correct' or verb == 'learn' then
  -- How many entries of a log are newer than a time.
  local function newer(limit, time)
    local low, high = 0, limit.length
    while low < high do
      local middle = math.floor((low + high) / 2)
      if limit.at(middle) > time then
        low = middle + 1
      else
        high = middle
      end
    end
    return low
  end

  -- Puts entries, newest first, before the others of a log.
  local function give(log, entries)
    local reversed = {}
    for i = #entries, 1, -1 do
      reversed[#reversed + 1] = entries[i]
    end
    if #entries > 0 then
      call('LPUSH', log, unpack(reversed))
    end
  end

  -- What a correction does to a log, whose live entries are counted: a function that does it when all has been read, and
  -- nothing where the log no longer holds the grant. Only so many entries are moved. Twin of `correct` in window.rs.
  local function edit(limit, time, change)
    local log, first = limit.key, newer(limit, time)
    local run = newer(limit, time - 1) - first
    if run == 0 or change == 0 then
      return nil
    elseif change > 0 then
      -- Behind so many newer entries it is charged as if it had come with the oldest of those.
      local place = min(first, MAX_MOVED)
      local entry, moved = text(limit.at(place)), place > 0 and call('LRANGE', log, 0, place - 1) or {}
      return function()
        call('LTRIM', log, place, -1)
        push(log, entry, change)
        give(log, moved)
      end
    end
    local count = min(-change, run)
    local older = limit.length - first - run
    if first <= MAX_MOVED then
      local moved = first > 0 and call('LRANGE', log, 0, first - 1) or {}
      return function()
        call('LTRIM', log, first + count, -1)
        give(log, moved)
      end
    elseif older <= MAX_MOVED then
      local moved = older > 0 and call('LRANGE', log, -older, -1) or {}
      return function()
        call('LTRIM', log, 0, first + run - count - 1)
        if older > 0 then
          call('RPUSH', log, unpack(moved))
        end
      end
    elseif count <= MAX_MOVED then
      return function()
        call('LREM', log, first < older and count or -count, text(time))
      end
    end
    -- Many in the midst of many: the oldest go in their place, so that nothing comes back too early.
    return function()
      call('LTRIM', log, 0, limit.new - count - 1)
    end
  end

  local granted_at, charged = ARGV[base + 4] + 0, ARGV[base + 5] + 0
  local settles = verb == 'correct' or ARGV[base + 6] == '1'
  local status, edits = 3, {}
  if settles then
    local mark = tonumber(call('ZSCORE', permits, id) or nil)
    if now >= granted_at + PERMIT_TIMEOUT then
      status = 5
    elseif not mark then
      status = 6
    elseif mark % 2 == 1 then
      status = now < (mark - 1) / 2 and 4 or 6
    end
  end
  local corrects = settles and status == 3
  if corrects then
    decide(0, 0, nil, units - charged)
    -- A log is changed beside the entries of the grant; all that must be read for it is read first.
    for i = 1, n do
      local limit = limits[i]
      if limit.kind == 'w' then
        local add = min(units - charged, max(2 * limit.a - limit.new, 0))
        edits[i] = granted_at + limit.b > now and edit(limit, granted_at, add)
      end
    end
  end

  -- A report on the budget counts unless a later call has brought a later one.
  local since = granted_at > 0 and min(granted_at, now) or now
  local reports, halt, in_flight, is_known = false, '', 0, granted_at > 0
  -- What became of the report, and of what it says of each limit: the flags and marks of learned.rs.
  local is_open, flags, marks = false, 0, {}
  for i = 1, verb == 'learn' and n or 0 do
    marks[i] = 0
  end
  if verb == 'learn' then
    halt = ARGV[base + 7]
    for i = base + 8, base + 7 + 3 * n do
      reports = reports or ARGV[i] ~= ''
    end
    if reports and (since < synced or now >= since + PERMIT_TIMEOUT) then
      reports, flags = false, 4
    end
  end
  if reports then
    -- What is open was perhaps not seen by the upstream, nor what was settled since this call: it may have come there after
    -- it. From here on are those, and what is open for less than four minutes.
    local seen_from = text((since + SETTLED_MEMORY) * 2)
    local open = call('ZRANGEBYSCORE', permits, seen_from, '+inf', 'WITHSCORES', 'LIMIT', 0, MAX_OPEN)
    local more = call('ZCOUNT', permits, seen_from, '+inf') - #open / 2
    for i = 1, n do
      is_known = is_known or limits[i].kind == 'p'
    end
    is_open = more > 0
    for i = 1, #open, 2 do
      if not (settles and open[i] == id) then
        is_open = true
        -- The charge has thirteen digits at most.
        in_flight = in_flight + (open[i + 1] % 2 == 0 and string.match(open[i], ':(%d+)$', -14) or 0)
      end
    end
    if more > 0 then
      -- The others are taken to have charged what these did on average.
      in_flight = in_flight + more * min(math.ceil(in_flight / MAX_OPEN), math.floor(MAX / more))
    end
    is_known, flags = is_known and not is_open, is_open and 8 or 0
  end
  if damaged then
    return redis.error_reply(DAMAGED)
  end

  if corrects then
    call('ZADD', permits, text(min(now + SETTLED_MEMORY, granted_at + PERMIT_TIMEOUT) * 2 + 1), id)
    call('PEXPIRE', permits, PERMIT_EXPIRY)
    for i = 1, n do
      if edits[i] then
        edits[i]()
        limits[i].length = call('LLEN', limits[i].key)
        call('PEXPIRE', limits[i].key, expiry(limits[i].b))
      end
    end
    tally('corrections', 1)
    tally('units', units - charged)
    settle()
  end
  if halt ~= '' or reports then
    -- What was taken stays taken when an interval ends elsewhere from now on.
    decide(0, 0, nil, 0)
    settle()
    begin_orders()
    local before, past, halted = table.concat(learned, ','), {}, pause
    if halt ~= '' then
      pause = max(pause, moment(halt))
      flags = flags + (pause > halted and 1 or 2)
    end
    if reports then
      synced = since
      for i = 1, n do
        local numbers, reset = ARGV[base + 6 + 3 * i], ARGV[base + 7 + 3 * i]
        local _, _, a, b, c = find(learned[i] ~= '-' and learned[i] or own[i], '^(%d+)/(%d+)/(%d+)$')
        local before_a, before_b, before_c = a, b, c
        if numbers ~= '' then
          local phase = c
          _, _, a, b, c = find(numbers, '^(%d+)/(%d+)/(%d+)$')
          c = limits[i].kind == 'b' and phase - b < 0 and phase or c
        end
        if reset ~= '' and limits[i].kind == 'b' then
          local told_end = moment(reset)
          local phase = (b - told_end % b) % b
          local shift = math.abs(phase - c)
          local is_same = min(shift, b - shift) <= SAME_END
          -- An answer about the interval before says nothing of this one.
          past[i] = told_end <= now or is_same and told_end + SAME_END < now + b - (now + c) % b
          c = (is_same or told_end <= now) and c or text(phase)
          if past[i] and told_end > now and told_end > pause then
            pause = told_end
            flags = flags - flags % 2 + 1
          end
        end
        local kind, mark = limits[i].kind, 0
        local is_span = kind == 'b' or kind == 'w' or kind == 'c'
        if a - before_a ~= 0 then
          mark = 1
        end
        if (is_span and b or a * c / b) - (is_span and before_b or before_a * before_c / before_b) ~= 0 then
          mark = mark + 2
        end
        if kind == 'b' and c - before_c ~= 0 then
          mark = mark + 4
        end
        if past[i] and ARGV[base + 5 + 3 * i] ~= '' then
          mark = mark + 32
        end
        marks[i] = mark
        local new = format('%s/%s/%s', a, b, c)
        learned[i] = (learned[i] ~= '-' or new ~= own[i]) and new or '-'
      end
    end
    if halt ~= '' or pause ~= halted or table.concat(learned, ',') ~= before then
      obey()
    end
    -- Levels under the new numbers first, then what the upstream says of them.
    decide(0, 0, nil, 0)
    settle()
    for i = 1, n do
      local limit, remaining = limits[i], reports and not past[i] and ARGV[base + 5 + 3 * i] or ''
      local kind = limit.kind
      if remaining ~= '' and kind ~= 't' and kind ~= 'c' then
        local taken = limit.a - min(max(remaining - in_flight, 0), limit.a)
        if kind == 'w' then
          local live, add = limit.new, taken - limit.new
          if add < 0 then
            marks[i] = marks[i] + 16
          elseif add > 0 then
            marks[i] = marks[i] + 8
            push(limit.key, text(now), add)
            call('LTRIM', limit.key, 0, live + add - 1)
            call('PEXPIRE', limit.key, expiry(limit.b))
            limit.length = live + add
          end
        else
          local level = kind == 'b' and taken or taken * limit.c
          if level < limit.level and not is_known then
            marks[i] = marks[i] + 16
          elseif level ~= limit.level then
            marks[i] = marks[i] + 8
            limit.level = level
          end
        end
      end
    end
    decide(0, 0, nil, 0)
    settle()
    orders_life = compose()
  end
  if corrects or halt ~= '' or reports then
    local longest = ends
    advance()
    write(longest)
  end
  if verb == 'learn' then
    table.insert(marks, 1, flags)
    table.insert(marks, 1, status)
    return marks
  end
  return {status}
end
