-- Calls without an id that the fast path does not decide: a peek at a policy with leases, one that the queue's summary
-- refuses, or one on a state with the records of other policies. They end here, before the functions of the queue and of
-- the verbs are made.
--
-- REQUIRES: DAMAGED limit_count verb units id register_limiter now overrides ctx evaluate limit_exceeded_by
-- REQUIRES: add_statistic write_state append_to_logs keep_skew
-- PROVIDES: nothing

if not id and (verb == 'acquire' or verb == 'peek') then
  local exceeded = limit_exceeded_by(units)
  if exceeded then
    return {5, exceeded - 1, ctx.limits[exceeded].a, 0, 0, now}
  end
  local ahead, units_ahead = ctx.tickets, ctx.queued_units
  if now >= ctx.queued_until or units == 0 then
    ahead, units_ahead = 0, 0
  end
  local index, wait, remaining, reset = evaluate(ahead, units_ahead, units, verb == 'acquire' and units or 0)
  if ctx.damaged then
    return redis.error_reply(DAMAGED)
  end
  if verb == 'acquire' then
    if wait == 0 and units > 0 then
      add_statistic('granted', 1)
      add_statistic('units', units - 1)
      append_to_logs()
      write_state(ctx.longest_reset)
    else
      if wait > 0 and ahead > 0 then
        local _, wait_alone = evaluate(0, 0, units, 0)
        if wait_alone == 0 then
          return {4, 0, 0, 0, 0, now}
        end
      end
      if wait > 0 then
        add_statistic('refused', 1)
      end
      keep_skew()
    end
    register_limiter(now)
  end
  local is_overridden = overrides and overrides.own
  return {
    wait == 0 and 1 or 0, index, remaining, wait, reset, now,
    is_overridden and (index < limit_count and ctx.limits[index + 1].a or 0),
  }
end
