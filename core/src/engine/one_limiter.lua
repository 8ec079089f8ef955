-- The script of one limiter decides and writes, and removes a bounded number of ended entries and lapsed tickets. In together.lua
-- the same pieces are the body of a function, whose arguments these are.
--
-- REQUIRES: nothing
-- PROVIDES: dry_run MAX_REMOVALS MAX_EXPIRED

local dry_run, MAX_REMOVALS, MAX_EXPIRED = false, 1000, 500
