"""Metrics that the server pushes by OTLP, read with the Python package of its messages."""

from __future__ import annotations

import http.server
import json
import math
import pathlib
import re
import ssl
import subprocess
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from client import Client
from conftest import COMMAND, Served
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_CUMULATIVE

# By name and labels.
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]

LIMITERS = 2_500


class Receiver(http.server.ThreadingHTTPServer):
    """A receiver of OTLP on a free port."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.scheme = "http"
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
            self.scheme = "https"
        self.status = 200
        self.rejected = 0
        self.requests: list[tuple[str, dict[str, str], ExportMetricsServiceRequest]] = []
        self.thread = threading.Thread(target=self.serve_forever)
        self.thread.start()

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"{self.scheme}://127.0.0.1:{self.server_port}"

    def end(self) -> None:
        """Stop and join."""
        self.shutdown()
        self.thread.join(60)
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    """Keeps what it is sent."""

    protocol_version = "HTTP/1.1"
    server: Receiver

    def do_POST(self) -> None:
        """Decode the message, and answer as the test wants."""
        body = self.rfile.read(int(self.headers["content-length"]))
        message = ExportMetricsServiceRequest.FromString(body)
        self.server.requests.append(
            (self.path, {name.lower(): value for name, value in self.headers.items()}, message)
        )
        answer = ExportMetricsServiceResponse()
        answer.partial_success.rejected_data_points = self.server.rejected
        text = answer.SerializeToString()
        self.send_response(self.server.status)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that ends with the test."""
    receiver = Receiver()
    yield receiver
    receiver.end()


def until(holds: Callable[[], bool]) -> None:
    """Wait for a condition; pytest bounds the time."""
    while not holds():
        time.sleep(0.02)


def pushes(receiver: Receiver) -> list[Samples]:
    """The samples of each whole push, the messages of which have one time."""
    by_time: dict[int, Samples] = {}
    for _, _, message in receiver.requests[:]:
        for resource in message.resource_metrics:
            for metric in resource.scope_metrics[0].metrics:
                for at, name, labels, value in samples_of(metric):
                    samples = by_time.setdefault(at, {})
                    assert (name, labels) not in samples, f"twice: {name} {labels}"
                    samples[name, labels] = value
    # The last one may not be whole.
    return [by_time[at] for at in sorted(by_time)]


def samples_of(metric: Any) -> Iterator[tuple[int, str, frozenset[tuple[str, str]], float]]:
    """The samples that the text of Prometheus has of a metric."""
    kind = metric.WhichOneof("data")
    data = getattr(metric, kind)
    assert metric.description
    assert metric.unit == ("s" if "seconds" in metric.name else "1")
    if kind != "gauge":
        assert data.aggregation_temporality == AGGREGATION_TEMPORALITY_CUMULATIVE
    for point in data.data_points:
        labels = frozenset((it.key, it.value.string_value) for it in point.attributes)
        assert len(labels) == len(point.attributes)
        assert 0 < point.start_time_unix_nano <= point.time_unix_nano
        at = point.time_unix_nano
        if kind != "histogram":
            yield at, metric.name, labels, getattr(point, point.WhichOneof("value"))
            continue
        assert len(point.bucket_counts) == len(point.explicit_bounds) + (
            1 if point.bucket_counts else 0
        )
        total = 0
        bounds = [*point.explicit_bounds, math.inf]
        for bound, count in zip(bounds, point.bucket_counts or [0], strict=True):
            total += count
            le = "+Inf" if bound == math.inf else f"{bound:.6f}".rstrip("0").rstrip(".")
            yield at, f"{metric.name}_bucket", labels | {("le", le)}, total
        assert total == point.count
        yield at, f"{metric.name}_sum", labels, point.sum
        yield at, f"{metric.name}_count", labels, point.count


