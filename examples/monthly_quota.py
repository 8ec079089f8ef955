"""A tenant spends fifty dollars a month, from the 15th on in Berlin, on streams of unknown length.

Guide: docs/src/guides/monthly-quota.md
"""

from paddlegate import Limiter, OverLimit, Paddlegate, Quota, TestClock

USD = 1_000_000


def stream(budget: Limiter, wanted: int) -> int:
    """Stream until it has cost so much or the budget is empty, and give what it has cost."""
    try:
        permit = budget.acquire(estimate=USD)
    except OverLimit as over:
        print(f"refused, again in {over.retry_after} s")
        return 0
    reserved = USD
    while reserved < wanted and permit.extend(USD):
        reserved += USD
    cost = min(wanted, reserved)
    permit.correct(cost)
    return cost


# 2025-04-14T21:59:00Z: a minute before the 15th in Berlin.
clock = TestClock(1_744_667_940_000_000)
pg = Paddlegate("memory://", clock=clock)
month = Quota(50 * USD, "month", timezone="Europe/Berlin", starts="15")
tenant = pg.limiter("tenant-7", usd=month)

spent = 0
for wanted in (12_345_678, 30 * USD, 30 * USD):
    spent += stream(tenant, wanted)
    print(spent)
print(stream(tenant, USD))  # -> 0
clock.advance(60)
print(stream(tenant, USD))  # -> 1000000
