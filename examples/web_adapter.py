"""An adapter for WSGI that is not in the package, and the kit that tests it in two processes.

Guide: docs/src/guides/web-adapters.md
"""

import os
from http import HTTPStatus
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from paddlegate import OverLimit, UnavailableError
from paddlegate.testing import CHECKS, Host
from paddlegate.web import Guard


class Limited:
    def __init__(self, app, limiter, **options):
        self.app, self.guard = app, Guard(limiter, options)

    def __call__(self, environ, start_response):
        try:
            held = self.guard.admit(environ, caller_of)  # None: not limited
        except (OverLimit, UnavailableError) as error:
            refusal = self.guard.refusal(error)
            start_response(line(refusal.status), [*refusal.headers.items()])
            return [refusal.body]
        if held is None:
            return self.app(environ, start_response)
        return Body(self.app, environ, start_response, held)


class Body:
    """The parts of a response, which a server closes at their end or when the client has gone."""

    def __init__(self, app, environ, start_response, held):
        def start(status, headers, *error):
            self.status = int(status[:3])
            return start_response(status, [*headers, *held.fields.items()], *error)

        self.held, self.status = held, 500
        try:
            self.parts = app(environ, start)
        except BaseException:
            held.end(500)
            raise

    def __iter__(self):
        return iter(self.parts)

    def close(self):
        getattr(self.parts, "close", lambda: None)()
        self.held.end(self.status)  # ends the lease, and refunds if `refund_if` says so


def caller_of(environ):
    return environ.get("REMOTE_ADDR"), environ.get("HTTP_X_FORWARDED_FOR")


def line(status):
    return f"{status} {HTTPStatus(status).phrase}"


class Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 200


def serve(kit):  # in two processes
    def app_of(case):
        def app(environ, start_response):
            parts = case.parts() if case.streams else [case.text().encode()]
            start_response("200 OK", [])
            return parts

        return Limited(app, case.limiter, **case.options)

    apps = {case.path: app_of(case) for case in kit.cases(header)}

    def site(environ, start_response):
        return apps[environ["PATH_INFO"]](environ, start_response)

    server = make_server("127.0.0.1", kit.port, site, server_class=Threads, handler_class=Quiet)
    server.serve_forever()


def header(environ, name):
    return environ.get("HTTP_" + name.upper().replace("-", "_"))


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass

    def get_stderr(self):
        return open(os.devnull, "w")


if __name__ == "__main__":
    url = os.environ.get("PADDLEGATE_URL", "redis://localhost:6379/0")
    # check_adapter does the same without a word.
    with Host(f"{Path(__file__).stem}:serve", url) as host:
        for name, check in CHECKS.items():
            check(host)
            print(name)
