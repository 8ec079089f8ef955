-- Decides one call over the limits of one limiter, all or nothing. Twin of state.rs. This reads the call and the
-- state. Most calls end in plain.lua; the others go on in limits.lua, queue.lua and verb.lua.
--
-- KEYS  1            string   state: "last skew", with a queue ":tickets:units:until:seen" and with orders what
--                             control.lua says behind it, then per bucket
--                             "count limit", per meter "level capacity scale", per concurrency limit "fence"
--       2            hash     statistics; the fields are those of statistics.rs
--       3..          zset or list, one per concurrency and window limit, in policy order
--                             leases: member: id, score: end in us, below zero when it ended without a release and
--                             made room for another.  log: times in us, newest first
--       then         to release and renew while a slot moves: hash of tickets alone (see queue.lua)
--       or           only with an id: zset of permits (member: permit id, score: deadline * 2, + 1 when settled),
--                             zset and hash of tickets (see queue.lua)
--       last         only with an entry: zset of limiters (score: when it is forgotten)
-- ARGV  1            count    number of limits n, 1 to 8
--       per limit    kind, a, b, c:  b limit interval_us offset_us    bucket
--                                    w limit interval_us 0            window
--                                    l capacity leak scale            leaky; p points, t throttle (cost is 1)
--                                    c limit lock_timeout_us 0        concurrency (cost is 1)
--       then verb    'acquire', 'peek', 'correct', 'learn', 'release', 'renew', 'cancel', 'statistics' or 'control'
--            units   cost to take, or the actual cost
--            time    us since 1970 for tests; absent or '' asks the server's clock
--            id      acquire: absent or '', or the id of the permit, lease and ticket; else: of what was granted
--       acquire      permit ('1': the charge may be corrected), ttl_us, entry (of the limiter; '' writes none),
--                    patience_us ('': does not queue), grace_us, channel ('': looks by itself),
--                    place ('': the end, '-': only the place it has, else the number it had)
--       correct      granted_at, charged: the numbers in the permit's id.  release, renew: granted_at
--       learn        the same ('0': no permit), settle ('1': units is the actual cost), pause (see control), then per
--                    limit remaining, numbers ('' or "a/b/c") and reset (as pause): what the answer says
--       control      pause ('': as it is, '0': none, us from now, or '@' and a time), until (as pause; '': for ever) of
--                    what is told, told (per limit '=' as it is, '-' no longer, or "a/b/c"; '': nothing)
--       cancel       '1' when it waited until its time was up
-- REPLY status (0 refused, 1 granted, 2 queued, 3 gone, 4 ask again with an id, which looks at the queue, 5 can never
--       pass, where remaining is what can), index of the limit described (from 0; the number of limits in a pause), remaining,
--       retry_after_us, reset_after_us, time_us; with an id also lease_us, fence, ticket number (0 none), position (from 0),
--       ready_us (-1 unknown), granted_at and charged (0, or of the lease that the id has); when
--       there are orders, last the amount of that limit.  To correct, release and cancel: status alone (3 to 8, see
--       permit.rs).  To learn: that, flags, and per limit marks (see learned.rs).  To control: version, us that the pause lasts, us that what is told holds, told, learned,
--       1 when there was a state or a statistic before the call.
--       To renew: status and lease_us.  To statistics: the fields in order, then leases and tickets.
-- ERROR PGDATA: a stored value that this script did not write. PGINVALID: an argument out of range.
-- STATE is written by granted, queued and corrected calls only; a refusal at most keeps the distance to a clock that
--       ran backwards. Everything that decides is read before the first write, and the first write is one that needs
--       memory, so that a full server refuses the whole call. Every write sets the expiry: the state's end plus 10 s.
--
-- Example: leaky of 2 units that drain in 1 s, first call at time 5000000
--   KEYS pg1:{8b}:l:s:erp pg1:{8b}:l:m:erp   ARGV 1 l 2 1 500000 acquire 1 5000000
--   reply 1 0 1 0 500000 5000000, and the state is "5000000 0 500000 2 500000"

local MAX = 4503599627370496
local DAMAGED = 'PGDATA a stored value was not written by this library; reset the limiter or use another database'
local STATISTICS_EXPIRY, MAX_REMOVALS = 120000, 1000
-- How long leases and their fence are kept after their end: a late release counts, and the fence rises after the server's
-- clock ran backwards.
local LATE = 300000000
local call, attempt, format, find, min, max = redis.call, redis.pcall, string.format, string.find, math.min, math.max

-- Arithmetic turns text into numbers; it is faster than tonumber, and fails on anything else.
local n = ARGV[1] + 0
local base = 4 * n + 2
local verb, units, server, id = ARGV[base], ARGV[base + 1] + 0, ARGV[base + 2] or '', ARGV[base + 3]
if id == '' then
  id = nil
end
if server == '' then
  local time = call('TIME')
  server = time[1] * 1000000 + time[2]
else
  server = server + 0
end
if not (units >= 0 and units <= MAX and units % 1 == 0 and server >= 0 and server <= MAX) then
  return redis.error_reply('PGINVALID cost or time is out of range')
end

-- The first statistic of its kind may have made their key, which then needs an end: a short one, since a process that
-- goes on says within a minute how long it wants them.
local function begin_statistics()
  if attempt('PTTL', KEYS[2]) == -1 then
    attempt('PEXPIRE', KEYS[2], STATISTICS_EXPIRY)
  end
end

-- Keeps the limiter in the list of all, and its statistics for as long as it asks.
local function register(now)
  local entry = ARGV[4 * ARGV[1] + 8]
  if entry and entry ~= '' then
    local ttl, limiters = ARGV[4 * ARGV[1] + 7] + 0, KEYS[#KEYS]
    local life = math.ceil(ttl / 1000)
    if type(redis.pcall('ZADD', limiters, string.format('%.0f', now + ttl), entry)) == 'number' then
      local ended = redis.call('ZCOUNT', limiters, '-inf', string.format('%.0f', now))
      if ended > 0 then
        redis.call('ZREMRANGEBYRANK', limiters, 0, math.min(ended, MAX_REMOVALS) - 1)
      end
      -- Others may ask for a longer time.
      if redis.call('PTTL', limiters) < life then
        redis.call('PEXPIRE', limiters, life)
      end
    end
    if type(redis.pcall('HLEN', KEYS[2])) == 'number' then
      redis.call('PEXPIRE', KEYS[2], life)
    end
  end
end

-- The limiter's time never runs backwards; `skew` is its distance to a server clock that did.
local raw = call('GET', KEYS[1])
local last, skew, position, tickets, tickets_units, tickets_until, seen, line, orders, _ = 0, 0, 0, 0, 0, 0, 0
if raw then
  _, position, last, skew, line = find(raw, '^(%d+) (%d+)(%S*)')
  if line and line ~= '' then
    line, orders = string.match(line, '^([^;]*)(.*)$')
    if line ~= '' then
      _, _, tickets, tickets_units, tickets_until, seen = find(line, '^:(%d+):(%d+):(%d+):(%d+)$')
    end
  end
  if not (position and seen) then
    return redis.error_reply(DAMAGED)
  end
  last, skew = last + 0, skew + 0
  tickets, tickets_units, tickets_until = tickets + 0, tickets_units + 0, tickets_until + 0
  seen = seen + 0
end
local now = server + skew
if now < last then
  now = last
end
if now < seen then
  now = seen
end
local moved = raw and now - server ~= skew
skew = now - server
if now > MAX then
  return redis.error_reply(DAMAGED)
end
local line_end = position
