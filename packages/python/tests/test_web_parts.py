# mypy: ignore-errors
"""What the adapters for web hosts do beside the kit, each called without a server."""

import ast
import asyncio
import importlib
import inspect
import json
import os
import subprocess
import sys
from typing import Annotated

import pytest
from django.conf import settings
from fastapi import APIRouter, FastAPI, Header, HTTPException
from fastapi.testclient import TestClient
from flask import Flask
from paddlegate import AsyncPermit, InvalidError, Paddlegate
from paddlegate.asgi import RateLimit
from paddlegate.fastapi import Refused, limited
from paddlegate.flask import init_app
from paddlegate.flask import limited as flask_limited
from starlette.responses import PlainTextResponse, Response
from werkzeug.exceptions import NotFound

if not settings.configured:
    settings.configure(
        ALLOWED_HOSTS=["*"],
        REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": [], "UNAUTHENTICATED_USER": None},
    )

from django import setup
from django.http import Http404, HttpResponse
from django.test import RequestFactory
from paddlegate.django import limited as django_limited
from paddlegate.drf import Throttle
from rest_framework.response import Response as FrameworkResponse
from rest_framework.views import APIView

HTTP = {"type": "http", "path": "/", "headers": [], "client": ("192.0.2.1", 1)}


@pytest.fixture
def pg():
    return Paddlegate("memory://")


@pytest.fixture
def one(pg):
    return pg.window("one", 1, "hour")


@pytest.fixture
def lease(pg):
    return pg.concurrent("lease", 1)


async def answered(app, scope=HTTP, messages=({"type": "http.request"},)):
    """Return what an ASGI application sends."""
    sent, received = [], iter(messages)

    async def receive():
        return next(received)

    async def send(message):
        sent.append(message)

    await app(dict(scope), receive, send)
    return sent


def own(_request, error):
    return PlainTextResponse(f"come back: {error.reason}", 420)


def test_wrong_options_are_named(one, run):
    proxies = {"trusted_proxies": ["nowhere"]}
    for options in {"fields": "no"}, {"wait": -1}, {"wait": "1"}, {"status": 200}, proxies:
        with pytest.raises(InvalidError) as raised:
            limited(one, **options)
        assert raised.value.argument in options
    with pytest.raises(TypeError, match="'wrong'"):
        RateLimit(None, one, wrong=1)
    with pytest.raises(InvalidError) as raised:
        flask_limited(None)
    assert raised.value.argument == "limiter"
    for option in {"status": 420}, {"over_limit": own}:
        with pytest.raises(InvalidError) as raised:
            Throttle.of(one, **option)
        assert raised.value.argument in option


def test_asgi_answers_as_it_is_told(one, run):
    limit = RateLimit(PlainTextResponse("ok", headers={"RateLimit": "mine"}), one, over_limit=own)
    granted, refused = run(answered(limit)), run(answered(limit))
    assert dict(granted[0]["headers"])[b"ratelimit"] == b"mine"
    assert refused[0]["status"] == 420
    assert refused[1]["body"] == b"come back: window"
    assert b"retry-after" in dict(refused[0]["headers"])


def test_a_refusal_without_a_known_end_has_no_retry_after(pg, run):
    refused = run(answered(RateLimit(None, pg.paused("off"))))
    assert refused[0]["status"] == 429
    assert b"retry-after" not in dict(refused[0]["headers"])
    assert json.loads(refused[1]["body"])["detail"] == "over the limit"


def test_asgi_leaves_what_is_no_request(one, run):
    async def app(scope, receive, send):
        await send(scope["type"])

    for kind in "lifespan", "websocket":
        assert run(answered(RateLimit(app, one), {"type": kind})) == [kind]
    assert one.peek().allowed


def test_the_key_of_asgi_may_be_awaited_and_need_be_no_text(pg, run):
    limiter = pg.window("users", 1, "hour", keyed=True)

    async def user_of(scope):
        await asyncio.sleep(0)
        return scope["user"]

    limit = RateLimit(PlainTextResponse("ok"), limiter, key=user_of)
    for user, status in (1, 200), (1, 429), (2, 200), (None, 200), (None, 200):
        assert run(answered(limit, {**HTTP, "user": user}))[0]["status"] == status


