-- Decides one call over the limits of one limiter, all or nothing. Twin of state.rs. This piece reads the call and the
-- state. Most calls end in fast_path.lua; the others are decided by a handler per verb, from the table of handlers, see dispatch.lua.
--
-- KEYS  1            string   state: "last skew", with a queue ":tickets:until:written_at:" and "tag=units" of each limit
--                             that the tickets have, with commas between, with overrides the text
--                             of overrides.lua, then a record " tag numbers" for each limit in use: a bucket's or a quota's
--                             "count limit", a meter's "level capacity scale", nothing of a window, "fencing_token" of leases.
--                             All records are of the time `last`, but those of limits that the policies of later calls
--                             did not have: they end with "@time~until", and are kept unchanged until then; and of a
--                             throttle that became free in the microsecond of a correction. The last record is " .", so
--                             that a state which was cut off is known as damaged
--       2            hash     statistics; the fields are in statistics.rs and register.lua. All keys of a keyed
--                             limiter with one hash tag share them. A limiter without statistics has its state here
--       3..          zset or list, one per concurrency and window limit, in policy order
--                             leases: member: id, score: end in us, negative when it ended without a release and
--                             another lease took its room.  log: times in us, newest first
--       then         to release and renew while a slot moves: hash of tickets alone (see queue.lua)
--       or           only with an id: zset of permits (member: "tags|permit id" with the sorted tags of the call's limits,
--                             to which it belongs, score: deadline * 2, + 1 when settled),
--                             zset and hash of tickets (see queue.lua)
--       then         only to correct, learn and extend: hash of extended permits (see extend.lua)
--       or           only for inspect, statistics and a reset without a concurrency limit: the leases of the name
--       no key of a call: stream of recorded decisions (see recording.lua), whose key is the first one with another role
--       last         only with an entry: zset of limiters (score: when it is forgotten)
-- ARGV  1            count    number of limits, 0 to 8; then "q" when one of them is a quota, "s" for a caller in shadow, and ":refusals/within_us/for_us" of one whose refusals lead to a block
--       per limit    tag, a, b, c:   b limit interval_us offset_us    bucket
--                                    w limit interval_us 0            window
--                                    l capacity leak scale            leaky; p points, t throttle (cost is 1)
--                                    c limit lock_timeout_us 0        concurrency (cost is 1)
--                                    q limit instants 0               quota; the boundaries of its periods in order, with
--                                                                     any other character between. Replaced by length
--                                                                     and start of the period of now
--                    A tag is the letter of the kind, and with a label of its own "w:label". Policies of one name share
--                    the limits with equal tags, and the leases whatever the label
--       then verb    'acquire', 'peek', 'debit', 'refund', 'correct', 'extend', 'learn', 'release', 'renew', 'cancel', 'ready', 'statistics',
--                    'inspect', 'control', 'record' or 'reset', which deletes the keys and the windows of all policies of the name
--            units   cost to take, or the actual cost: "5" of every limit, or "1,2000", of each in policy order ("0," of one
--                    limit). A "0" only looks. Of a limit that counts calls any number above zero is one. Behind a "?" the
--                  reply to acquire and peek ends with the numbers of each limit, see describe.lua
--            time    us since 1970 for tests; absent or '' reads the server's clock
--            id      acquire: absent or '', or the id of the permit, lease and ticket; else: id of what was granted
--       debit        id and permit are '', then ttl_us and entry as of acquire.  refund: id is ''
--       acquire      permit (how long the charge may be corrected, in us; '': not), ttl_us, entry (of the limiter; '' writes none),
--                    max_wait_us ('': does not queue), claim_timeout_us, channel ('': polls), position ('': the end,
--                    '-': only the ticket that the id has, else the ticket number that it had); keep_us, priority,
--                    weight, share, and aging_us of a limiter with it, all or none of them
--       correct      granted_at, charged: as in the permit's id, which has a charge in the order of the sorted tags; here
--                    in policy order; refund: a digit per limit in policy order, 1 where units that may have drained are
--                    not given back, or ''
--       extend       granted_at, charged: as correct.  release, renew: granted_at
--       learn        as correct ('0': no permit), settle ('1': units is the actual cost), pause (see control), then per
--                    limit remaining, numbers ('' or "a/b/c") and reset (as pause), from the upstream's response
--       control      pause ('': unchanged, '0': none and no block, us from now, or '@' and a time; of a block the same behind
--                    '!'), expiry of the overrides (as pause; '': never), overrides (with commas between: "tag=a/b/c",
--                    "-label" removes those of a label, "M=s" or "M=e" the mode shadow or enforce, "-M" removes that, "-" all;
--                    '': all unchanged); entry as of acquire, which is written unless the limiter is in the list for as long
--                    as something is in force
--       record       'start', how long in us and how many decisions are kept; 'end' and the end that the start replied; or
--                    'read', the id of the last entry that was read and how many to read
--       inspect      offset and count of the page of leases, and of the page of tickets
--       cancel       '1' when it waited until its time was up, 'here' when it waited here or for another limiter
--       ready        the most ids, and of a host that wants messages its channel and its id (see hosts.lua)
-- REPLY status (0 refused, 1 granted, 2 queued, 3 no ticket, 4 call again with an id, which reads the queue, 5 exceeds the
--       capacity, which stands in remaining, 6 refused but for shadow, so nothing is charged), index of the limit described
--       (from 0; the number of limits in a pause, one more in a block),
--       remaining, retry_after_us, reset_after_us, time_us; to acquire with an id also lease_us, fencing token, ticket
--       number (0 none), position (from 0), ready_us (-1 unknown), granted_at and charged (0, or of the lease that the id
--       has, in the order of the sorted tags); with overrides, last the amount of that limit.
--       To correct, release and cancel: status alone (3 to 8, see model/permit.rs). To extend: that if the permit is not
--       open, else as to acquire without an id, and behind the time the whole charge in the order of the sorted tags;
--       of a refusal what it would have taken.
--       To learn: that, flags, and per limit marks (see engine/budget.rs).  To control: version, remaining us of the pause,
--       remaining us of the overrides, overrides and learned limits as "tag=a/b/c" with commas between, 1 when there was a
--       state or a statistic before the call, the overriding mode ('' none, 's' shadow, 'e' enforce), remaining us of the block.
--       To record: start: time_us, the end and the id of an entry before all decisions; end: 1 when it was still recorded until then;
--       read: time_us, how many us it goes on, 1 when the last entry is still there, and a list of ids and texts by turns.
--       To inspect: time_us, remaining us of the pause and of the block, the overriding mode, leases, tickets, and three lists:
--       per limit source (0 policy, 1 override, 2 learned), "a/b/c", taken, remaining, us until one more unit passes, reset_after_us;
--       per lease id, us held, us that remain, fencing token (-1 unknown); per ticket id, priority, share, us waited, 1 when ready.
--       To renew: status and lease_us.  To ready: us until the host asks again, then ids.  To statistics: leases, tickets, and a list of each field and its count.
-- ERROR PGDATA: a stored value that this script did not write. PGINVALID: an argument out of range. PGLABELS: more than 32
--       limits of the name are in use. PGTIME: the instants of a quota do not have the time that it says.
--       PGPAST: the end of a control has passed; its argument, the end and the time of now. Nothing was written.
-- STATE is written by calls that change it: granted, queued, corrected, removed tickets, control and learn; a refusal
--       at most keeps the distance to a clock that ran backwards, removes the ticket of its call and is counted where
--       refusals lead to a block. Everything that
--       decides is read before the first write, but for lapsed tickets, which leave the queue first; and the first write
--       is one that needs memory, so that a full server refuses the whole call. Every write sets the expiry: the
--       state's end plus 10 s.
-- LUA   5.1 and 5.4. Whole numbers of 5.4 wrap round, so no product may exceed 2^63.
--
-- Example: leaky of 2 units that drain in 1 s, first call at time 5000000
--   KEYS pg2:{8b}:s:erp pg2:{8b}:m:erp   ARGV 1 l 2 1 500000 acquire 1 5000000
--   reply 1 0 1 0 500000 5000000, and the state is "5000000 0 l 500000 2 500000 ."
--
-- REQUIRES: dry_run
-- PROVIDES: MAX DAMAGED STATISTICS_EXPIRY call attempt format find min max limit_count conduct quotas verb_at verb
-- PROVIDES: units describes costs server_time id add_statistic raw last skew levels_at tickets queued queued_until
-- PROVIDES: overrides_text now skew_changed minute

