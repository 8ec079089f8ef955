-- What was ordered while the limiter runs: other numbers, a pause. It stands before the numbers of the call, whose place
-- it takes in ARGV. Twin of control.rs; the contract is in redis.lua.
--
-- ";version;pause;until;synced;told;learned" behind the first part of the state: version rises with every order, nothing
-- passes until the time `pause`, `told` holds until the time `until`, and `synced` is the time of the call whose answer
-- was learned from last. `told` and `learned` have per limit "a/b/c" as in ARGV, or "-"; what was told rules.

local ORDERS_EXPIRY, SYNC_MEMORY = 7776000000000, 300000000
local version, pause, told_until, synced, told, learned, own = 0, 0, 0, 0, nil, nil, nil
local orders_life, parts, compose, ruling = 0, nil, nil, nil

-- Most calls need none of this, and Lua would make the functions anew for each.
if orders and orders ~= '' or verb == 'control' or verb == 'learn' then
  -- The numbers of a limit in parts; nothing when they cannot be: what rules is divided by, and a log is filled up to it.
  function parts(kind, numbers)
    local _, _, a, b, c = find(numbers, '^(%d+)/(%d+)/(%d+)$')
    local most = (kind == 'w' or kind == 'c') and 100000 or MAX
    if not c or a - most > 0 or b - MAX > 0 or c - MAX > 0 or b - 1 < 0 or a - 1 < 0 and kind ~= 'c' then
      return nil
    end
    local meter = kind ~= 'b' and kind ~= 'w' and kind ~= 'c'
    if meter and (c - 1 < 0 or a * c - MAX > 0) or kind == 'b' and c - b >= 0 then
      return nil
    end
    return a, b, c
  end

  -- Writes the orders anew, and answers for how many microseconds they must be kept; orders that say nothing are dropped.
  function compose()
    local life, learns = max(pause - now, 0), false
    for i = 1, n do
      learns = learns or learned[i] ~= '-'
      if told[i] ~= '-' then
        -- What was taken counts again by the other numbers when these have ended.
        local kind = ARGV[4 * i - 2]
        local a, b, c = parts(kind, learned[i] ~= '-' and learned[i] or own[i])
        local lasts = (kind == 'b' or kind == 'w' or kind == 'c') and b or a * c / b
        life = max(life, told_until == MAX and ORDERS_EXPIRY or told_until - now + lasts)
      end
    end
    if learns then
      life = ORDERS_EXPIRY
    end
    orders = ''
    if life > 0 or synced + SYNC_MEMORY > now then
      orders = format(';%.0f;%.0f;%.0f;%.0f;', version, pause, told_until, synced)
        .. table.concat(told, ',') .. ';' .. table.concat(learned, ',')
    end
    return life
  end

  -- What rules: what was told, then what was learned, then the caller's own. A bucket ends where upstream's does.
  function ruling(i, kind)
    local a, b, c = parts(kind, learned[i] ~= '-' and learned[i] or own[i])
    if told[i] ~= '-' then
      local told_a, told_b, told_c = parts(kind, told[i])
      if kind == 'b' and learned[i] ~= '-' and told_b == b then
        told_c = c
      end
      return told_a, told_b, told_c
    end
    return a, b, c
  end
end

if orders and orders ~= '' then
  local _, _, v, p, u, s, t, l = find(orders, '^;(%d+);(%d+);(%d+);(%d+);([^;]*);([^;]*)$')
  if not l or v - MAX > 0 or p - MAX > 0 or u - MAX > 0 or s - MAX > 0 then
    return redis.error_reply(DAMAGED)
  end
  version, pause, told_until, synced, told, learned, own = v + 0, p + 0, u + 0, s + 0, {}, {}, {}
  for numbers in string.gmatch(t, '[^,]+') do
    told[#told + 1] = told_until > now and numbers or '-'
  end
  for numbers in string.gmatch(l, '[^,]+') do
    learned[#learned + 1] = numbers
  end
  if #told ~= n or #learned ~= n then
    return redis.error_reply(DAMAGED)
  end
  for i = 1, n do
    local o = 4 * i - 1
    local kind = ARGV[o - 1]
    own[i] = ARGV[o] .. '/' .. ARGV[o + 1] .. '/' .. ARGV[o + 2]
    if told[i] ~= '-' and not parts(kind, told[i]) or learned[i] ~= '-' and not parts(kind, learned[i]) then
      return redis.error_reply(DAMAGED)
    end
    ARGV[o], ARGV[o + 1], ARGV[o + 2] = ruling(i, kind)
  end
  orders_life = compose()
  if orders == '' then
    version, synced, own = 0, 0, nil
  end
else
  orders = ''
end
