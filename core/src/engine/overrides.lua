-- Overrides: other limits or a pause, set while the limiter runs. This piece stands before the limits of the call are
-- read, because it puts the effective ones in their place in ARGV. Twin of overrides.rs; the contract is in state.lua.
--
-- ";version;paused_until;overridden_until;reported_at;overridden;learned" behind the first part of the state, with a mode or a
-- block followed by ";mode;blocked_until;barred_until;counted_until;refusals": version
-- rises with every change, nothing passes before `paused_until`, `overridden` holds until `overridden_until`, and
-- `reported_at` is the time of the call whose response was learned from last. `overridden` and `learned` are lists of
-- "tag=a/b/c" with commas between, also for limits that this call does not have. An overridden limit has precedence over a
-- learned one, and that over the caller's. The mode ('s' shadow, 'e' enforce, or '') is overridden until then too. Nothing passes
-- before `blocked_until`, which a command sets, and `barred_until`, which refusals set: `refusals` of them are counted until
-- `counted_until`. While the decisions are recorded, ";R" with recorded_until and "/" with the number of decisions that are kept stands
-- before all this, alone if there is nothing else; see recording.lua. It is no override and has no version.
--
-- REQUIRES: MAX DAMAGED format find max limit_count conduct verb overrides_text now
-- PROVIDES: overrides decode_limit limit_list encode_overrides effective_limit counts_refusals recording recorded_until

-- `overrides.own` has the caller's limits by their tags, and is nil while no override, pause or learned limit is stored;
-- `overrides.tags` are all tags of `overridden` and `learned`, in the order in which they came.
local overrides, decode_limit, limit_list, encode_overrides, effective_limit

