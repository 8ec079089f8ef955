-- Hosts that sleep until the turn of a job has come, which is a ticket without a channel. Twin of hosts.rs.
--
-- The field HOSTS of the records has "known_until due_at channel id" of each host, in the order of their questions, with LEASE
-- between. A host asks again at due_at, or earlier when a message "delay_us id" on its channel says so. One that is told to ask at
-- once leaves the list until it does.
--
-- REQUIRES: MAX call attempt format min now ctx LEASE records_key
-- PROVIDES: ASKED_FOR HOSTS read_hosts write_hosts wake_host

-- How long after a question the queue knows of the host.
local ASKED_FOR, HOSTS = 10000000, '\28'

local function read_hosts()
  if not ctx.hosts then
    ctx.hosts = {}
    local list = call('HGET', records_key, HOSTS) or ''
    for known_until, due_at, channel, name in string.gmatch(list, '(%d+) (%d+) (%S+) ([^' .. LEASE .. ']+)') do
      if known_until - now > 0 then
        ctx.hosts[#ctx.hosts + 1] = {known_until = min(known_until + 0, MAX), due_at = min(due_at + 0, MAX), channel = channel, id = name}
      end
    end
  end
  return ctx.hosts
end

local function write_hosts()
  local texts = {}
  for i, host in ipairs(ctx.hosts) do
    texts[i] = format('%.0f %.0f %s %s', host.known_until, host.due_at, host.channel, host.id)
  end
  if #texts > 0 then
    call('HSET', records_key, HOSTS, table.concat(texts, LEASE))
  else
    call('HDEL', records_key, HOSTS)
  end
end

-- Tells one host that a turn comes at a time, unless a host asks by then anyway.
local function wake_host(at)
  local NOTIFY_SLACK = 1000
  local hosts, count = read_hosts(), #read_hosts()
  for i = 1, at > now and count or 0 do
    if hosts[i].due_at <= at + NOTIFY_SLACK then
      return
    end
  end
  while #hosts > 0 do
    local host = hosts[1]
    -- PUBLISH fails for a user without that right: then hosts ask by themselves.
    local receivers = attempt('PUBLISH', host.channel, format('%.0f %s', at - now, host.id))
    if type(receivers) ~= 'number' then
      return
    elseif receivers > 0 and at > now then
      host.due_at = at
      return write_hosts()
    end
    table.remove(hosts, 1)
    if receivers > 0 then
      return write_hosts()
    end
  end
  if count > 0 then
    write_hosts()
  end
end
