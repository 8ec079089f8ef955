"""A login guard: five attempts a minute for a user, twenty an hour, counted together.

With limits these are two hits, and a refusal by the second leaves the first one counted.
Guide: docs/src/guides/coming-from-limits.md
"""

from paddlegate import Paddlegate, Window

pg = Paddlegate()  # PADDLEGATE_URL, or this process

guard = pg.limiter("login", keyed=True, per_minute=Window(5, "minute"), per_hour=Window(20, "hour"))

for attempt in range(6):  # limiter.hit(parse("5/minute"), "login", user)
    decision = guard.try_acquire(key="ada")
    if not decision:
        print(attempt, "attempts")  # -> 5 attempts
        print(decision.label)  # -> per_minute
print(guard.peek(key="ada").remaining)  # 0
print(guard.allow(key="bob"))  # -> True
guard.reset(key="ada")  # limiter.clear(...)
print(guard.allow(key="ada"))  # -> True
