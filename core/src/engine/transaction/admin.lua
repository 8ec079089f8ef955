-- Admin: sets, ends and reads overrides and pauses. Twin of `admin` in transaction/upstream.rs.
--
-- REQUIRES: MAX DAMAGED call attempt format find min max limit_count verb_at verb raw now overrides limit_list
-- REQUIRES: encode_overrides effective_limit MAX_LABELS TOO_MANY_LABELS ctx handlers evaluate expiry write_state
-- REQUIRES: advance_queue adopt_levels register_limiter
-- PROVIDES: to_time ensure_overrides set_limit has_too_many_labels apply_overrides

local to_time, ensure_overrides, set_limit, has_too_many_labels, apply_overrides

if verb == 'control' or verb == 'learn' then
  -- The time that "@time", "@time<longest span from now" or a span from now names.
  function to_time(text)
    local at, most = string.match(text, '^@(%d+)<(%d+)$')
    if at then
      -- What is over is no pause.
      return at + 0 <= now and 0 or min(at + 0, now + most)
    end
    return min(string.sub(text, 1, 1) == '@' and string.sub(text, 2) + 0 or now + text, MAX)
  end

  -- The first override of a limiter finds none stored.
  function ensure_overrides()
    if not overrides.own then
      local own = {}
      for i = 1, limit_count do
        own[ARGV[4 * i - 2]] = format('%s/%s/%s', ARGV[4 * i - 1], ARGV[4 * i], ARGV[4 * i + 1])
      end
      overrides.own, overrides.overridden, overrides.learned, overrides.tags = own, {}, {}, {}
    end
  end

  -- Overrides or learns the numbers of a tag.
  function set_limit(limits, tag, numbers)
    limits[tag] = numbers
    for _, known in ipairs(overrides.tags) do
      if known == tag then
        return
      end
    end
    table.insert(overrides.tags, tag)
  end

  -- Whether the overrides and learned limits, with `more` others, are of more labels than a name may have.
  function has_too_many_labels(more)
    local labels = more
    for _, tag in ipairs(overrides.tags) do
      labels = labels + ((overrides.overridden[tag] or overrides.learned[tag]) and 1 or 0)
    end
    return labels > MAX_LABELS
  end

  -- Replaces the limits of the call by the effective ones, as a new version.
  function apply_overrides()
    overrides.version = max(overrides.version + 1, now)
    for i = 1, limit_count do
      local limit = ctx.limits[i]
      local a, b, c = effective_limit(limit.tag)
      limit.a, limit.b, limit.c = a + 0, b + 0, c + 0
      limit.largest = overrides.largest(limit.tag, limit.own, limit.a)
      if limit.kind == 'w' and call('PTTL', limit.key) < limit.b / 1000 + 10000 then
        call('PEXPIRE', limit.key, expiry(limit.b))
      end
    end
  end
end

if verb == 'control' then
  function handlers.control()
    local KIND_NAMES =
      {b = 'bucket', w = 'window', l = 'leaky', p = 'points', t = 'throttle', c = 'concurrency', q = 'quota'}
    local pause, ends, changes = ARGV[verb_at + 4], ARGV[verb_at + 5], ARGV[verb_at + 6]
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    local is_set = find(changes, '=', 1, true)
    local argument, last = 'until', string.match(pause, '^!?@(%d+)$')
    if is_set and ends ~= '' then
      argument, last = 'expires_at', to_time(ends)
    end
    if last and last - now <= 0 then
      return redis.error_reply(format('PGPAST %s %.0f %.0f', argument, last, now))
    end
    -- Read before the call's own changes, which do not count as a use.
    local own = string.gsub(KEYS[1], ':s:', ':m:', 1) == KEYS[2]
    local fields = raw and 1 or own and attempt('HLEN', KEYS[2])
    local in_use = type(fields) == 'number' and min(fields, 1) or 0
    ensure_overrides()
    if pause ~= '' or changes ~= '' then
      -- Until now the levels drained under the former limits.
      evaluate()
      adopt_levels()
      if pause == '0' then
        overrides.paused_until, overrides.blocked_until, overrides.barred_until = 0, 0, 0
        overrides.counted_until, overrides.refusals = 0, 0
      elseif string.sub(pause, 1, 1) == '!' then
        overrides.blocked_until = max(overrides.blocked_until, to_time(string.sub(pause, 2)))
      elseif pause ~= '' then
        overrides.paused_until = max(overrides.paused_until, to_time(pause))
      end
      if changes ~= '' then
        if is_set then
          overrides.overridden_until = ends == '' and MAX or to_time(ends)
        end
        for change in string.gmatch(changes, '[^,]+') do
          local _, _, tag, numbers = find(change, '^(%l[^=]*)=(.*)$')
          if change == '-M' or find(change, '^M=') then
            overrides.mode = change ~= '-M' and string.sub(change, 3) or nil
          elseif tag then
            set_limit(overrides.overridden, tag, numbers)
          else
            local label = string.sub(change, 2)
            overrides.mode = label ~= '' and overrides.mode or nil
            for overridden in pairs(overrides.overridden) do
              if label == '' or label == (string.match(overridden, ':(.*)') or KIND_NAMES[overridden]) then
                overrides.overridden[overridden] = nil
              end
            end
          end
        end
      end
      if has_too_many_labels(0) then
        return redis.error_reply(TOO_MANY_LABELS)
      end
      apply_overrides()
      evaluate()
      adopt_levels()
      local lifetime = ctx.longest_reset
      encode_overrides()
      advance_queue()
      if ctx.damaged then
        return redis.error_reply(DAMAGED)
      end
      write_state(lifetime)
      local entry, lasts = overrides.lifetime > 0 and ARGV[verb_at + 7], max(overrides.lifetime, 10000000)
      -- At least for ten seconds, as every state is kept longer than it counts. Whose statistics outlive it is in the list anyhow.
      if entry and call('PTTL', KEYS[2]) - lasts / 1000 < 0 then
        local text = format('%.0f', lasts)
        ARGV[verb_at + 5], ARGV[verb_at + 6] = text, text .. string.match(entry, '^%d+(.*)$')
        register_limiter(now)
      end
    end
    encode_overrides()
    local overridden, until_time = limit_list(overrides.overridden), overrides.overridden_until
    local remaining = (overridden ~= '' or overrides.mode) and until_time < MAX and until_time - now or 0
    return {
      overrides.is_in_force and overrides.version or 0, max(overrides.paused_until - now, 0), remaining, overridden,
      limit_list(overrides.learned), in_use, overrides.mode or '',
      max(overrides.blocked_until, overrides.barred_until, now) - now,
    }
  end
end
