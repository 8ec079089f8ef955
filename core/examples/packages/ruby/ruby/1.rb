require "paddlegate"

# The store is what PADDLEGATE_URL says (redis://127.0.0.1:12845), or this process when it is not set.
ERP = Paddlegate.window("erp", 100, :minute)      # at most 100 in any minute

ERP.within_limit { "call the ERP" }               # waits up to 5 s, then raises Paddlegate::OverLimit
Paddlegate.concurrent("erp-slots", 50)            # 50 at once, each for at most 30 s
Paddlegate.bucket("mail", 1000, :day)             # 1000 in each calendar day, UTC
Paddlegate.bucket("mail-de", 1000, :day, :hour)   # days that begin an hour earlier, for UTC+1
Paddlegate.window("erp", 100, 60)                 # 100 in any 60 s, exactly
Paddlegate.leaky("hooks", 50, 10)                 # a burst of 50, which drains in 10 s
Paddlegate.points("shopify", 1000, 20)            # 1000 points, full again in 20 s
Paddlegate.throttle("sms", "PT0.1S")              # starts 100 ms apart
Paddlegate.unlimited("erp", 100, 60)              # switched off: any arguments
Paddlegate.paused("erp")                          # nothing passes

# Several limits as one: all are charged or none, in one call.
Paddlegate.limiter("stripe", concurrency: 5, lock_timeout: 30, window: [100, 60], throttle: 0.1)
Paddlegate.limiter("burst", [[:window, 10, :second], [:window, 100, :minute]])
slots = Paddlegate.concurrent("slots", 2, lock_timeout: 30)

slots.within_limit do |permit|                    # a lease, which ends with the block
  permit.expires_in                               # seconds that are left, by the clock of this process
  permit.fence                                    # rises with every lease: lets a database refuse who is late
  permit.renew                                    # its whole time again; false when it has ended
  permit.lost?                                    # whether it has ended meanwhile; asks nobody
end

permit = slots.acquire                            # a lease without a block
permit.release                                    # :released, or :late when it had ended before

id = slots.try_acquire.permit
slots.renew(id)                                   # both from any process
slots.release(id)
shop = Paddlegate.points("shopify-42", 1000, 20)

# An estimate first, the actual cost when it is known. What was too much is given back.
shop.within_limit(estimate: 200) do |permit|
  response = { "extensions" => { "cost" => { "actualQueryCost" => 46 } } }
  permit.points_used(response.dig("extensions", "cost", "actualQueryCost"))
end

bulk = Paddlegate.bucket("rows", 10_000, :hour)
bulk.within_limit(used: 250) { "write 250 rows" } # or cost: 250
decision = ERP.try_acquire                        # never waits, never raises because of a refusal
if decision.allowed?
  decision.remaining                              # what is left
else
  decision.retry_after                            # seconds; refused before, granted at it
  decision.reason                                 # :window
end

ERP.allow?                                        # only true or false
ERP.peek(cost: 0).remaining                       # looks, takes nothing
ERP.reset                                         # forgets all that was taken
slow = Paddlegate.throttle("slow", :hour, wait_timeout: 0.5)
slow.within_limit { "the first" }

begin
  slow.within_limit { "would have to wait for an hour" }
rescue Paddlegate::OverLimit => e
  e.retry_after                                   # a number of seconds for retry_job(wait: e.retry_after)
  e.limiter                                       # "slow"
  e.decision                                      # all numbers
end
reports = Paddlegate.concurrent("reports", 1, wait_timeout: 0, policy: :ignore)

if reports.within_limit { "build the report" }.equal?(Paddlegate::SKIPPED)
  "somebody builds it already"
end
mails = Paddlegate.window("mails", 100, :minute, on_unavailable: :local, share: 25)

decision = mails.try_acquire
decision.degraded?                                # true when it was decided without Redis; permits have it too
ERP.override(limit: 20, expires_in: :hour)        # in all processes, whatever numbers they were started with
ERP.peek.limit                                    # 20
ERP.restore                                       # the policy rules again

ERP.pause(30)                                     # or until: Time.now + 30
ERP.try_acquire.reason                            # :paused
ERP.resume

ERP.controls                                      # version, paused_for, overrides, expires_in, learned
store = Paddlegate.points("shopify-43", 1000, 20)

