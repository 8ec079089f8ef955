-- What one limit has decided: a plain call takes of all or of none. The state lives until all are whole again.
--
-- REQUIRES: wait reset is_refused longest_reset
-- CHANGES: is_refused longest_reset
-- PROVIDES: nothing

is_refused = is_refused or wait > 0
if reset > longest_reset then
  longest_reset = reset
end