def scraped(url: str) -> Samples:
    """The samples of /metrics."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as response:
        text = response.read().decode()
    samples: Samples = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        sample = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
        assert sample is not None, line
        labels = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', sample[2] or "")
        samples[sample[1], frozenset(labels)] = float(sample[3])
    return samples


def limits_of(path: pathlib.Path, limiters: dict[str, Any]) -> str:
    """Write a limits file."""
    path.write_text(json.dumps({"limiters": limiters}))
    return str(path)


def test_the_receiver_gets_what_is_scraped(receiver: Receiver, tmp_path: pathlib.Path) -> None:
    """The same names, labels and values, of counters, gauges and histograms."""
    limits = limits_of(
        tmp_path / "limits.json",
        {
            "api": {"bucket": {"limit": 3, "per": "day"}},
            "users": {"bucket": {"limit": 3, "per": "day"}, "keyed": True},
            "workers": {"concurrency": {"limit": 1, "lock_timeout": "1h"}},
        },
    )
    server = Served("--limits", limits, "--otlp", receiver.url, "--otlp-interval", "1")
    client = Client(server.url)
    for _ in range(4):
        client.acquire("api")
    client.acquire("users", key="alice")
    client.override("api", limit=2)
    held = client.acquire("workers")
    waiting = threading.Thread(target=lambda: client.acquire("workers", wait_timeout=60))
    waiting.start()
    until(lambda: client.inspect("workers")["ticket_count"] == 1)
    client.release("workers", permit=held["permit"])
    waiting.join(60)
    expected = scraped(server.url)
    until(lambda: expected in pushes(receiver))
    kinds = Counter(name.rpartition("_")[2] for name, _ in expected)
    assert min(kinds["total"], kinds["bucket"], kinds["limit"]) >= 2
    assert ("paddlegate_override_info" in {name for name, _ in expected}) is True
    path, headers, message = receiver.requests[0]
    assert path == "/v1/metrics"
    assert headers["content-type"] == "application/x-protobuf"
    assert headers["user-agent"].startswith("paddlegate/")
    resource = {
        it.key: it.value.string_value for it in message.resource_metrics[0].resource.attributes
    }
    assert resource["service.name"] == "paddlegate"
    assert resource["service.instance.id"]
    metrics = {
        metric.name: metric
        for _, _, message in receiver.requests
        for metric in message.resource_metrics[0].scope_metrics[0].metrics
    }
    assert metrics["paddlegate_requests_total"].sum.is_monotonic
    assert not metrics["paddlegate_units_total"].sum.is_monotonic, "corrections lower it"
    # What was counted since the last push is pushed when the server stops.
    client.acquire("users", key="bob")
    assert server.stop() == 0
    granted = ("limiter", "users"), ("keyed", "true"), ("result", "granted")
    assert pushes(receiver)[-1]["paddlegate_requests_total", frozenset(granted)] == 2


def test_many_limiters_are_sent_in_several_messages(receiver: Receiver) -> None:
    """Receivers bound the length of a message."""
    server = Served("--otlp", f"{receiver.url}/here?for=us", "--otlp-interval", "3600")
    client = Client(server.url)
    policy = {"bucket": {"limit": 3, "per": "day"}}
    for i in range(LIMITERS):
        client.acquire(f"customer-{i}", policy=policy)
    expected = scraped(server.url)
    # It pushes when it stops.
    assert server.stop() == 0
    assert pushes(receiver)[-1] == expected
    assert {path for path, _, _ in receiver.requests} == {"/here?for=us"}
    longest = max(len(message.SerializeToString()) for _, _, message in receiver.requests)
    assert longest < 4 << 20
    names = [
        len({it.attributes[0].value.string_value for it in metric.sum.data_points})
        for _, _, message in receiver.requests
        for metric in message.resource_metrics[0].scope_metrics[0].metrics
        if metric.name == "paddlegate_units_total"
    ]
    assert max(names) == 1_000


def test_a_receiver_that_fails_is_told_once_and_gets_all_later(
    receiver: Receiver, tmp_path: pathlib.Path
) -> None:
    """The sums count from the start, so a lost push is made up for."""
    limits = limits_of(tmp_path / "limits.json", {"api": {"bucket": {"limit": 3, "per": "day"}}})
    receiver.status = 503
    server = Served("--limits", limits, "--otlp", receiver.url, "--otlp-interval", "1")
    assert server.said() == "otlp: the metrics were not taken, and are sent again: status=503\n"
    Client(server.url).acquire("api")
    count = len(receiver.requests)
    until(lambda: len(receiver.requests) >= count + 2)
    receiver.status = 200
    assert server.said() == "otlp: the metrics are taken again\n"
    receiver.rejected = 7
    reason = "the receiver rejects some: points=7"
    assert server.said() == f"otlp: the metrics were not taken, and are sent again: {reason}\n"
    receiver.rejected = 0
    assert server.said() == "otlp: the metrics are taken again\n"
    expected = scraped(server.url)
    until(lambda: expected in pushes(receiver))
    assert server.stop() == 0


def test_headers_are_sent_and_never_shown(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token of the receiver."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hidden, x-scope=a")
    server = Served("--otlp", receiver.url)
    until(lambda: len(receiver.requests) > 0)
    _, headers, _ = receiver.requests[0]
    assert (headers["authorization"], headers["x-scope"]) == ("Bearer hidden", "a")
    assert server.stop() == 0
    shown = subprocess.run(
        [COMMAND, "serve", "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    assert "hidden" not in shown.stdout


def test_a_receiver_with_tls_must_have_a_known_certificate(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the system, or of SSL_CERT_FILE."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
        f" -subj /CN=receiver -addext subjectAltName=IP:127.0.0.1"
        f" -addext basicConstraints=critical,CA:FALSE -keyout {key} -out {certificate}".split(),
        check=True,
        capture_output=True,
        timeout=60,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    receiver = Receiver(context)
    try:
        unknown = Served("--otlp", receiver.url)
        assert "certificate" in unknown.said().lower()
        assert unknown.stop() == 0
        assert not receiver.requests
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        known = Served("--otlp", receiver.url)
        until(lambda: len(receiver.requests) > 0)
        assert known.stop() == 0
    finally:
        receiver.end()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--otlp", "ftp://collector"], "--otlp"),
        (["--otlp", "collector:4318"], "--otlp"),
        (["--otlp", "http://user:hidden@collector"], "--otlp"),
        (["--otlp", "http://c", "--otlp-interval", "0.5"], "--otlp-interval"),
        (["--otlp", "http://c", "--otlp-interval", "-1"], "--otlp-interval"),
        (["--otlp-interval", "0"], "--otlp-interval"),
        (["--otlp", "http://c", "--otlp-headers", "hidden"], "--otlp-headers"),
        (["--otlp", "http://c", "--otlp-headers", "a=1,b c=hidden"], "--otlp-headers"),
    ],
)
def test_a_wrong_option_is_named_and_not_quoted(arguments: list[str], named: str) -> None:
    """It may have a password."""
    ended = subprocess.run(
        [COMMAND, "serve", "--listen", "127.0.0.1:0", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert all(text in ended.stderr for text in (named, "must be "))
    assert "hidden" not in ended.stderr
