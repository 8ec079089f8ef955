-- What a refusal becomes in shadow, and refusals that lead to a block. Twin of refusal.rs.
--
-- REQUIRES: MAX call find format min max limit_count conduct units raw skew now overrides encode_overrides counts_refusals ctx
-- REQUIRES: evaluate expiry write_state
-- PROVIDES: in_mode count_refusal write_overrides

-- Most calls need none of this, and Lua would make the functions anew for each.
local in_mode, count_refusal, write_overrides

if conduct or overrides then
  -- The decision in the mode that rules, with its status: in shadow the limits and a block that refusals set hold nobody up, and
  -- a pause and a block that a command set do.
  function in_mode(index, wait, remaining, reset, rate)
    local mode, own, paused_until, blocked_until = nil, conduct and find(conduct, '^s') ~= nil, 0, 0
    if overrides then
      mode, paused_until, blocked_until = overrides.mode, overrides.paused_until, overrides.blocked_until
    end
    ctx.is_shadow = mode == 's' or not mode and own
    local pause = max(paused_until, blocked_until) - now
    if wait == 0 then
      return 1, index, wait, remaining, reset, rate
    elseif ctx.is_shadow and pause > 0 then
      return 0, limit_count + (blocked_until > paused_until and 1 or 0), pause, 0, pause, rate
    elseif ctx.is_shadow then
      return 6, index, wait, remaining, reset, rate
    elseif own and overrides.overridden_until < MAX then
      -- The call passes in shadow when the override of the mode ends.
      local ends = max(overrides.overridden_until - now, pause)
      wait, rate = min(wait, ends), min(rate, ends)
    end
    return 0, index, wait, remaining, reset, rate
  end

  -- Counts a refusal, also one that only shadow lets pass. Those by a limit lead to a block: a window that begins with the first
  -- counts them. A refusal by a pause does not count, nor any during a block, so that a block ends. Says whether the state must be written.
  function count_refusal(index)
    local is_blocked = counts_refusals and max(overrides.blocked_until, overrides.barred_until) > now
    if not counts_refusals or units == 0 or index >= limit_count or is_blocked then
      return false
    end
    local _, _, refusals, within, lasts = find(conduct, ':(%d+)/(%d+)/(%d+)$')
    if overrides.counted_until <= now then
      overrides.counted_until, overrides.refusals = min(now + within, MAX), 0
    end
    overrides.refusals = overrides.refusals + 1
    if overrides.refusals - refusals >= 0 then
      overrides.counted_until, overrides.refusals = 0, 0
      overrides.barred_until = max(overrides.barred_until, min(now + lasts, MAX))
      overrides.version = max(overrides.version + 1, now)
    end
    encode_overrides()
    return true
  end

  -- Writes the overrides into the state and leaves everything else as it is.
  function write_overrides()
    if not raw then
      evaluate()
      return write_state(ctx.longest_reset)
    end
    local summary, rest = string.match(raw, '^%d+ %d+([^; ]*)%S*(.*)$')
    local lifetime_ms = max(call('PTTL', KEYS[1]), expiry(overrides.lifetime) + 0)
    local state = format('%.0f %.0f', ctx.last, skew) .. summary .. overrides.text .. rest
    call('SET', KEYS[1], state, 'PX', format('%.0f', lifetime_ms))
  end
end