def test_a_lease_of_asgi_ends_with_the_body_and_with_the_client(lease, run):
    async def after_body(scope, receive, send):
        await Response("ok")(scope, receive, send)
        assert lease.peek().allowed

    async def after_client(scope, receive, send):
        assert not lease.peek().allowed
        await receive()
        assert lease.peek().allowed

    async def cancelled():
        async def app(scope, receive, send):
            begun.set()
            await asyncio.sleep(1000)

        begun = asyncio.Event()
        task = asyncio.create_task(answered(RateLimit(app, lease)))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert lease.peek().allowed

    run(answered(RateLimit(after_body, lease)))
    run(answered(RateLimit(after_client, lease), messages=[{"type": "http.disconnect"}]))
    run(cancelled())


def test_fastapi_shows_its_refusals(pg, one):
    per_user = pg.window("users", 10, "hour", keyed=True)

    def user_id(x_api_key: Annotated[str, Header()]):
        return x_api_key

    app = FastAPI()
    router = APIRouter(prefix="/router", dependencies=[limited(one, status=503)])

    @app.get("/", dependencies=[limited(per_user, key=user_id, cost=5)])
    def root():
        return "ok"

    @app.get("/permit")
    def permit(permit: Annotated[AsyncPermit, limited(one, over_limit=own)]):
        return permit.decision.remaining

    @app.get("/mine", dependencies=[limited(one)], responses={429: {"description": "mine"}})
    @router.get("/")
    @router.get("/second")
    def mine():
        raise HTTPException(404)

    @app.get("/free", responses={404: {}})
    def free():
        return "ok"

    app.include_router(router)
    paths = app.openapi()["paths"]
    responses = {path: paths[path]["get"]["responses"] for path in paths}
    assert responses["/"]["429"]["description"] == "Over the limit"
    assert "Retry-After" in responses["/"]["429"]["headers"]
    assert paths["/"]["get"]["parameters"][0]["name"] == "x-api-key"
    assert "429" in responses["/permit"]
    assert responses["/mine"]["429"]["description"] == "mine"
    assert "503" in responses["/router/"]
    assert "503" in responses["/router/second"]
    assert responses["/free"].keys() == {"200", "404"}

    client = TestClient(app)
    ada = {"X-API-Key": "ada"}
    assert [client.get("/", headers=ada).status_code for _ in range(3)] == [200, 200, 429]
    assert client.get("/").status_code == 422
    first = client.get("/mine")
    assert (first.status_code, "ratelimit" in first.headers) == (404, True)
    assert client.get("/permit").text == "come back: window"
    assert client.get("/router/").status_code == 503
    refused = client.get("/mine")
    assert refused.json()["retry_after"] == int(refused.headers["retry-after"])

    whole = FastAPI(dependencies=[limited(one)])
    whole.get("/")(free)

    @whole.exception_handler(Refused)
    async def answer(request, error):
        return PlainTextResponse(error.__cause__.limiter, error.status_code)

    assert TestClient(whole).get("/").text == "one"

    by_status = FastAPI(dependencies=[limited(one)])
    by_status.get("/")(free)

    @by_status.exception_handler(429)
    async def short(request, error):
        return PlainTextResponse(error.detail, error.status_code, error.headers)

    refused = TestClient(by_status).get("/")
    assert refused.text == "over the limit"
    assert "retry-after" in refused.headers


def test_a_view_of_flask_that_fails_keeps_no_lease(lease):
    whole = Flask("whole")
    init_app(whole, lease)
    app = Flask("app")

    @app.get("/")
    @flask_limited(lease)
    async def fails():
        assert not lease.peek().allowed
        raise ZeroDivisionError

    whole.add_url_rule("/", view_func=app.view_functions["fails"].__wrapped__)
    whole.view_functions["fails"] = whole.ensure_sync(whole.view_functions["fails"])
    for it in app, whole:
        it.testing = True
        with pytest.raises(ZeroDivisionError):
            it.test_client().get("/")
        assert lease.peek().allowed


def test_flask_refunds_by_the_status_of_an_error(one):
    app = Flask("app")
    app.logger.disabled = True
    errors = [NotFound(), OSError()]
    errors[1].code = "no status"

    @app.get("/")
    @flask_limited(one, refund_if=lambda status: status == 404)
    def fails():
        raise errors.pop(0)

    client = app.test_client()
    assert [client.get("/").status_code for _ in range(3)] == [404, 500, 429]


def test_flask_answers_as_it_is_told(one, pg):
    app = Flask("app")
    # The request that the first refuses the second does not count.
    init_app(app, one, over_limit=lambda request, error: (request.path, 420))
    init_app(app, second := pg.window("second", 9, "hour"))
    app.add_url_rule("/", view_func=lambda: "ok")
    client = app.test_client()
    assert client.get("/").status_code == 200
    refused = client.get("/")
    assert (refused.status_code, refused.text) == (420, "/")
    assert "Retry-After" in refused.headers
    assert second.peek().remaining == 8