store.within_limit(estimate: 252) do |permit|
  # With Net::HTTP: permit.learn(response, response.body, status: response.code.to_i)
  headers = {}
  body = '{"data": {}, "extensions": {"cost": {"requestedQueryCost": 252, "actualQueryCost": 12,
    "throttleStatus": {"maximumAvailable": 2000, "currentlyAvailable": 1500, "restoreRate": 100}}}}'
  permit.learn(headers, body, provider: :shopify) # :settled
end
store.controls.learned                            # [{ kind: :points, amount: 2000, interval: 20.0, ... }]

store.learn({ "Retry-After" => "30" }, status: 429)
store.try_acquire(estimate: 1).reason             # :paused, in all processes
store.resume

store.sync(remaining: 300)                        # where you know better than the headers
limiters = Paddlegate.policy_from(<<~JSON)        # or Paddlegate.load("limits.json")
  { "limiters": {
      "crm": { "window": { "limit": 100, "per": "minute" }, "wait_timeout": "3s" },
      "crm-export": { "concurrency": { "limit": 1 }, "on_limit": "ignore" } } }
JSON

limiters["crm"].within_limit { "call the CRM" }
limiters["crm-export"].on_limit                   # :ignore
gate = Paddlegate.gate(<<~JSON)                   # a RateLimitControl of Invantive
  { "RateLimitControlList": [{ "Url": "https://example.com/*", "SlotName": "web" }],
    "RateLimitControlSlotList": [
      { "Name": "web", "ActionsPerSecond": 2, "DelayMsOnOverflowSecond": 250, "FailOnOverflowSecond": false,
        "ActionsPerHour": 1000 }] }
JSON

verdict = gate.admit(url: "https://example.com/a") # also context:, log_on_code:, data_container_id:, ip:
verdict.allowed?                                  # true; false when the answer is a failure
verdict.delay                                     # seconds by which the answer is to be delayed
verdict.slot                                      # "web"; also level, retry_after, reason

gate.within_limit(url: "https://example.com/a") { "answer" } # sleeps the delay; may raise OverLimit
query = "query ($n: Int!) { products(first: $n) { edges { node { id title } } } }"
cost = Paddlegate.graphql_cost(query, { "n" => 50 }) # 52; rules: :github for its points
store.within_limit(estimate: cost) { |permit| permit.points_used(46) }
sync = Paddlegate.concurrent("sync", 5)

admission = sync.admit("job-16")                  # never waits; an id of 1 to 64 bytes
case admission.action
when :run then admission.permit.release           # after the work
when :wait, :reschedule then admission.after      # seconds after which to ask again; nil when that is not known
when :drop, :refuse then "discard it"
end

sync.admit_all(%w[job-17 job-18], on_limit: :drop).map(&:action) # one unit each; all run or none
sync.admit_all(%w[job-19 job-20], partly: true)   # each by itself
definition = { "name" => "order", "rateLimitConfig" => {
  "rateLimitKey" => "${workflow.correlationId}", "concurrentExecLimit" => 3, "policy" => "QUEUE" } }

orders = Paddlegate.workflow(definition, { "correlationId" => "customer-42" }, lock_timeout: :hour)
orders.name                                       # "customer-42"
orders.admit("run-1").action                      # :run, or :wait
sync.signal({ "type" => "rate_limited", "retry_after" => 30 }) # true: paused; false when it is another failure
sync.override_from({ "concurrency" => 2, "expires_at" => "2100-01-01T00:00:00Z" }) # what is in force, as override
sync.restore
sync.resume
jobs = Paddlegate.limiter("jobs", concurrency: 5, window: [100, :minute])

decision = jobs.enqueue("job-17")                 # an id of 1 to 64 bytes
if decision.allowed?
  jobs.release(decision.permit)                   # after the work
else
  decision.position                               # how many are before it
  decision.retry_after                            # seconds after which to claim
end

jobs.claim("job-17").status                       # :granted, :queued, or :gone when it has no ticket
jobs.cancel("job-17")                             # out of the queue; a lease that it has ends too
stats = jobs.stats                                # of all processes
stats.granted                                     # immediate + waited
stats.wait_time                                   # seconds; also refused, held_time, overages, reclaimed, leases ...

Paddlegate.limiters.each do |limiter|             # whatever language made them
  limiter.name
  limiter.limits                                  # [{ kind: :concurrency, amount: 5, interval: 30.0, ... }]
  limiter.last_used                               # seconds since 1970
end
