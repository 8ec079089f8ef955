-- Lists the tickets whose turn has come, for a host that calls their jobs. Twin of ready.rs.
--
-- The queue keeps under the tag "a" until when it knows of such a host: until then the others are not told to call soon.
--
-- REQUIRES: DAMAGED verb_at verb now ctx handlers advance_queue write_queue_summary
-- PROVIDES: nothing

if verb == 'ready' then
  function handlers.ready()
    local ASKED_FOR = 10000000
    local ready = {}
    advance_queue(ready, ARGV[verb_at + 4] + 0)
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    -- Written seldom, because a host asks often.
    if ctx.tickets > 0 and (ctx.queued.a or 0) - now < ASKED_FOR / 2 then
      ctx.queued.a, ctx.queued_text, ctx.queue_changed = now + ASKED_FOR, nil, true
    end
    if ctx.queue_changed then
      write_queue_summary()
    end
    return ready
  end
end
