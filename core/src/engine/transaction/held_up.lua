-- What a call does here while another limiter of together.lua holds it up, which alone uses these verbs: `suspend` keeps the
-- position of its ticket, `leave` removes the ticket. Twin of held_up.rs.
--
-- REQUIRES: DAMAGED call verb_at verb now ctx handlers expiry queue_key records_key caller_ticket add_loads
-- REQUIRES: records_expiry write_ticket remove_ticket advance_queue write_queue_summary
-- PROVIDES: nothing

if verb == 'suspend' or verb == 'leave' then
  function handlers.suspend()
    local ticket = caller_ticket()
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    if not ticket then
      return {6}
    end
    if verb == 'leave' then
      remove_ticket(ticket)
    else
      add_loads(ctx.queued, ticket, -1)
      ticket.units, ticket.units_text = {}, string.gsub(ticket.units_text, '%d+', '0')
      ticket.is_suspended, ticket.next_check = true, now + ARGV[verb_at + 7]
      ticket.claim_timeout, ticket.channel = ARGV[verb_at + 8] + 0, ARGV[verb_at + 9]
      ticket.expires_at = ticket.next_check + ticket.claim_timeout + (ARGV[verb_at + 11] or 0)
      write_ticket(ticket)
      call('PEXPIRE', queue_key, expiry(ctx.queued_until - now))
      call('PEXPIRE', records_key, records_expiry())
    end
    advance_queue()
    write_queue_summary()
    return {8}
  end

  handlers.leave = handlers.suspend
end
