-- Calls the handler of the verb; the contract is in state.lua.
--
-- REQUIRES: verb handlers
-- PROVIDES: nothing

return handlers[verb]()
