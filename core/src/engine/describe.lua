-- The numbers of each limit, for a call that asks for them. Twin of describe.rs.
--
-- REQUIRES: dry_run verb units describes evaluate own_units
-- PROVIDES: describe

-- Most calls need none of this, and Lua would make the function anew for each.
local describe

if describes then
  -- Of each limit its amount, its interval, what remains, how long this limit alone holds the call up that nobody is ahead of, and
  -- the time until all of it is available again; after a grant, which takes the units, if `wait` is zero. A call that holds its lease already
  -- takes nothing.
  function describe(wait, is_held)
    local numbers = {}
    if is_held then
      evaluate(nil, nil, nil, nil, numbers)
    else
      local takes = wait == 0 and units > 0 and verb == 'acquire' and not dry_run
      evaluate(own_units, nil, takes and own_units or nil, nil, numbers)
    end
    return numbers
  end
end
