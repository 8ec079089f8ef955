-- Calls the handler of the verb; the contract is in redis.lua.
--
-- REQUIRES: verb handlers
-- PROVIDES: nothing

return handlers[verb]()
