"""The kit for adapters of web hosts, and a plugin of pytest for users' own tests.

An adapter for any host passes the kit if `check_adapter("my_module:serve", url)` raises nothing.
`serve(kit)` runs in two processes, each with the host on `kit.port`; every case is a route:

    def serve(kit):
        app = web.Application()
        for case in kit.cases(lambda request, name: request.headers.get(name)):
            app.router.add_get(case.path, limited(case.limiter, **case.options)(handler(case)))
        web.run_app(app, host="127.0.0.1", port=kit.port)

The handler answers with `case.text()`, and where `case.streams` with a body of the parts of
`case.parts()` or `case.aparts()`. The plugin is `paddlegate.testing.plugin`.
"""

from paddlegate.testing._cases import Case, Kit
from paddlegate.testing._checks import CHECKS, check_adapter
from paddlegate.testing._host import Answer, Host

__all__ = ["CHECKS", "Answer", "Case", "Host", "Kit", "check_adapter"]
