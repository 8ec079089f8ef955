-- Decides one call over several limiters: all are charged or none. Twin of together.rs. `decide` is the script of one limiter, a
-- function of its keys, its arguments, whether it only decides, and how many ended entries and lapsed tickets it removes at most.
--
-- KEYS  the keys of each limiter, one limiter after the other
-- ARGV  number of limiters; then for each the number of its keys, the number of its arguments, and its arguments as in
--       state.lua. All have the same verb and id
-- REPLY the reply of each limiter as in state.lua, in order. When the call exceeds a capacity (5), or must be repeated with an
--       id (4), the reply that says so is the last
-- Acquire and debit decide everywhere before one writes. The call takes from all, or it takes a ticket of the first limiter
-- that does not pass it, and its other tickets are suspended. When one refuses it, it loses its tickets. A limiter in shadow
-- passes it, and counts its refusal when the call has ended.

local limiters, key_at, argument_at, time = {}, 0, 1, nil
for i = 1, ARGV[1] + 0 do
  local keys, arguments = {}, {}
  local key_count, argument_count = ARGV[argument_at + 1] + 0, ARGV[argument_at + 2] + 0
  for k = 1, key_count do
    keys[k] = KEYS[key_at + k]
  end
  for k = 1, argument_count do
    arguments[k] = ARGV[argument_at + 2 + k]
  end
  key_at, argument_at = key_at + key_count, argument_at + 2 + argument_count
  local verb_at = 4 * string.sub(arguments[1], 1, 1) + 2
  if (arguments[verb_at + 2] or '') == '' then
    -- All decide at one time.
    if not time then
      local now = redis.call('TIME')
      time = string.format('%.0f', now[1] * 1000000 + now[2])
    end
    arguments[verb_at + 2] = time
  end
  limiters[i] = {number = i, keys = keys, arguments = arguments, verb_at = verb_at}
end

-- The reply of a limiter; its error is the reply to all. Overrides replace the numbers of the limits in the arguments, so each
-- decision gets its own. Each limiter decides at most twice, and all remove at most as many ended entries as one alone, and a
-- quarter as many lapsed tickets, since each also reads its queue.
local unpack, failure = table.unpack or unpack, nil
local max_removals, max_expired = math.floor(1000 / #limiters), math.floor(62 / #limiters)
local function ask(limiter, dry_run)
  local reply = decide(limiter.keys, {unpack(limiter.arguments)}, dry_run, max_removals, max_expired)
  if not failure and reply.err then
    -- Of several limiters, each with its own time, the caller must know which has another one.
    local is_of_time = string.sub(reply.err, 1, 7) == 'PGTIME '
    failure = is_of_time and redis.error_reply(reply.err .. ' ' .. limiter.number) or reply
  end
  return reply
end

local replies = {}
local verb, id = limiters[1].arguments[limiters[1].verb_at], limiters[1].arguments[limiters[1].verb_at + 3] or ''
if verb ~= 'acquire' and verb ~= 'debit' then
  for _, limiter in ipairs(limiters) do
    -- The instants of a quota may be of another time, which must be known before the first writes.
    if #limiter.arguments[1] > 1 and not failure then
      ask(limiter, 'time')
    end
  end
  for i, limiter in ipairs(limiters) do
    replies[i] = not failure and ask(limiter, false)
  end
  return failure or replies
end

-- Its ticket here, if it has one, waits for the others or goes.
local function hold_up(limiter, how, delay)
  local arguments, verb_at = limiter.arguments, limiter.verb_at
  if id ~= '' then
    arguments[verb_at] = how
    arguments[verb_at + 7] = delay
    ask(limiter, false)
  end
end

local without_ticket = 0
for i, limiter in ipairs(limiters) do
  replies[i] = ask(limiter, true)
  if failure then
    return failure
  end
  without_ticket = without_ticket + (replies[i][1] == 3 and 1 or 0)
end
if without_ticket == #limiters then
  return replies
end

local first, is_refused = nil, false
for i, limiter in ipairs(limiters) do
  if replies[i][1] == 3 then
    -- It has a ticket of another limiter, which is not to be the only one.
    limiter.arguments[limiter.verb_at + 10] = ''
    replies[i] = ask(limiter, true)
  end
  local status = replies[i][1]
  if status == 4 or status == 5 then
    for k, other in ipairs(limiters) do
      replies[k] = k <= i and replies[k] or nil
      hold_up(other, 'leave', '')
    end
    return failure or replies
  end
  is_refused = is_refused or status == 0
  first = first or status == 2 and i
end

for i, limiter in ipairs(limiters) do
  local status = replies[i][1]
  if not failure and (status == 0 or is_refused and status == 6 or not is_refused and (i == first or not first)) then
    replies[i] = ask(limiter, false)
  end
end
for i, limiter in ipairs(limiters) do
  if failure then
    return failure
  elseif is_refused and replies[i][1] ~= 0 then
    hold_up(limiter, 'leave', '')
  elseif first and i ~= first and not is_refused then
    hold_up(limiter, 'suspend', string.format('%.0f', replies[first][4]))
  end
end
return failure or replies
