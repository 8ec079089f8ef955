"""A login guard: five attempts a minute for a user, twenty an hour, counted together.

With limits these are two hits, and a refusal by the second leaves the first one counted.
Guide: docs/src/guides/coming-from-limits.md
"""

from paddlegate import Paddlegate, Window

pg = Paddlegate()  # PADDLEGATE_URL, or this process


def guard(user):
    return pg.limiter(f"login:{user}", per_minute=Window(5, "minute"), per_hour=Window(20, "hour"))


for attempt in range(6):  # limiter.hit(parse("5/minute"), "login", user)
    decision = guard("ada").try_acquire()
    if not decision:
        print(attempt, "attempts")  # -> 5 attempts
        print(decision.label)  # -> per_minute
print(guard("ada").peek().remaining)  # 0
print(guard("bob").allow())  # -> True
guard("ada").reset()  # limiter.clear(...)
print(guard("ada").allow())  # -> True