-- Most calls need none of this, and Lua would make the functions anew for each.
local counts_refusals = conduct and verb == 'acquire' and find(conduct, ':', 1, true)
-- What the text says of a recording, and the end of that, which may have passed.
local recording, recorded_until = '', 0
if overrides_text ~= '' or verb == 'control' or verb == 'learn' or verb == 'record' or counts_refusals then
  local _, _, text, ends = find(overrides_text, '^(;R(%d+)/%d+)')
  if text then
    if ends - MAX > 0 then
      return redis.error_reply(DAMAGED)
    end
    recording, recorded_until = text, ends + 0
  end

  -- The numbers of a limit as texts; nil when they are impossible: levels are divided by them, and a log grows up to them.
  function decode_limit(kind, text)
    local _, _, a, b, c = find(text, '^(%d+)/(%d+)/(%d+)$')
    local most = (kind == 'w' or kind == 'c') and 100000 or MAX
    if not c or a - most > 0 or b - MAX > 0 or c - MAX > 0 or b - 1 < 0 or a - 1 < 0 and kind ~= 'c' then
      return nil
    end
    local is_meter = kind ~= 'b' and kind ~= 'w' and kind ~= 'c' and kind ~= 'q'
    if is_meter and (c - 1 < 0 or a - MAX / c > 0) or kind == 'b' and c - b >= 0 then
      return nil
    end
    return a, b, c
  end

  -- The text of `overridden` or `learned`.
  function limit_list(limits)
    local list = {}
    for _, tag in ipairs(overrides.tags) do
      list[#list + 1] = limits[tag] and tag .. '=' .. limits[tag]
    end
    return table.concat(list, ',')
  end

  -- Sets the text of the overrides and for how many microseconds it matters; overrides that say nothing have no text, but for
  -- that of a recording.
  function encode_overrides()
    local OVERRIDES_EXPIRY, REPORT_MEMORY = 7776000000000, 300000000
    local overridden, learned, own, ends = overrides.overridden, overrides.learned, overrides.own, overrides.overridden_until
    local blocked, barred, counted = overrides.blocked_until, overrides.barred_until, overrides.counted_until
    local lifetime, has_learned = max(overrides.paused_until, blocked, barred, counted, now) - now, false
    if overrides.mode then
      lifetime = max(lifetime, ends == MAX and OVERRIDES_EXPIRY or ends - now)
    end
    for _, tag in ipairs(overrides.tags) do
      has_learned = has_learned or learned[tag]
      if overridden[tag] then
        -- What was taken counts again under the other numbers when the override has ended.
        local kind = string.sub(tag, 1, 1)
        local a, b, c = decode_limit(kind, learned[tag] or own[tag] or overridden[tag])
        -- A meter may have one whole limit of debt.
        local drain = (kind == 'b' or kind == 'w' or kind == 'c' or kind == 'q') and b or 2 * a * c / b
        lifetime = max(lifetime, ends == MAX and OVERRIDES_EXPIRY or ends - now + drain)
      end
    end
    if has_learned then
      lifetime = OVERRIDES_EXPIRY
    end
    overrides.text, overrides.lifetime, overrides.is_in_force = '', lifetime, false
    if lifetime > 0 or overrides.reported_at + REPORT_MEMORY > now then
      overrides.is_in_force = true
      overrides.text = format(';%.0f;%.0f;%.0f;%.0f;', overrides.version, overrides.paused_until, ends, overrides.reported_at)
        .. limit_list(overridden) .. ';' .. limit_list(learned)
      if overrides.mode or max(blocked, barred, counted) > now then
        overrides.text = overrides.text
          .. format(';%s;%.0f;%.0f;%.0f;%.0f', overrides.mode or '', blocked, barred, counted, overrides.refusals)
      end
    end
    if overrides.recorded_until > now then
      overrides.text = overrides.recording .. overrides.text
      overrides.lifetime = max(lifetime, overrides.recorded_until - now)
    end
  end

  -- The numbers of a limit that apply; nil when a stored one is impossible. A bucket's interval ends where upstream's does,
  -- also while its limit is overridden. Of a quota the amount alone may be another: its periods are the caller's.
  function effective_limit(tag)
    local overridden, learned, kind = overrides.overridden[tag], overrides.learned[tag], string.sub(tag, 1, 1)
    local a, b, c = decode_limit(kind, learned or overrides.own[tag])
    if kind == 'q' then
      local _, own_b, own_c = decode_limit(kind, overrides.own[tag])
      return decode_limit(kind, overridden or learned or overrides.own[tag]), own_b, own_c
    end
    if c and overridden then
      local other_a, other_b, other_c = decode_limit(kind, overridden)
      if kind == 'b' and learned and other_b == b then
        other_c = c
      end
      return other_a, other_b, other_c
    end
    return a, b, c
  end
end

if #overrides_text > #recording then
  local _, stop, version, pause, ends, reported_at, overridden_list, learned_list =
    find(overrides_text, '^;(%d+);(%d+);(%d+);(%d+);([^;]*);([^;]*)', #recording + 1)
  local mode, blocked, barred, counted, refusals = '', 0, 0, 0, 0
  if stop and stop < #overrides_text then
    _, _, mode, blocked, barred, counted, refusals = find(overrides_text, '^;([se]?);(%d+);(%d+);(%d+);(%d+)$', stop + 1)
  end
  if not (learned_list and mode) or version - MAX > 0 or pause - MAX > 0 or ends - MAX > 0 or reported_at - MAX > 0
    or blocked - MAX > 0 or barred - MAX > 0 or counted - MAX > 0 or refusals - MAX > 0 then
    return redis.error_reply(DAMAGED)
  end
  local tags, is_known, is_damaged = {}, {}, false
  ends = ends + 0
  local function read_list(list, is_active)
    local limits, length = {}, 0
    for tag, numbers in string.gmatch(list, '([^=,]+)=([^=,]+)') do
      length = length + #tag + #numbers + 2
      is_damaged = is_damaged or not decode_limit(string.sub(tag, 1, 1), numbers)
      if is_active then
        tags[#tags + 1] = not is_known[tag] and tag or nil
        is_known[tag], limits[tag] = true, numbers
      end
    end
    is_damaged = is_damaged or length ~= #list + (length > 0 and 1 or 0)
    return limits
  end
  overrides = {
    version = version + 0, paused_until = pause + 0, overridden_until = ends, reported_at = reported_at + 0, tags = tags,
    overridden = read_list(overridden_list, ends > now), learned = read_list(learned_list, true), own = {}, text = '',
    lifetime = 0, mode = ends > now and mode ~= '' and mode or nil, blocked_until = blocked + 0, barred_until = barred + 0,
    counted_until = counted + 0, refusals = refusals + 0, recorded_until = recorded_until, recording = recording,
  }
  if is_damaged then
    return redis.error_reply(DAMAGED)
  end
  for i = 1, limit_count do
    local o = 4 * i - 2
    local tag = ARGV[o]
    overrides.own[tag] = ARGV[o + 1] .. '/' .. ARGV[o + 2] .. '/' .. ARGV[o + 3]
    if overrides.overridden[tag] or overrides.learned[tag] then
      local a, b, c = effective_limit(tag)
      if not c then
        return redis.error_reply(DAMAGED)
      end
      ARGV[o + 1], ARGV[o + 2], ARGV[o + 3] = a, b, c
    end
  end
  encode_overrides()
  if not overrides.is_in_force then
    -- Nothing of them is in force.
    overrides.version, overrides.reported_at, overrides.own = 0, 0, nil
    overrides.paused_until, overrides.blocked_until, overrides.barred_until, overrides.counted_until = 0, 0, 0, 0
  end
elseif recorded_until > now or verb == 'control' or verb == 'learn' or verb == 'record' or counts_refusals then
  overrides = {
    version = 0, paused_until = 0, overridden_until = 0, reported_at = 0, tags = {}, text = '', lifetime = 0,
    blocked_until = 0, barred_until = 0, counted_until = 0, refusals = 0, recorded_until = recorded_until, recording = recording,
  }
  if recorded_until > now then
    overrides.overridden, overrides.learned = {}, {}
    encode_overrides()
  end
end

if overrides then
  -- What a record keeps of the policy's limit, so that a lower one of another policy is told from a limit that rules for a time:
  -- more than this policy can have was taken under another limit, if it is the largest number.
  function overrides.held_amount(own, level, scale)
    local largest = math.floor(MAX / scale)
    return (own >= largest or level > 2 * own * scale) and largest or own
  end

  -- The largest of the numbers of a limit: the policy's, the one that rules, and the learned one.
  function overrides.largest(tag, own, a)
    local learned = overrides.learned and overrides.learned[tag]
    return max(own, a, learned and string.match(learned, '^%d+') + 0 or 0)
  end
end
