-- What comes back: the actual cost of a permit, and what the upstream's response says of its budget. Twin of
-- transaction/upstream.rs.
--
-- REQUIRES: push MAX DAMAGED call format find min max limit_count quotas verb_at verb units now overrides limit_list
-- REQUIRES: encode_overrides TOO_MANY_LABELS unpack ctx handlers evaluate own_units add_statistic expiry write_state
-- REQUIRES: permits_key units_of advance_queue PERMIT_TIMEOUT to_text adopt_levels
-- REQUIRES: SETTLED_MEMORY numbers_of find_permit correct_log to_time ensure_overrides set_limit has_too_many_labels apply_overrides
-- PROVIDES: nothing

if verb == 'learn' or verb == 'correct' then
  -- A correction has no response to learn from.
  function handlers.learn()
    local MAX_OPEN = 250
    -- How far the end of an upstream's interval must be from ours to be another one: upstreams give it in whole seconds.
    local SAME_END = 2000000
    local limits = ctx.limits
    local granted_at, corrections, change = ARGV[verb_at + 4] + 0, {}, 0
    local settles = verb == 'correct' or ARGV[verb_at + 7] == '1'
    local permit, charged, deadline
    local status = 3
    if settles then
      permit, charged, status, deadline = find_permit()
    end
    local corrects = settles and status == 3
    if corrects then
      local changes, reservations, last_at = {}, ctx.reservations_of(permit, charged, granted_at)
      for i = 1, limit_count do
        local limit, kind = limits[i], limits[i].kind
        changes[i] = own_units[i] - charged[i]
        if kind == 'b' or kind == 'q' then
          -- Units of an earlier interval are not given back.
          local start, given_back = kind == 'q' and quotas[limit.tag][1] or now - (now + limit.c) % limit.b, 0
          for _, reservation in ipairs(reservations[i]) do
            given_back = given_back + (reservation[1] >= start and reservation[2] or 0)
          end
          changes[i] = max(changes[i], -given_back)
        end
        if string.sub(ARGV[verb_at + 6], i, i) == '1' then
          -- What has drained since is not given back, but more than a debt may be was not taken. The products are floats, which
          -- do not wrap round in Lua 5.4, and exact where the difference counts. Twin of `undrained` in leaky.rs.
          local drained, taken = max(now - granted_at, 0) * 1.0 * limit.b, min(charged[i], ctx.most_of(limit))
          changes[i] = max(changes[i], drained >= taken * 1.0 * limit.c and 0 or math.ceil(drained / limit.c) - taken)
        end
      end
      change = units - max(unpack(charged))
      evaluate(nil, nil, changes, last_at)
      -- A log is changed beside the entries of the grant; all that must be read for it is read first.
      for i = 1, limit_count do
        local limit = limits[i]
        if limit.kind == 'w' then
          local change, room = changes[i], max(ctx.most_of(limit) - limit.new_level, 0)
          corrections[i] = {}
          for _, reservation in ipairs(reservations[i]) do
            local at, part = reservation[1], change > 0 and min(change, room) or max(change, -reservation[2])
            change = change > 0 and 0 or change - part
            local correction = at + limit.b > now and correct_log(limit, at, part)
            if correction then
              table.insert(corrections[i], {at, part, correction})
            end
          end
        end
      end
    end

    -- A report on the budget counts unless a later call has brought a later one.
    local reported_at = granted_at > 0 and min(granted_at, now) or now
    local has_report, pause, in_flight, may_raise = false, '', {}, granted_at > 0
    -- What the report, and what it says of each limit, has changed: the flags and marks of engine/budget.rs.
    local is_open, flags, marks = false, 0, {}
    for i = 1, verb == 'learn' and limit_count or 0 do
      marks[i] = 0
    end
    if verb == 'learn' then
      pause = ARGV[verb_at + 8]
      for i = verb_at + 9, verb_at + 8 + 3 * limit_count do
        has_report = has_report or ARGV[i] ~= ''
      end
      if has_report and (reported_at < overrides.reported_at or now >= reported_at + PERMIT_TIMEOUT) then
        has_report, flags = false, 4
      end
    end
    if has_report then
      -- The upstream has perhaps not seen the open calls, nor those settled since this one: they may have arrived after it.
      -- From here on are those, and what is open for less than four minutes.
      local seen_from = to_text((reported_at + SETTLED_MEMORY) * 2)
      local open = call('ZRANGEBYSCORE', permits_key, seen_from, '+inf', 'WITHSCORES', 'LIMIT', 0, MAX_OPEN)
      local unread = call('ZCOUNT', permits_key, seen_from, '+inf') - math.floor(#open / 2)
      for i = 1, limit_count do
        may_raise, in_flight[i] = may_raise or limits[i].kind == 'p', 0
      end
      is_open = unread > 0
      for i = 1, #open, 2 do
        -- Units of limits that this report is not about do not count.
        local tags, charge = string.match(open[i], '^([^|]*)|.*:([%d,]+)$')
        local charges, by_tag, place = numbers_of(charge or '0'), {}, 0
        for open_tag in string.gmatch(tags or '', '[^,]+') do
          place = place + 1
          by_tag[open_tag] = charges[place] or charges[1]
        end
        local open_units, is_shared = units_of({units = by_tag})
        -- Of what another program wrote, nothing is known.
        is_shared = is_shared or not tags or tags == ''
        -- The upstream has seen what is open for four minutes, however long it stays open.
        local open_since = (string.match(open[i], '^.*:(%d+):[%d,]+$') or reported_at) + 0
        is_shared = is_shared and (open[i + 1] % 2 == 1 or open_since + PERMIT_TIMEOUT >= reported_at + SETTLED_MEMORY)
        if is_shared and open[i] ~= permit then
          is_open = true
          for j = 1, open[i + 1] % 2 == 0 and limit_count or 0 do
            in_flight[j] = in_flight[j] + (open_units[j] or 0)
          end
        end
      end
      if unread > 0 then
        -- The others are assumed to have charged what these did on average.
        for i = 1, limit_count do
          in_flight[i] = in_flight[i] + unread * min(math.ceil(in_flight[i] / MAX_OPEN), math.floor(MAX / unread))
        end
      end
      may_raise, flags = may_raise and not is_open, is_open and 8 or 0
    end
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    if has_report then
      local new = 0
      for i = 1, limit_count do
        local tag = limits[i].tag
        new = new + (overrides.own and (overrides.overridden[tag] or overrides.learned[tag]) and 0 or 1)
      end
      if has_too_many_labels(new) then
        return redis.error_reply(TOO_MANY_LABELS)
      end
    end

    if corrects then
      call('ZADD', permits_key, to_text(min(now + SETTLED_MEMORY, deadline) * 2 + 1), permit)
      for i = 1, limit_count do
        local limit = limits[i]
        for place, correction in ipairs(corrections[i] or {}) do
          -- The one before has moved what was read for this one.
          local apply = place == 1 and correction[3] or correct_log(limit, correction[1], correction[2])
          local length = limit.length
          if apply then
            apply()
          end
          limit.length = call('LLEN', limit.key)
          limit.new_level = limit.new_level - max(length - limit.length, 0)
          call('PEXPIRE', limit.key, expiry(limit.b))
        end
      end
      add_statistic('corrections', 1)
      add_statistic('u', change)
      add_statistic('corrected', change)
      adopt_levels()
    end
    if pause ~= '' or has_report then
      -- What was taken stays taken when the interval ends at another time from now on.
      evaluate()
      adopt_levels()
      ensure_overrides()
      local learned, paused_until = overrides.learned, overrides.paused_until
      local learned_before, is_past = limit_list(learned), {}
      if pause ~= '' then
        overrides.paused_until = max(paused_until, to_time(pause))
        flags = flags + (overrides.paused_until > paused_until and 1 or 2)
      end
      if has_report then
        overrides.reported_at = reported_at
        for i = 1, limit_count do
          local kind, tag = limits[i].kind, limits[i].tag
          local own = overrides.own[tag]
          if kind == 'q' then
            -- The amount alone is learned.
            own = string.match(own, '^%d+') .. '/1/0'
          end
          local numbers, reset = ARGV[verb_at + 7 + 3 * i], ARGV[verb_at + 8 + 3 * i]
          local _, _, a, b, c = find(learned[tag] or own, '^(%d+)/(%d+)/(%d+)$')
          local a_before, b_before, c_before = a, b, c
          if numbers ~= '' then
            local offset = c
            _, _, a, b, c = find(numbers, '^(%d+)/(%d+)/(%d+)$')
            c = kind == 'b' and offset - b < 0 and offset or c
          end
          if reset ~= '' and kind == 'b' then
            local reset_at = to_time(reset)
            local offset = (b - reset_at % b) % b
            local shift = math.abs(offset - c)
            local is_same = min(shift, b - shift) <= SAME_END
            -- A response about the interval before says nothing of this one.
            is_past[i] = reset_at <= now or is_same and reset_at + SAME_END < now + b - (now + c) % b
            c = (is_same or reset_at <= now) and c or to_text(offset)
            if is_past[i] and reset_at > now and reset_at > overrides.paused_until then
              overrides.paused_until = reset_at
              flags = flags - flags % 2 + 1
            end
          end
          local mark, interval, interval_before = 0, b, b_before
          if kind == 'l' or kind == 'p' then
            interval, interval_before = math.floor(a * c / b), math.floor(a_before * c_before / b_before)
          end
          if a - a_before ~= 0 then
            mark = 1
          end
          if interval - interval_before ~= 0 or kind == 't' and c - c_before ~= 0 then
            mark = mark + 2
          end
          if kind == 'b' and c - c_before ~= 0 then
            mark = mark + 4
          end
          if is_past[i] and ARGV[verb_at + 6 + 3 * i] ~= '' then
            mark = mark + 32
          end
          marks[i] = mark
          local text = format('%s/%s/%s', a, b, c)
          set_limit(learned, tag, (learned[tag] or text ~= own) and text or nil)
        end
      end
      if pause ~= '' or overrides.paused_until ~= paused_until or limit_list(learned) ~= learned_before then
        apply_overrides()
      end
      -- Levels under the new limits first, then what the upstream says of them.
      evaluate()
      adopt_levels()
      for i = 1, limit_count do
        local limit = limits[i]
        local kind, remaining = limit.kind, has_report and not is_past[i] and ARGV[verb_at + 6 + 3 * i] or ''
        if remaining ~= '' and kind ~= 't' and kind ~= 'c' then
          local taken = limit.a - min(max(remaining - in_flight[i], 0), limit.a)
          if kind == 'w' then
            local live, missing = limit.new_level, taken - limit.new_level
            if missing < 0 then
              marks[i] = marks[i] + 16
            elseif missing > 0 then
              marks[i] = marks[i] + 8
              push(limit.key, to_text(now), missing)
              call('LTRIM', limit.key, 0, live + missing - 1)
              call('PEXPIRE', limit.key, expiry(limit.b))
              limit.length = live + missing
            end
          else
            local scale = (kind == 'b' or kind == 'q') and 1 or limit.c
            local level = taken * scale
            if level < limit.level and not may_raise then
              marks[i] = marks[i] + 16
            else
              -- A part of a unit is no change.
              marks[i] = marks[i] + ((level < limit.level or level - limit.level >= scale) and 8 or 0)
              limit.level = level
            end
          end
        end
      end
      evaluate()
      adopt_levels()
      encode_overrides()
    end
    if corrects or pause ~= '' or has_report then
      local lifetime = ctx.longest_reset
      advance_queue()
      write_state(lifetime)
    end
    if verb == 'learn' then
      table.insert(marks, 1, flags)
      table.insert(marks, 1, status)
      return marks
    end
    return {status}
  end

  handlers.correct = handlers.learn
end
