-- Adds what a process has counted of a limiter to its statistics; see tally.rs.
-- KEYS 1 statistics   ARGV 1 for how many ms they are kept if this creates them; then the fields, each followed by its number
for i = 2, #ARGV, 2 do
  redis.pcall('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])
end
if redis.pcall('PTTL', KEYS[1]) == -1 then
  redis.pcall('PEXPIRE', KEYS[1], ARGV[1])
end
return 0
