-- Debits, and calls without an id that the fast path does not decide: a peek at a policy with leases, one that the queue's
-- summary refuses, one above a limit, or one on a state with the records of other policies. They end here, before the
-- functions of the queue and of the verbs are made.
--
-- REQUIRES: dry_run DAMAGED min max limit_count verb units id register_limiter now overrides ctx evaluate own_units
-- REQUIRES: describes describe limit_exceeded_by add_statistic write_state append_to_logs keep_skew in_mode count_refusal write_overrides record_decision
-- PROVIDES: nothing

if not id and (verb == 'acquire' or verb == 'peek' or verb == 'debit') then
  local asked, ahead, taken = own_units, nil, own_units
  if verb == 'debit' then
    asked = nil
  else
    local exceeded = limit_exceeded_by(own_units, 'own')
    if exceeded then
      return {5, exceeded - 1, ctx.limits[exceeded].a, 0, 0, now}
    end
    if now < ctx.queued_until and units > 0 and ctx.tickets > 0 then
      ahead = {}
      for i = 1, limit_count do
        ahead[i] = ctx.queued[ctx.limits[i].record_tag] or 0
      end
    end
  end
  local index, wait, remaining, reset, rate = evaluate(asked, ahead, verb ~= 'peek' and own_units or nil, now)
  local numbers = describes and describe(wait)
  if ctx.damaged then
    return redis.error_reply(DAMAGED)
  end
  if verb == 'acquire' and wait > 0 and ahead then
    local _, wait_alone = evaluate(own_units)
    if wait_alone == 0 then
      return {4, 0, 0, 0, 0, now}
    end
  end
  local status = wait == 0 and 1 or 0
  if in_mode then
    status, index, wait, remaining, reset = in_mode(index, wait, remaining, reset, rate)
  end
  if verb ~= 'peek' and not dry_run then
    if wait == 0 and not own_units.looks then
      if verb == 'debit' then
        -- A debt is at most one whole limit, also in a log.
        taken = {}
        for i = 1, limit_count do
          local limit = ctx.limits[i]
          taken[i] = limit.kind == 'w' and max(min(own_units[i], ctx.most_of(limit) - limit.new_level), 0)
        end
      end
      add_statistic(5 * remaining <= ctx.limits[index + 1].a and 'n' or 'g', 1)
      add_statistic('u', units - 1)
      append_to_logs(taken)
      write_state(ctx.longest_reset)
    else
      if wait > 0 then
        add_statistic(status == 6 and 'shadow_refused' or 'r', 1, index)
      end
      if wait > 0 and in_mode and count_refusal(index) then
        write_overrides()
      else
        keep_skew()
      end
    end
  end
  if verb ~= 'peek' then
    -- Also when another limiter refuses the call: this process registers it again only after a while.
    register_limiter(now)
  end
  local is_overridden = overrides and overrides.own
  local reply = {
    status, index, remaining, wait, reset, now,
    is_overridden and (index < limit_count and ctx.limits[index + 1].a or 0),
  }
  if numbers then
    reply[#reply + 1] = numbers
  end
  return record_decision and record_decision(reply) or reply
end
