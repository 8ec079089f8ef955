-- Calls the handler of the verb; the contract is in state.lua.
--
-- REQUIRES: verb handlers record_decision
-- PROVIDES: nothing

if not record_decision then
  return handlers[verb]()
end
return record_decision(handlers[verb]())
