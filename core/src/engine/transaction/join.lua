-- Joins the queue: which ticket a call gets. Twin of join.rs.
--
-- Without shares a ticket gets the next number, and the queue is first come, first served within a priority. From the first
-- ticket of a share on, until the queue is empty, the tickets of that priority are ordered by fair queueing: the number of
-- a ticket is that after which its share goes on, plus the units of the call * SCALE / weight. A share without tickets goes on
-- after the number of the last ticket that was granted, which ctx.queued['v' .. priority] keeps, so that it gets no more for
-- the time in which it had none. ctx.queued.r says that the queue is not in the order of arrival. The last tickets that came
-- before the first of a share are counted then, as tickets without a share.
--
-- REQUIRES: MAX call format find min max limit_count verb_at verb units id now ctx own_units load_list to_text
-- REQUIRES: queue_key records_key SHARE read_ticket own_tags add_loads write_ticket leave_share
-- PROVIDES: LEVEL tickets_before count_turn join_queue rise

-- Numbers are below this, which leaves room for ten priorities in the score.
local LEVEL = 562949953421312
local tickets_before, count_turn, join_queue, rise

if verb == 'acquire' then
  local SCALE, TIES, COUNTED, HIGHEST = 131072, 127, 250, 9
  local priority, weight, share = (ARGV[verb_at + 12] or 0) + 0, (ARGV[verb_at + 13] or 1) + 0, ARGV[verb_at + 14] or ''
  local level, share_field = format('v%.0f', priority), format('%s%.0f%s', SHARE, priority, share)

  -- The last number, and the units of all tickets since the queue was empty.
  local function read_counter()
    local _, _, counter, loads = find(call('HGET', records_key, '') or '0 ', '^(%d+) (%S*)$')
    local is_list = loads and string.gsub(loads ~= '' and loads .. ',' or '', '%l[^=,]*=%d+,', '') == ''
    if not is_list or counter - MAX > 0 then
      ctx.damaged = true
      return 0, ''
    end
    -- Fair queueing uses up many numbers.
    return ctx.tickets == 0 and counter - LEVEL / 2 > 0 and 0 or counter + 0, loads
  end

  -- The last number of a share and its tickets in the queue.
  local function read_share(field)
    local number, tickets = string.match(call('HGET', records_key, field) or '', '^(%d+) (%d+)$')
    return min((number or 0) + 0, LEVEL), min((tickets or 0) + 0, MAX)
  end

  -- How far a call takes its share.
  local function step_of(taken, by_weight)
    local scaled = min(max(taken, 1), LEVEL / SCALE / 4) * SCALE + math.floor(by_weight / 2)
    return math.floor((scaled - scaled % by_weight) / by_weight)
  end

  -- The number without the lowest digits, which are for ties.
  local function without_tie(number)
    return number - number % (TIES + 1)
  end

  -- The number that a new ticket of this call gets, and the number after which its share goes on.
  local function next_number()
    local last_granted = ctx.queued[level]
    if share == '' and not last_granted then
      local number = read_counter() + 1
      return number, number
    end
    local begin = max(last_granted or max(read_counter(), 1), (read_share(share_field)))
    local number = min(begin + step_of(units, weight), LEVEL)
    -- Of tickets with one number the first to come is the first.
    local first = without_tie(number)
    local score = first - priority * LEVEL
    local tie = call('ZRANGE', queue_key, to_text(score + TIES), to_text(score), 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')[2]
    return first + (tie and min(tie + 1 - score, TIES) or 0), number
  end

  -- The tickets before a new one of this call, which comes back with the number that it had, or has none; and its number, if
  -- the queue is not in the order of arrival.
  function tickets_before(requested)
    if requested then
      return call('ZCOUNT', queue_key, '-inf', to_text(min(requested, LEVEL - 1) - priority * LEVEL))
    elseif priority == 0 and share == '' and not ctx.queued.r then
      return ctx.tickets
    end
    local number = next_number()
    return call('ZCOUNT', queue_key, '-inf', '(' .. to_text(number - priority * LEVEL)), number
  end

  -- Notes the number of a call that is granted while others wait.
  function count_turn(ticket)
    local of_ticket = ticket and format('v%.0f', ticket.priority) or level
    local last = ctx.queued[of_ticket]
    if last then
      local number, of_share = nil, nil
      if ticket then
        number, of_share = without_tie(ticket.number), read_share(format('%s%.0f%s', SHARE, ticket.priority, ticket.share or ''))
        -- The share knows the lowest digits of its last ticket.
        number = without_tie(of_share) == number and of_share or number
      else
        of_share, number = next_number()
      end
      -- A tie may be granted in another order, in which its shares lose nothing.
      local is_tie = without_tie(last) == without_tie(number)
      ctx.queued[of_ticket], ctx.queued_text = is_tie and number or max(last, number), nil
    end
  end

  -- Counts the tickets that came before the first ticket of a share as tickets without a share. Returns the last number.
  local function count_earlier(counter)
    local names = call('ZRANGE', queue_key, '(' .. to_text((1 - priority) * LEVEL), to_text(-priority * LEVEL), 'BYSCORE',
      'REV', 'LIMIT', 0, COUNTED)
    local number = max(counter, 1)
    for i = #names, 1, -1 do
      local ticket, most = read_ticket(names[i]), 1
      for _, taken in pairs(ticket and ticket.units or {}) do
        most = max(most, taken)
      end
      number = min(number + step_of(most, 1), LEVEL)
      if ticket then
        ticket.number, ticket.share = without_tie(number), ''
        write_ticket(ticket)
        call('ZADD', queue_key, to_text(ticket.number - priority * LEVEL), ticket.id)
      end
    end
    if #names > 0 then
      call('HSET', records_key, format('%s%.0f', SHARE, priority), format('%.0f %.0f', number, #names))
    end
    return number
  end

  -- Gives a new ticket its number. Returns the last number.
  local function take_place(own, requested, counter)
    if share ~= '' and not ctx.queued[level] then
      ctx.queued[level], counter = max(counter, 1), count_earlier(counter)
    end
    local number, share_number = requested, requested
    if not requested then
      number, share_number = next_number()
    end
    own.number, own.priority, own.queued_at = number, priority, now
    if ctx.queued[level] then
      local last, tickets = read_share(share_field)
      call('HSET', records_key, share_field, format('%.0f %.0f', max(last, share_number), tickets + 1))
      own.share = share
    end
    if own.share or priority > 0 then
      ctx.queued.r = 1
    end
    return max(counter, own.number)
  end

  -- Moves a ticket up by one priority for each `aging` that it has waited, to the end of that priority.
  function rise(ticket)
    local aging = tonumber(ARGV[verb_at + 15])
    local risen = aging and min(priority + math.floor((now - ticket.queued_at) / aging), HIGHEST) or 0
    if risen <= ticket.priority or ticket.is_suspended then
      return
    end
    local counter, loads = read_counter()
    if ctx.damaged then
      return
    end
    local left, left_share, queued_at = ticket.priority, ticket.share, ticket.queued_at
    priority, share = risen, left_share or ''
    level, share_field = format('v%.0f', priority), format('%s%.0f%s', SHARE, priority, share)
    ticket.share = nil
    counter = take_place(ticket, nil, counter)
    ticket.queued_at = queued_at
    call('HSET', records_key, '', format('%.0f ', counter) .. loads)
    call('ZADD', queue_key, to_text(ticket.number - ticket.priority * LEVEL), id)
    if left_share then
      leave_share(left, left_share)
    end
    ctx.queued_text = nil
    write_ticket(ticket)
  end

  -- The ticket of this call: a new one, which comes back with the number that it had, or has none, or that of the call before,
  -- which may have had other limits or another cost.
  function join_queue(ticket, requested)
    local tags, order = own_tags()
    local is_same = ticket and ticket.tags == tags
    for i = 1, is_same and limit_count or 0 do
      is_same = is_same and ticket.units[ctx.limits[i].record_tag] == own_units[i]
    end
    if is_same then
      return ticket
    end
    local counter, loads = read_counter()
    local totals = {}
    for tag, load in string.gmatch(ctx.tickets > 0 and loads or '', '([^=,]+)=(%d+)') do
      totals[tag] = min(load + 0, MAX)
    end
    requested = requested and requested <= counter and requested or nil
    local other = ticket or requested and ctx.tickets > 0 and read_ticket(call('ZRANGE', queue_key, 0, 0)[1])
    if ctx.damaged then
      return nil
    end
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
      own.number, own.priority, own.share, own.queued_at = ticket.number, ticket.priority, ticket.share, ticket.queued_at
    else
      counter = take_place(own, requested, counter)
      if ctx.damaged then
        return nil
      end
      add_loads(totals, own, 1)
      call('HSET', records_key, '', format('%.0f ', counter) .. load_list(totals))
      call('ZADD', queue_key, to_text(own.number - own.priority * LEVEL), id)
      ctx.tickets = ctx.tickets + 1
    end
    add_loads(ctx.queued, own, 1)
    return own
  end
end