local MAX = 4503599627370496
local DAMAGED = 'PGDATA a stored value was not written by this library; reset the limiter or use another database'
local STATISTICS_EXPIRY = 120000
local call, attempt, format, find, min, max = redis.call, redis.pcall, string.format, string.find, math.min, math.max

-- Arithmetic turns text into numbers; it is faster than tonumber, and fails on anything else.
-- Of each quota by its tag, the start and the end of its period, and the ends of the next two.
local limit_count, conduct, quotas = ARGV[1], nil, nil
if #limit_count > 1 then
  -- It has a quota, is a shadow, or its refusals lead to a block.
  quotas, conduct = string.match(limit_count, '^%d(q?)(.*)$')
  limit_count, quotas, conduct = string.sub(limit_count, 1, 1), quotas == 'q' and {} or nil, conduct ~= '' and conduct or nil
  ARGV[1] = limit_count
end
limit_count = limit_count + 0
local verb_at = 4 * limit_count + 2
local verb, units, server_time, id = ARGV[verb_at], tonumber(ARGV[verb_at + 1]), ARGV[verb_at + 2] or '', ARGV[verb_at + 3]
local describes = false
if not units then
  describes = string.sub(ARGV[verb_at + 1], 1, 1) == '?'
  units = tonumber(string.sub(ARGV[verb_at + 1], describes and 2 or 1))
