-- A refusal, which changes nothing. A log may be there without a state, which is for the whole script.
--
-- REQUIRES: is_refused raw time windows
-- PROVIDES: nothing

if is_refused then
  return raw and raw .. time .. windows or 0
end
