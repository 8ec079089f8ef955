import asyncio
from paddlegate import OverLimit, Paddlegate

pg = Paddlegate("redis://127.0.0.1:12845")
api = pg.window("stripe", 100, "minute")  # 100 in any minute
shop = pg.points("shopify-42", 1000, 20)  # 1000 points, full again in 20 s
erp = pg.concurrent("erp", 50)  # 50 at once, in all processes
both = pg.limiter("github", concurrency=5, window=(80, 60), throttle=0.1)  # one atomic policy

with erp.within_limit() as permit:  # waits its turn for up to 5 s
    print("call the erp", permit.fence, "for at most", permit.expires_in, "s")

with api.within_limit():  # waits up to 5 s, then raises OverLimit
    print("call stripe")

with shop.within_limit(estimate=200) as permit:  # takes 200 points for now
    permit.points_used(50)  # it was 50: gives 150 back


@api.within_limit(wait_timeout=0)  # a decorator too; 0 does not wait
def charge():
    return "charged"


try:
    charge()
except OverLimit as over:
    print("come back in", over.retry_after, "s")

decision = both.try_acquire()  # never waits, never raises on refusal
if not decision:
    print(decision.reason, "refuses for", decision.retry_after, "s")


async def main():
    async with shop.within_limit(estimate=200) as permit:
        permit.points_used(50)


asyncio.run(main())
