-- Lists the tickets whose turn has come, for a host that calls their jobs. Twin of ready.rs.
--
-- The queue keeps under the tag "a" until when it knows of such a host: until then the others are not told to call soon. A host
-- with a channel is told when it is to ask again, unless its list is full.
--
-- REQUIRES: DAMAGED call min max verb_at verb now ctx handlers records_key ASKED_FOR read_hosts write_hosts advance_queue
-- REQUIRES: write_queue_summary to_text
-- PROVIDES: nothing

if verb == 'ready' then
  function handlers.ready()
    local MAX_POLL, NOTIFY_SLACK, MAX_HOSTS, KNOWN_MS = 5000000, 1000, 8, 20000
    local ready, count, channel, name = {}, ARGV[verb_at + 4] + 0, ARGV[verb_at + 5] or '', ARGV[verb_at + 6]
    advance_queue(ready, count)
    if ctx.damaged then
      return redis.error_reply(DAMAGED)
    end
    -- Written seldom, because a host asks often.
    if ctx.tickets > 0 and (ctx.queued.a or 0) - now <= ASKED_FOR / 2 then
      ctx.queued.a, ctx.queued_text, ctx.queue_changed = now + ASKED_FOR, nil, true
    end
    if ctx.queue_changed then
      write_queue_summary()
    end
    local is_full = #ready == count
    local after = is_full and 0 or min(max((ctx.due_at or now + MAX_POLL) - now, 0), MAX_POLL)
    if channel ~= '' then
      local hosts, due_at = read_hosts(), now + after
      for i = #hosts, 1, -1 do
        if hosts[i].id == name then
          table.remove(hosts, i)
        elseif hosts[i].due_at <= due_at + NOTIFY_SLACK and not is_full then
          -- One is enough for a turn.
          after = MAX_POLL
        end
      end
      if not is_full then
        hosts[#hosts + 1] = {known_until = now + ASKED_FOR, due_at = now + after, channel = channel, id = name}
        if #hosts > MAX_HOSTS then
          table.remove(hosts, 1)
        end
      end
      write_hosts()
      call('PEXPIRE', records_key, to_text(max(call('PTTL', records_key), KNOWN_MS)))
    end
    table.insert(ready, 1, after)
    return ready
  end
end
