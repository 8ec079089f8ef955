from paddlegate import OverLimit, Paddlegate, graphql_cost

pg = Paddlegate("redis://127.0.0.1:12845")  # Paddlegate(): PADDLEGATE_URL, else in memory
erp = pg.window("erp", 100, "minute")  # 100 in any minute

with erp.within_limit():  # waits up to 5 s, then raises OverLimit
    print("call the erp")


@erp.within_limit(wait_timeout=0)  # any function: def, async def, generators
def sync_orders():
    return "synced"


try:
    print(sync_orders())
except OverLimit as over:
    print("come back in", over.retry_after, "s")
decision = erp.try_acquire(3)  # takes 3 units or nothing, never raises on refusal
if not decision:
    print(decision.reason, "refuses for", decision.retry_after, "s;", decision.remaining, "left")

print(erp.allow())  # a plain boolean
print(erp.peek().remaining)  # looks, takes nothing
erp.reset()  # forgets all that was taken
shop = pg.points("shopify-42", 1000, 20)  # 1000 points, full again in 20 s

with shop.within_limit(estimate=200) as permit:
    permit.points_used(50)  # it was 50: gives 150 back

permit = shop.acquire(estimate=200)
print(shop.correct(permit.id, 250))  # any process may settle it, once
crm = pg.concurrent("crm", 5, lock_timeout=30)  # 5 at once; a lease lasts 30 s at most

with crm.within_limit() as permit:
    print("fence", permit.fence is not None)  # rises with every lease: hand it to what you write to
    if permit.expires_in < 5:
        permit.renew()  # the whole time again, or False
print(permit.lost)  # True from its deadline on, without asking anybody

permit = crm.acquire(id="job-7")  # with an id: again is no second lease
print(
    crm.release(permit.id), permit.release()
)  # "released" by its id, from any process; then "unknown"
print(crm.enqueue("job-8").status)  # "granted", or "queued" with `position` and `retry_after`
print(crm.claim("job-9").status)  # "granted", "queued", or "gone" without a ticket
crm.cancel("job-8")  # ends ticket and lease
job = crm.admit("job-10", "reschedule")  # or "wait", "drop"; "raise" and "ignore" take no place
print(job.action, job.after)  # "run"; or else "wait", "reschedule", "drop", "refuse", and seconds
if job.action == "run":
    crm.release(job.permit)  # when it has ended, however it has
batch = crm.admit_all(["job-11", "job-12"], "drop")  # all of them run or none
print([job.action for job in batch])
for job in batch:
    if job.action == "run":
        crm.release(job.permit)
stats = crm.stats()  # of all processes: granted, refused, waited, wait_time, held_time, ...
print(stats.granted, stats.immediate, stats.leases, stats.tickets)
for limiter in pg.limiters():  # whatever language made them
    print(limiter.name, limiter.limits, limiter.last_used)
crm.override(20)  # 20 at once from now on; what is not given stays as the policy has it
crm.override(3, expires_in=3600)  # or expires_at; a lower limit evicts nobody
print(crm.restore().overrides)  # the policy rules again
erp.pause(30)  # nothing passes for 30 s; or pause(until=...)
print(erp.try_acquire().reason)  # "paused", and retry_after says for how long
erp.resume()
print(erp.controls().paused_for)  # looks, changes nothing
lax = pg.window("mail", 100, "minute", on_unavailable="open")
if lax.try_acquire().degraded:
    print("granted without Redis, and not counted")
careful = pg.concurrent("bank", 20, on_unavailable="local", share=25)  # 5 in this process alone
print(careful.on_unavailable, careful.share)
answer = """{"extensions": {"cost": {"requestedQueryCost": 252, "actualQueryCost": 12, "throttleStatus":
    {"maximumAvailable": 2000, "currentlyAvailable": 1988, "restoreRate": 100}}}}"""
with shop.within_limit(estimate=252) as permit:
    permit.learn({"Content-Type": "application/json"}, answer, status=200)  # settles the estimate
print(shop.controls().learned[0].amount)  # 2000

erp.learn({"Retry-After": "30"}, status=429)  # a refusal pauses all processes
erp.resume()
shop.sync(500, limit=1000, restore_rate=50)  # what you know yourself: 500 are left of 1000
from pathlib import Path

Path("limits.json").write_text("""{"limiters": {
    "mailer": {"window": {"limit": 100, "per": "minute"}, "wait_timeout": "2s", "on_limit": "ignore"},
    "billing": {"concurrency": {"limit": 5, "lock_timeout": "30s"}, "throttle": {"every": "PT0.1S"}}
}}""")
limits = pg.load("limits.json")
print(limits["mailer"].allow(), limits["billing"].on_limit)
limits = pg.policy_from({"limiters": {"mailer": {"window": {"limit": 100, "per": "minute"}}}})
gate = pg.gate(
    {
        "RateLimitControlList": [{"Url": "https://example.com/api/*", "SlotName": "api"}],
        "RateLimitControlSlotList": [
            {"Name": "api", "ActionsPerSecond": 20, "DelayMsOnOverflowSecond": 250}
        ],
    }
)
verdict = gate.admit(url="https://example.com/api/orders", ip="10.0.0.1")
print(verdict.allowed, verdict.slot, verdict.delay)  # True api 0.0
with gate.within_limit(url="https://example.com/api/orders"):
    print("answered")
definition = {
    "name": "order",
    "rateLimitConfig": {
        "rateLimitKey": "${workflow.input.shop}",
        "concurrentExecLimit": 3,
        "policy": "QUEUE",
    },
}
runs = pg.workflow(definition, {"input": {"shop": "shop-7"}}, lock_timeout=60)
started = runs.admit("run-1")  # the policy of the definition: "wait", or "refuse" with REJECT
print(runs.name, started.action)  # shop-7 run
runs.release(started.permit)
failure = {"type": "rate_limited", "retry_after": 30}  # the error of a job
print(crm.signal(failure))  # True: nothing passes for 30 s; False when it is another failure
crm.resume()
changed = crm.override_from({"concurrency": 20, "expires_at": "2100-01-01T00:00:00Z"})
print(changed.overrides[0])  # what is not named stays; null removes
crm.restore()
query = "query ($n: Int!) { products(first: $n) { edges { node { id title } } } }"
cost = graphql_cost(query, {"n": 10})  # by the rules that "shopify" or "github" publishes
print(shop.acquire(estimate=cost).decision.allowed)
import asyncio


async def main():
    async with shop.within_limit(estimate=200) as permit:
        permit.points_used(50)  # takes effect in any case; await it to see how
    async with crm.within_limit():
        print(await erp.aallow(), await erp.apeek())


asyncio.run(main())
both = pg.limiter("stripe", concurrency=5, window=(100, 60), throttle=0.1)
more = pg.limiter("github", [("window", 80, "minute"), ("window", 900, "hour")])
print(both.allow(), more.allow())
