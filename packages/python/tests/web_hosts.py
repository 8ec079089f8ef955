# mypy: ignore-errors
"""The hosts of test_web.py: each function serves the routes of the kit in a process of its own."""

import flask as flask_
import gunicorn.app.base
import uvicorn
from django import setup
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import path
from fastapi import FastAPI
from paddlegate.asgi import RateLimit
from paddlegate.fastapi import limited
from paddlegate.flask import init_app
from paddlegate.flask import limited as flask_limited
from starlette.responses import PlainTextResponse, StreamingResponse


def run(app, kit):
    # The address of the client is not that of a proxy, which uvicorn would believe.
    uvicorn.run(app, host="127.0.0.1", port=kit.port, log_level="critical", proxy_headers=False)


def starlette_answer(case):
    return StreamingResponse(case.aparts()) if case.streams else PlainTextResponse(case.text())


def asgi(kit):
    def app_of(case):
        async def app(scope, receive, send):
            await starlette_answer(case)(scope, receive, send)

        return RateLimit(app, case.limiter, **case.options)

    cases = kit.cases(lambda scope, name: dict(scope["headers"]).get(name.lower().encode()))
    apps = {case.path: app_of(case) for case in cases}

    async def app(scope, receive, send):
        if scope["type"] == "http":
            await apps[scope["path"]](scope, receive, send)

    run(app, kit)


def fastapi(kit):
    app = FastAPI()

    def add(case):
        @app.get(case.path, dependencies=[limited(case.limiter, **case.options)])
        async def route():
            return StreamingResponse(case.aparts()) if case.streams else case.text()

    for case in kit.cases(lambda request, name: request.headers.get(name)):
        add(case)
    run(app, kit)


def serve_wsgi(app, kit):
    class Server(gunicorn.app.base.BaseApplication):
        def load_config(self):
            self.cfg.set("bind", f"127.0.0.1:{kit.port}")
            self.cfg.set("worker_class", "gthread")
            self.cfg.set("threads", 8)
            self.cfg.set("loglevel", "critical")

        def load(self):
            return app

    Server().run()


def flask(kit):
    """Views by their decorator and whole apps in turn."""

    def app_of(case, is_whole):
        app = flask_.Flask(__name__)
        app.logger.disabled = True
        if is_whole:
            init_app(app, case.limiter, **case.options)
        limit = (lambda view: view) if is_whole else flask_limited(case.limiter, **case.options)

        @app.get(case.path)
        @limit
        def view():
            return flask_.Response(case.parts()) if case.streams else case.text()

        return app

    cases = kit.cases(lambda request, name: request.headers.get(name))
    apps = {case.path: app_of(case, number % 2) for number, case in enumerate(cases)}
    serve_wsgi(lambda environ, start: apps[environ["PATH_INFO"]](environ, start), kit)


def django_settings(**more):
    settings.configure(
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=__name__,
        LOGGING={"version": 1, "loggers": {"django": {"level": "CRITICAL"}}},
        **more,
    )
    setup()


urlpatterns = []


def limit_views(kit, view_of):
    """Limit views by their decorator, by a middleware of their own, and by that of the site."""
    from paddlegate.django import RateLimitMiddleware, limited

    for number, case in enumerate(kit.cases(lambda request, name: request.headers.get(name))):
        if case.name in OF_SITE:
            of_site[case.path] = case.limiter
            view = view_of(case)
        elif number % 2:
            view = limited(case.limiter, **case.options)(view_of(case))
        else:
            options = {name.upper(): it for name, it in case.options.items()}
            settings.PADDLEGATE = {"LIMITER": case.limiter, **options}
            view = RateLimitMiddleware(view_of(case))
        urlpatterns.append(path(case.name, view))
    settings.PADDLEGATE = {"LIMITER": "web_hosts.of_path"}


# Those with no options.
OF_SITE = {"fields", "lease", "gone", "error"}
of_site = {}


def of_path(request):
    return of_site.get(request.path)


def django_view(case):
    def view(request):
        return StreamingHttpResponse(case.parts()) if case.streams else HttpResponse(case.text())

    return view


def django_coroutine(case):
    async def view(request):
        return StreamingHttpResponse(case.aparts()) if case.streams else HttpResponse(case.text())

    return view


SITE = ["django.middleware.common.CommonMiddleware", "paddlegate.django.RateLimitMiddleware"]


def django(kit):
    django_settings(MIDDLEWARE=SITE)
    limit_views(kit, django_view)
    serve_wsgi(get_wsgi_application(), kit)


def django_async(kit):
    django_settings(MIDDLEWARE=[*SITE, SITE[0]])
    limit_views(kit, django_coroutine)
    run(get_asgi_application(), kit)


def drf(kit):
    django_settings(
        INSTALLED_APPS=["rest_framework"],
        REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": [], "UNAUTHENTICATED_USER": None},
    )
    from paddlegate.drf import Throttle
    from rest_framework.views import APIView

    def add(case):
        if "status" in case.options:
            return

        class View(APIView):
            throttle_classes = (Throttle.of(case.limiter, **case.options),)

            def get(self, request):
                return django_view(case)(request)

        urlpatterns.append(path(case.name, View.as_view()))

    for case in kit.cases(lambda request, name: request.headers.get(name)):
        add(case)
    serve_wsgi(get_wsgi_application(), kit)
