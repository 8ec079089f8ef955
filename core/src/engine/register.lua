-- Keeps the limiter in the list of limiters, and its statistics, for as long as the call wants, and ends the minutes of its history
-- that are over. One function with few locals of the chunk, because each makes creating it slower, which happens in every call.
--
-- The counts of a minute have fields of their own in the hash of statistics: "g29384756" grants, "n..." those near a limit in their
-- place, "u..." units beyond one for each grant, "r..." refusals, "r...:tag" those by a limit, and "w...:3" grants that waited. The first call of a later minute that
-- registers its limiter adds them to the fields without a minute ("granted", "near_limit", "units", "refused", "r:tag", "h3") and to the text
-- in "minutes", which has one entry for each, the newest first. Those that are older than an hour move into "hours". Twin of
-- counters.rs.
--
-- REQUIRES: MAX_REMOVALS
-- PROVIDES: register_limiter

local function register_limiter(now)
  local entry = ARGV[4 * ARGV[1] + 8]
  if not entry or entry == '' then
    return
  end
  local ttl, limiters = ARGV[4 * ARGV[1] + 7] + 0, KEYS[#KEYS]
  local lifetime = math.ceil(ttl / 1000)
  if type(redis.pcall('ZADD', limiters, string.format('%.0f', now + ttl), entry)) == 'number' then
    local expired = redis.call('ZCOUNT', limiters, '-inf', string.format('%.0f', now))
    if expired > 0 then
      redis.call('ZREMRANGEBYRANK', limiters, 0, math.min(expired, MAX_REMOVALS) - 1)
    end
    -- Another process may want a longer time.
    if redis.call('PTTL', limiters) < lifetime then
      redis.call('PEXPIRE', limiters, lifetime)
    end
  end
  local fields = redis.pcall('HGETALL', KEYS[2])
  if fields.err then
    return
  end
  local minute, sums, past, ended, minutes, hours = math.floor(now / 60000000), {}, {}, {}, '', ''
  for i = 1, #fields, 2 do
    local field, count = fields[i], fields[i + 1]
    local letter, of, part = string.match(field, '^([gnruw])(%d+):?(.*)$')
    if field == 'minutes' then
      minutes = count
    elseif field == 'hours' then
      hours = count
    elseif letter and of - minute < 0 and tonumber(count) and redis.pcall('HDEL', KEYS[2], field) == 1 then
      if letter == 'n' then
        letter, sums.near_limit = 'g', (sums.near_limit or 0) + count
      end
      local whole = letter == 'g' and 'granted' or letter == 'u' and 'units' or letter == 'w' and 'h' .. part
        or part == '' and 'refused' or 'r:' .. part
      of = of + 0
      if not past[of] then
        past[of], ended[#ended + 1] = {g = 0, r = 0, w = 0, u = 0}, of
      end
      past[of][letter], sums[whole] = past[of][letter] + count, (sums[whole] or 0) + count
    end
  end
  if #ended > 0 then
    for field, count in pairs(sums) do
      redis.pcall('HINCRBY', KEYS[2], field, string.format('%.0f', count))
    end
    -- Adds sums to the entry of their minute or hour; a new one is the first. What a process has counted comes late.
    local function add(entries, number, sum)
      number = string.format('%.0f', number)
      local before, g, r, w, u, after =
        string.match(entries, '^(.-);' .. number .. ' (%d+) (%d+) (%d+) (-?%d+)(.*)$')
      return (before or '') .. string.format(
        ';%s %.0f %.0f %.0f %.0f', number, sum.g + (g or 0), sum.r + (r or 0), sum.w + (w or 0), sum.u + (u or 0)
      ) .. (after or entries)
    end
    if #minutes + #hours > 16384 then
      -- Another program has written them.
      minutes, hours = '', ''
    end
    table.sort(ended)
    for _, of in ipairs(ended) do
      minutes = add(minutes, of, past[of])
    end
    while true do
      local rest, of, g, r, w, u = string.match(minutes, '^(.*);(%d+) (%d+) (%d+) (%d+) (-?%d+)$')
      if not of or minute - of < 60 then
        break
      end
      minutes, hours = rest, add(hours, math.floor(of / 60), {g = g, r = r, w = w, u = u})
    end
    while true do
      local rest, of = string.match(hours, '^(.*);(%d+)[^;]*$')
      if not of or math.floor(minute / 60) - of < 48 then
        break
      end
      hours = rest
    end
    redis.pcall('HSET', KEYS[2], 'minutes', minutes, 'hours', hours)
  end
  -- Perhaps it lost all its fields for a moment, and its expiry with them.
  redis.call('PEXPIRE', KEYS[2], lifetime)
end
