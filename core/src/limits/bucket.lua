-- bucket: a count in the aligned window floor((now + offset) / interval). Twin of bucket.rs.
-- `limit` may rule in the place of `own`, the policy's; `largest` is the largest of these and the learned limit. `held` is the limit of the
-- policy under which the count was stored, or a number that no policy has: see overrides.held_amount.
--
-- The body of a function of the whole script, and of a block of each plain script. Those have no lines from FULL to END: they decide
-- on no state of another policy, and their caller computes the rest from the state. See engine/compose.rs.
--
-- REQUIRES: count held own largest limit interval offset last now cost change
-- CHANGES: count
-- PROVIDES: elapsed wait remaining reset

local elapsed, wait = (now + offset) % interval, 0
if now - last > elapsed then
  count = 0
-- FULL
elseif held ~= own then
  -- Of another policy stays what fits, else up to one whole limit of debt.
  count = math.min(count, held == 4503599627370496 and 2 * largest or largest)
-- END
end
if cost and count + cost > limit then
  wait = interval - elapsed
  local taken = math.min(count, limit) + cost
  if taken > 2 * limit then
    -- Those ahead fill more than one interval. The bound keeps the product below 2^53.
    wait = wait + math.min(math.ceil(taken / limit) - 2, math.ceil(4503599627370496 / interval)) * interval
  end
elseif change ~= 0 then
  count = math.max(math.min(count + change, 2 * largest), 0)
end
local reset = count > 0 and interval - elapsed or 0
-- FULL
local remaining = count < limit and limit - count or 0
-- END