end
-- The units of each limit where they differ, also of a call that takes nothing; `units` is then the largest of them.
local costs = nil
if not units then
  units, costs = 0, {}
  for cost in string.gmatch(ARGV[verb_at + 1], '%d+') do
    costs[#costs + 1] = cost + 0
    units = max(units, cost + 0)
  end
  units = #costs == limit_count and units or -1
end
if id == '' then
  id = nil
end
if server_time == '' then
  local time = call('TIME')
  server_time = time[1] * 1000000 + time[2]
else
  server_time = server_time + 0
end
if not (units >= 0 and units <= MAX and units % 1 == 0 and server_time >= 0 and server_time <= MAX) then
  return redis.error_reply('PGINVALID cost or time is out of range')
end

-- Also of a damaged state. The state lists the windows of all policies of the name; their keys differ in the role alone, as does that
-- of what was recorded.
if verb == 'reset' then
  local keys, text = {}, attempt('GET', KEYS[1])
  for i = 1, #KEYS do
    keys[i] = KEYS[i]
  end
  keys[#keys + 1] = (string.gsub(KEYS[1], ':s:', ':r:', 1))
  for tag in string.gmatch(type(text) == 'string' and text or '', ' (w[:%l%d_-]*)') do
    -- A foreign text may have any number of such words.
    if #keys < 100 then
      keys[#keys + 1] = (string.gsub(KEYS[1], ':s:', ':' .. string.gsub(tag, ':', '.') .. ':', 1))
    end
  end
  return call('UNLINK', (table.unpack or unpack)(keys))
end

-- The limiter's time never runs backwards; `skew` is its distance to a server clock that did.
local raw = call('GET', KEYS[1])
local last, skew, levels_at, tickets, queued, queued_until, overrides_text = 0, 0, 0, 0, '', 0, ''
local now = server_time
if raw then
  local _, summary
  local written_at = 0
  _, levels_at, last, skew, summary = find(raw, '^(%d+) (%d+)(%S*)')
  if summary and summary ~= '' then
    summary, overrides_text = string.match(summary, '^([^;]*)(.*)$')
    if summary ~= '' then
      _, _, tickets, queued_until, written_at, queued = find(summary, '^:(%d+):(%d+):(%d+):(%S*)$')
      if queued and queued ~= '' and string.gsub(queued .. ',', '%l[^=,]*=%d+,', '') ~= '' then
        written_at = nil
      end
    end
  end
  if not (levels_at and written_at) then
    return redis.error_reply(DAMAGED)
  end
  last, skew, written_at = last + 0, skew + 0, written_at + 0
  tickets, queued_until = tickets + 0, queued_until + 0
  now = server_time + skew
  if now < last then
    now = last
  end
  if now < written_at then
    now = written_at
  end
end
local skew_changed = raw and now - server_time ~= skew
skew = now - server_time
if now > MAX then
  return redis.error_reply(DAMAGED)
end

-- The text of the minute of now, once it is needed.
local minute = nil

-- Statistics decide nothing, so a damaged one stops nothing. The first may have created the hash, which then needs an expiry: a
-- short one, since a process that keeps calling says within a minute how long it wants the statistics. Fields of one letter are
-- counted by the minute, see register.lua: grants, those near a limit, units, waits by their length, and refusals, those by a limit
-- under its tag.
local function add_statistic(field, by, part)
  if by == 0 or KEYS[2] == KEYS[1] then
    return
  end
  if #field == 1 then
    if field == 'r' then
      part = part and part < limit_count and ARGV[4 * part + 2]
    end
    minute = minute or format('%d', (now - now % 60000000) / 60000000)
    field = field .. (part and minute .. ':' .. part or minute)
  end
  if attempt('HINCRBY', KEYS[2], field, by) == by and attempt('PTTL', KEYS[2]) == -1 then
    attempt('PEXPIRE', KEYS[2], STATISTICS_EXPIRY)
  end
end

if quotas then
  for i = 1, limit_count do
    local o = 4 * i - 2
    local tag = ARGV[o]
    if string.sub(tag, 1, 1) == 'q' then
      local instants, at = {}, 1
      for instant in string.gmatch(ARGV[o + 2], '%d+') do
        instants[#instants + 1] = instant + 0
      end
      while instants[at] and instants[at] <= now do
        at = at + 1
      end
      if at == 1 or at + 2 > #instants then
        return redis.error_reply(format('PGTIME %.0f', now))
      end
      quotas[tag] = {instants[at - 1], instants[at], instants[at + 1], instants[at + 2]}
      ARGV[o + 2], ARGV[o + 3] = format('%.0f', instants[at] - instants[at - 1]), format('%.0f', instants[at - 1])
    end
  end
end
if dry_run == 'time' then
  return {}
end
