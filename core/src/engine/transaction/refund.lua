-- Gives back units of every limit, at most what is taken now. Twin of refund.rs.
--
-- REQUIRES: DAMAGED call min max limit_count verb units now overrides ctx handlers evaluate own_units add_statistic write_state
-- REQUIRES: keep_skew advance_queue adopt_levels
-- PROVIDES: nothing

if verb == 'refund' then
  function handlers.refund()
    local limits, changes, before, given = ctx.limits, {}, {}, 0
    evaluate()
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    for i = 1, limit_count do
      local limit = limits[i]
      changes[i], before[i] = -own_units[i], limit.new_level
      if limit.kind == 'w' then
        -- The newest entries are given back. To trim is allowed on a full server, and then so is the rest.
        local gone = min(own_units[i], limit.new_level)
        limit.length, changes[i] = limit.length - gone, 0
        if gone > 0 then
          call('LTRIM', limit.key, gone, -1)
        end
      end
    end
    local index, wait, remaining, reset = evaluate(nil, nil, changes, now)
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    local is_overridden = overrides and overrides.own
    local reply = {1, index, remaining, wait, reset, now, is_overridden and limits[index + 1].a}
    if units == 0 then
      keep_skew()
      return reply
    end
    for i = 1, limit_count do
      local limit = limits[i]
      if limit.kind ~= 't' and limit.kind ~= 'c' then
        local scale = (limit.kind == 'l' or limit.kind == 'p') and limit.c or 1
        given = max(given, math.floor((before[i] - limit.new_level) / scale))
      end
    end
    add_statistic('corrections', 1)
    add_statistic('u', -given)
    add_statistic('corrected', -given)
    local lifetime = ctx.longest_reset
    adopt_levels()
    advance_queue()
    write_state(lifetime)
    return reply
  end
end