def test_django_answers_as_it_is_told(one, lease):
    request = RequestFactory().get("/")

    @django_limited(one, over_limit=lambda request, error: HttpResponse("no", status=420))
    def view(request):
        return HttpResponse("ok", headers={"RateLimit": "mine"})

    assert view(request).headers["RateLimit"] == "mine"
    assert view(request).status_code == 420

    @django_limited(lease, key=None, refund_if=lambda status: status == 404)
    def missing(request):
        raise Http404

    @django_limited(lease)
    def found(request):
        return HttpResponse("ok")

    for _ in range(2):
        with pytest.raises(Http404):
            missing(request)
    response = found(request)
    assert not lease.peek().allowed
    response.close()
    assert lease.peek().allowed

    @django_limited(one, key=lambda request: asyncio.sleep(0))
    def awaits(request):
        raise AssertionError

    with pytest.raises(InvalidError, match="coroutine"):
        awaits(request)


def test_the_throttle_of_the_settings(pg, monkeypatch):
    setup()
    limiter = pg.window("site", 1, "hour", keyed=True)
    monkeypatch.setattr(settings, "PADDLEGATE", {"LIMITER": limiter, "FIELDS": "x"}, raising=False)

    class View(APIView):
        throttle_classes = (Throttle,)

        def get(self, request):
            return FrameworkResponse(request.paddlegate.decision.remaining)

    granted, refused = (View.as_view()(RequestFactory().get("/")) for _ in range(2))
    assert (granted.data, granted.headers["X-RateLimit-Remaining"]) == (0, "0")
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 3600


def test_redis_that_goes_meanwhile_fails_no_request(server, run):
    limiter = Paddlegate(server.url, timeout=20).limiter("leases", concurrency=1, window=(9, 60))

    async def app(scope, receive, send):
        server.stop()
        await Response("ok")(scope, receive, send)

    def view(_request):
        server.stop()
        return HttpResponse("ok")

    options = {"refund_if": lambda _: True}
    assert run(answered(RateLimit(app, limiter, **options)))[0]["status"] == 200
    server.start()
    response = django_limited(limiter, **options)(view)(RequestFactory().get("/"))
    response.close()
    assert response.status_code == 200


def test_hosts_are_imported_on_demand(script):
    hosts = {"fastapi", "flask", "django", "rest_framework", "starlette", "pytest"}
    code = "import sys, paddlegate, paddlegate.asgi, paddlegate.testing; print(*sys.modules)"
    assert not hosts & {*script(code).stdout.split()}
    # Django needs its settings only when it is used.
    script("import paddlegate.django, paddlegate.drf")


def test_the_plugin(tmp_path):
    (tmp_path / "shop.py").write_text(
        "from paddlegate import Paddlegate\n"
        'pg = Paddlegate("redis://127.0.0.1:1")\n'
        'api = pg.window("api", 1, "minute")\n'
        'users = pg.limiter("users", window=(1, 60), block_after=(1, 60, 600), keyed=True)\n'
        'both = pg.together(api, pg.window("other", 9, "day"))\n'
    )
    (tmp_path / "test_shop.py").write_text(
        "import pytest, shop\n"
        "@pytest.mark.parametrize('number', range(3))\n"
        "def test_limits(number, paddlegate_clock):\n"
        "    assert shop.api.allow() and not shop.api.allow() and not shop.both.allow()\n"
        "    paddlegate_clock.advance('minute')\n"
        "    assert shop.api.allow()\n"
        "    assert shop.users.allow(key='ada') and not shop.users.allow(key='ada')\n"
    )
    words = ["-m", "pytest", "-q", "-p", "paddlegate.testing.plugin", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [sys.executable, *words],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert "3 passed" in run.stdout, run.stdout + run.stderr


def test_every_adapter_is_short():
    """An adapter maps names, keys, costs and errors, and decides nothing."""
    for name in "asgi", "fastapi", "flask", "django", "drf":
        text = inspect.getsource(importlib.import_module(f"paddlegate.{name}"))
        tree = ast.parse(text)
        docs = {
            line
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and ast.get_docstring(node)
            for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)
        }
        code = [
            line
            for number, line in enumerate(text.splitlines(), 1)
            if number not in docs and line.strip() and not line.strip().startswith("#")
        ]
        assert len(code) <= 80, (name, len(code))
