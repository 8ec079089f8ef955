"""What users write, for type checkers; nothing runs it. mypy and pyright check it strictly."""

from typing import Annotated, Any

import paddlegate.django
import paddlegate.drf
import paddlegate.fastapi
import paddlegate.flask
from fastapi import FastAPI, Header, Request
from flask import Flask
from paddlegate import SKIPPED, AsyncPermit, Limiter, OverLimit, Paddlegate, Permit, TestClock
from paddlegate.asgi import RateLimit, Scope
from paddlegate.celery import limited

clock = TestClock()
pg = Paddlegate("memory://", timeout=1, clock=clock)
erp: Limiter = pg.concurrent("erp", 3, wait_timeout=5, on_limit="ignore")
api = pg.limiter("api", concurrency=3, window=(20, 1))
tenants = pg.points("tenants", 100, 60, keyed=True)


def verbs() -> None:
    decision = api.try_acquire(1)
    if decision.allowed and decision.permit is not None:
        api.release(decision.permit)
    try:
        with api.within_limit(estimate=3, key="acme") as permit:
            permit.points_used(2)
    except OverLimit as refusal:
        print(refusal.retry_after, refusal.decision.remaining)
    with pg as store:
        print([limit.remaining for limit in store.window("w", 1, "minute").peek().limits])
    both = pg.together(api, erp)
    print(both.inspect().limits, erp.stats().granted, tenants.override(5).overrides)


async def asynchronous_verbs() -> None:
    async with api.within_limit() as permit:
        print(permit.decision.limit)
    asynchronous: AsyncPermit = await api.aacquire(2)
    await asynchronous.release()
    async with pg as store:
        print(await store.window("w", 1, "minute").aallow())


@erp.within_limit
def skipped(number: int) -> int:
    return number


@api.within_limit(estimate=3)
def estimated(name: str, *, permit: Permit) -> int:
    return permit.points_used(len(name)) == "settled"


@api.within_limit(estimate=3)
async def estimated_in_a_loop(name: str, *, permit: AsyncPermit) -> str:
    await permit.points_used(len(name))
    return name


def tenant_of(tenant: str, units: int) -> str:
    return tenant


@limited(tenants, key=tenant_of, estimate=3)
def task(tenant: str, units: int, *, permit: Permit) -> int:
    return permit.decision.remaining or units


def callers() -> int:
    if skipped(1) is SKIPPED:
        return 0
    # mypy has no type for a function that takes all arguments of another one but a named one.
    first = estimated("a")  # type: ignore[call-arg]
    return first + task("acme", 3) + skipped(2)  # type: ignore[call-arg]


async def asynchronous_callers() -> str:
    return await estimated_in_a_loop("a")  # type: ignore[call-arg]


def by_header(x_api_key: Annotated[str, Header()]) -> str:
    return x_api_key


async def by_session(request: Request) -> str | None:
    return request.cookies.get("session")


async def user_of(scope: Scope) -> str | None:
    return str(scope["user"]) if "user" in scope else None


def web() -> None:
    app = FastAPI(dependencies=[paddlegate.fastapi.limited(api, wait=2, fields="x")])
    app.add_middleware(RateLimit, limiter=tenants, key=user_of)
    RateLimit(app, lambda scope: tenants if scope["path"] == "/" else None, cost=5)

    @app.get("/", dependencies=[paddlegate.fastapi.limited(tenants, key=by_header, cost=5)])
    async def root(permit: Annotated[AsyncPermit, paddlegate.fastapi.limited(api)]) -> str | None:
        return permit.id

    @app.get("/session", dependencies=[paddlegate.fastapi.limited(tenants, key=by_session)])
    def session() -> str:
        return "ok"

    site = Flask(__name__)
    paddlegate.flask.init_app(site, tenants, trusted_proxies=["10.0.0.0/8"])

    @site.get("/")
    @paddlegate.flask.limited(tenants, refund_if=lambda status: status >= 500)
    def view(number: int) -> str:
        return str(number)

    @paddlegate.django.limited(tenants, skip=lambda request: request.user.is_staff)
    async def coroutine(request: Any) -> None:
        print(view(1))

    throttles: list[type[paddlegate.drf.Throttle]] = [paddlegate.drf.Throttle.of(tenants, cost=2)]
    print(root, session, coroutine, throttles)
