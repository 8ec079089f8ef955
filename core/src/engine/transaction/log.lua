-- Corrections in the log of a window. Twin of `correct` in window.rs.
--
-- REQUIRES: push call min verb unpack now ctx to_text
-- PROVIDES: correct_log

local correct_log

if verb == 'correct' or verb == 'learn' then
  -- A function that changes the number of a grant's entries by `change`, to be called when everything has been read; nil
  -- where nothing changes. The grant may have had no entries. Moves a bounded number of entries.
  function correct_log(limit, granted_at, change)
    local MAX_MOVED = 1000
    local function entry_at(i)
      local entry = tonumber(call('LINDEX', limit.key, i) or nil)
      if not (entry and entry >= 0 and entry <= now and entry % 1 == 0) then
        ctx.damaged = true
        return 0
      end
      return entry
    end

    -- How many entries are newer than a time.
    local function count_newer(time)
      local low, high = 0, limit.length
      while low < high do
        local middle = math.floor((low + high) / 2)
        if entry_at(middle) > time then
          low = middle + 1
        else
          high = middle
        end
      end
      return low
    end

    local log, first = limit.key, count_newer(granted_at)

    -- Puts entries, newest first, before the others.
    local function prepend(entries)
      local reversed = {}
      for i = #entries, 1, -1 do
        reversed[#reversed + 1] = entries[i]
      end
      if #entries > 0 then
        call('LPUSH', log, unpack(reversed))
      end
    end

    local run = count_newer(granted_at - 1) - first
    if change == 0 or change < 0 and run == 0 then
      return nil
    elseif change > 0 then
      -- Behind more newer entries than can be moved, the charge has the time of the oldest that is moved.
      local moved_count = min(first, MAX_MOVED)
      local entry = to_text(first > moved_count and entry_at(moved_count) or min(granted_at, now))
      local moved = moved_count > 0 and call('LRANGE', log, 0, moved_count - 1) or {}
      return function()
        call('LTRIM', log, moved_count, -1)
        push(log, entry, change)
        prepend(moved)
      end
    end
    local count = min(-change, run)
    local older = limit.length - first - run
    if first <= MAX_MOVED then
      local moved = first > 0 and call('LRANGE', log, 0, first - 1) or {}
      return function()
        call('LTRIM', log, first + count, -1)
        prepend(moved)
      end
    elseif older <= MAX_MOVED then
      local moved = older > 0 and call('LRANGE', log, -older, -1) or {}
      return function()
        call('LTRIM', log, 0, first + run - count - 1)
        if older > 0 then
          call('RPUSH', log, unpack(moved))
        end
      end
    elseif count <= MAX_MOVED then
      return function()
        call('LREM', log, first < older and count or -count, to_text(granted_at))
      end
    end
    -- Many in the midst of many: the oldest are removed instead, so that nothing is given back too early.
    return function()
      call('LTRIM', log, 0, limit.new_level - count - 1)
    end
  end
end
