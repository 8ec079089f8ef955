"""A small Open Job Spec server: jobs in memory, all limits by Paddlegate."""

import json
import re
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from jobs import Clock, ConflictError, Jobs, MissingError
from paddlegate import InvalidError, Paddlegate, UnavailableError

CONTENT = "application/openjobspec+json"


class Server:
    """Serves on a free port of this machine while it is entered.

    Servers with the same `prefix` share their limits, as those of one company do.
    """

    def __init__(self, url, clock=None, prefix=None):
        self.clock = clock or Clock()
        self.prefix = prefix or f"ojs-{uuid.uuid4().hex}"
        store = Paddlegate(url, timeout=20, clock=self.clock.test_clock)
        self.jobs = Jobs(store, self.prefix, self.clock)
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))

    @property
    def port(self):
        return self._http.server_port

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _handler(server):  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            wbufsize = -1

            def handle_any(self):
                # Jobs are a plain list; it is the limits that many servers share.
                with server._lock:
                    status, body, headers = server.answer(self.command, self.path, self._body())
                self.send_response(status)
                text = b"" if body is None else json.dumps(body).encode()
                for name, value in {"Content-Type": CONTENT, **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815

            def _body(self):
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))

            def log_message(self, *_):
                pass

        return Handler

    def answer(self, method, target, body):
        """Give status, body and headers of the answer to a request."""
        parts = urlsplit(target)
        try:
            for verb, pattern, action in ROUTES:
                # The path is taken apart before it is decoded, because a key may have a slash.
                if verb == method and (found := re.fullmatch(pattern, parts.path)):
                    arguments = [unquote(argument) for argument in found.groups()]
                    given = _read(body) if method in ("POST", "PUT") else parse_qs(parts.query)
                    return action(self.jobs, *arguments, given)
            raise MissingError(f"no such place: {method} {parts.path}")
        except InvalidError as error:
            return _fault(400, "invalid_request", error, argument=error.argument)
        except MissingError as error:
            return _fault(404, "not_found", error)
        except ConflictError as error:
            return _fault(409, "conflict", error)
        except UnavailableError as error:
            return _fault(503, "unavailable", error)


def _read(body):
    try:
        value = json.loads(body)
    except ValueError:
        raise InvalidError("must be JSON", "body") from None
    if not isinstance(value, dict):
        raise InvalidError("must be a JSON object", "body")
    return value


def _text(body, name):
    text = body.get(name)
    if not isinstance(text, (str, type(None))):
        raise InvalidError("must be a text", name)
    return text


def _fault(status, code, error, **details):
    fault = {"code": code, "message": str(error), "retryable": status == 503, "details": details}
    return status, {"error": fault | {"request_id": str(uuid.uuid4())}}, {}


def _job_answer(status, job):
    return status, {"job": job.show()}, job.key.headers() if job.key else {}


def _enqueue(jobs, body):
    return _job_answer(201, jobs.enqueue(body))


def _fetch(jobs, body):
    queues, count = body.get("queues"), body.get("count", 1)
    if not isinstance(queues, list) or type(count) is not int or count < 1:
        raise InvalidError("needs queues, which is a list, and a count from 1", "queues")
    started = jobs.fetch(queues, count, _text(body, "worker_id"))
    return 200, {"jobs": [job.show() for job in started]}, {}


def _ack(jobs, body):
    return _job_answer(200, jobs.ack(_text(body, "job_id"), _text(body, "worker_id")))


def _nack(jobs, body):
    job, worker = _text(body, "job_id"), _text(body, "worker_id")
    return _job_answer(200, jobs.nack(job, worker, body.get("error", {})))


def _job(jobs, number, _):
    return 200, jobs.find(number).show(), {}


def _events(jobs, _):
    return 200, {"events": jobs.events}, {}


def _key_answer(jobs, key):
    return 200, key.show(jobs.waiting(key)), key.headers()


def _keys(jobs, query):
    page, size = (_number(query, name, most) for name, most in (("page", 1), ("per_page", 20)))
    keys = [jobs.keys[name] for name in sorted(jobs.keys)]
    shown = [key.show(jobs.waiting(key)) for key in keys[(page - 1) * size : page * size]]
    pagination = {"total": len(keys), "page": page, "per_page": size}
    return 200, {"items": shown, "pagination": pagination, "rate_limits": shown}, {}


def _number(query, name, default):
    [text] = query.get(name, [str(default)])
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 10_000:
        raise InvalidError(f"must be a number from 1: {name}={text!r}", name)
    return int(text)


def _key(jobs, name, _):
    return _key_answer(jobs, jobs.known(name))


def _override(jobs, name, body):
    return _key_answer(jobs, jobs.override(name, body))


def _restore(jobs, name, _):
    jobs.known(name).restore()
    return 204, None, {}


def _clear(jobs, name, _):
    jobs.clear(name)
    return 204, None, {}


KEY = "/ojs/v1/rate-limits/([^/]+)"
ROUTES = (
    ("POST", "/ojs/v1/jobs", _enqueue),
    ("POST", "/ojs/v1/workers/fetch", _fetch),
    ("POST", "/ojs/v1/workers/ack", _ack),
    ("POST", "/ojs/v1/workers/nack", _nack),
    ("GET", "/ojs/v1/admin/jobs/([^/]+)", _job),
    ("GET", "/ojs/v1/events", _events),
    ("GET", "/ojs/v1/rate-limits", _keys),
    ("GET", KEY, _key),
    ("PUT", KEY, _override),
    ("PUT", f"{KEY}/override", _override),
    ("DELETE", f"{KEY}/override", _restore),
    ("DELETE", KEY, _clear),
)
