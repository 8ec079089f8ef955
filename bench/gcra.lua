-- The least that limits a rate: one meter as the time when it will be empty. What other scripts are compared with.
-- KEYS 1 the meter   ARGV 1 us per call, 2 us of burst   REPLY granted (1 or 0), us to wait
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local empty = tonumber(redis.call('GET', KEYS[1]) or now)
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
if empty < now then
  empty = now
end
empty = empty + interval
if empty - burst > now then
  return {0, empty - burst - now}
end
redis.call('SET', KEYS[1], string.format('%.0f', empty), 'PX', math.ceil((empty - now) / 1000))
return {1, 0}
