-- The walk along the queue after a change. Twin of advance.rs.
--
-- REQUIRES: MAX MAX_EXPIRED attempt format min max limit_count verb id now overrides ctx evaluate limit_exceeded_by
-- REQUIRES: MAX_CHECKED_TICKETS CALLED units_of remove_ticket claim_end ticket_at call_again wake_host
-- PROVIDES: advance_queue

-- Notifies every ticket that can be granted, and the next one of the time at which it can be. The caller's own ticket
-- needs no message. The call changes nothing for tickets that have no limit in common with it, unless it ends a pause.
-- Up to `count` tickets without a channel that can be granted go into the list `ready`, once each, and are to call at once;
-- without the list a host that sleeps is told of the first. Leaves in ctx.due_at when the next can be granted.
local function advance_queue(ready, count)
  local NOTIFY_SLACK = 1000
  local checked, units_ahead, first_expiry = 0, {}, MAX
  while ctx.tickets > 0 and checked < MAX_CHECKED_TICKETS + (count or 0) and ctx.removed < MAX_EXPIRED do
    local ticket = ticket_at(checked)
    if not ticket then
      return
    end
    local units, is_shared = units_of(ticket)
    if (is_shared or verb == 'control' and not (ticket.is_suspended or ticket.is_passed)) and not limit_exceeded_by(units) then
      local _, wait = evaluate(units, units_ahead)
      if overrides and overrides.mode == 's' then
        -- All pass, but for a pause.
        wait = max(overrides.paused_until, overrides.blocked_until, now) - now
      end
      local check = wait == 0 and now or min(now + wait, first_expiry)
      local is_present = true
      if ticket.id ~= id and ticket.channel ~= '' and ticket.next_check > check + (wait == 0 and 0 or NOTIFY_SLACK) then
        -- PUBLISH fails for a user without that right: then tickets are not notified and call by themselves.
        local receivers = attempt('PUBLISH', ticket.channel, format('%.0f %s', check - now, ticket.id))
        if receivers == 0 then
          is_present = false
          remove_ticket(ticket)
        elseif type(receivers) == 'number' then
          call_again(ticket, check)
        end
      end
      if ready and wait == 0 and ticket.channel == '' then
        if #ready == count then
          return
        end
        ready[#ready + 1], ticket.channel = ticket.id, CALLED
        call_again(ticket, now)
      elseif verb == 'control' and ticket.channel == '' and ticket.next_check > check + NOTIFY_SLACK then
        -- It cannot be notified that a pause has ended, and must not block the others until the pause was to end.
        call_again(ticket, check)
      end
      if not ready and ticket.channel == '' and (wait > 0 or ticket.id ~= id) and (ctx.queued.a or 0) > now then
        wake_host(check)
      end
      if wait > 0 and is_present then
        ctx.due_at = check
        return
      end
      if is_present and is_shared then
        for i = 1, limit_count do
          units_ahead[i] = (units_ahead[i] or 0) + (units[i] or 0)
        end
        first_expiry = ticket.id == id and first_expiry or min(first_expiry, claim_end(ticket))
      end
      checked = is_present and checked + 1 or checked
    else
      checked = checked + 1
    end
  end
end
