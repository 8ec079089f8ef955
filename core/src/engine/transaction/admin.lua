-- Admin: sets, ends and reads overrides and pauses. Twin of `admin` in transaction/upstream.rs.
--
-- REQUIRES: MAX DAMAGED call attempt format find min max limit_count verb_at verb raw now overrides encode_overrides
-- REQUIRES: effective_limit ctx handlers evaluate expiry write_state advance_queue adopt_levels
-- PROVIDES: to_time ensure_overrides apply_overrides

local to_time, ensure_overrides, apply_overrides

if verb == 'control' or verb == 'learn' then
  -- The time that "@time" or a span from now names.
  function to_time(text)
    return min(string.sub(text, 1, 1) == '@' and string.sub(text, 2) + 0 or now + text, MAX)
  end

  -- The first override of a limiter finds none stored.
  function ensure_overrides()
    if not overrides.own then
      local own, overridden, learned = {}, {}, {}
      for i = 1, limit_count do
        own[i], overridden[i], learned[i] = format('%s/%s/%s', ARGV[4 * i - 1], ARGV[4 * i], ARGV[4 * i + 1]), '-', '-'
      end
      overrides.own, overrides.overridden, overrides.learned = own, overridden, learned
    end
  end

  -- Replaces the limits of the call by the effective ones, as a new version.
  function apply_overrides()
    overrides.version = max(overrides.version + 1, now)
    for i = 1, limit_count do
      local limit = ctx.limits[i]
      local a, b, c = effective_limit(i, limit.kind)
      ARGV[4 * i - 1], ARGV[4 * i], ARGV[4 * i + 1] = a, b, c
      limit.a, limit.b, limit.c = a + 0, b + 0, c + 0
      if limit.kind == 'w' and call('PTTL', limit.key) < limit.b / 1000 + 10000 then
        call('PEXPIRE', limit.key, expiry(limit.b))
      end
    end
  end
end

if verb == 'control' then
  function handlers.control()
    local pause, ends, changes = ARGV[verb_at + 4], ARGV[verb_at + 5], ARGV[verb_at + 6]
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    -- Read before the call's own changes, which do not count as a use.
    local fields = raw and 1 or attempt('HLEN', KEYS[2])
    local in_use = type(fields) == 'number' and min(fields, 1) or 0
    ensure_overrides()
    if pause ~= '' or changes ~= '' then
      -- Until now the levels drained under the former limits.
      evaluate(0, 0, nil, 0)
      adopt_levels()
      if pause == '0' then
        overrides.paused_until = 0
      elseif pause ~= '' then
        overrides.paused_until = max(overrides.paused_until, to_time(pause))
      end
      if changes ~= '' then
        if find(changes, '%d') then
          overrides.overridden_until = ends == '' and MAX or to_time(ends)
        end
        local i = 0
        for text in string.gmatch(changes, '[^,]+') do
          i = i + 1
          if text ~= '=' or overrides.overridden_until <= now then
            overrides.overridden[i] = overrides.overridden_until > now and text or '-'
          end
        end
      end
      apply_overrides()
      evaluate(0, 0, nil, 0)
      adopt_levels()
      local lifetime = ctx.longest_reset
      encode_overrides()
      advance_queue()
      if ctx.damaged then
        return redis.error_reply(DAMAGED)
      end
      write_state(lifetime)
    end
    encode_overrides()
    local overridden, until_time = table.concat(overrides.overridden, ','), overrides.overridden_until
    local remaining = find(overridden, '%d') and until_time < MAX and until_time - now or 0
    return {
      overrides.text == '' and 0 or overrides.version, max(overrides.paused_until - now, 0), remaining, overridden,
      table.concat(overrides.learned, ','), in_use,
    }
  end
end
