"""The command as a process: signals, files, TLS, and refusals to start."""

from __future__ import annotations

import http.client
import json
import pathlib
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import pytest
from client import Client
from conftest import COMMAND, Served


def test_a_signal_reads_the_files_again(tmp_path: pathlib.Path) -> None:
    """A wrong file keeps the old one, and its fault is told."""
    path = tmp_path / "limits.json"
    path.write_text(json.dumps({"limiters": {"a": {"bucket": {"limit": 5, "per": "day"}}}}))
    server = Served("--limits", str(path))
    client = Client(server.url)
    assert client.acquire("a")["limit"] == 5
    path.write_text('{"limiters": {"a": {"bucket": {"limit": "five", "per": "day"}}}}')
    server.process.send_signal(signal.SIGHUP)
    said = server.said()
    assert "kept the files as they were" in said
    assert "at $.limiters.a.bucket.limit" in said
    assert client.acquire("a")["limit"] == 5
    path.write_text(json.dumps({"limiters": {"a": {"bucket": {"limit": 7, "per": "day"}}}}))
    server.process.send_signal(signal.SIGHUP)
    assert "read the files again" in server.said()
    assert client.acquire("a")["limit"] == 7
    assert server.stop() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--listen", "0.0.0.0:0"], "--tokens"),
        (["--limits", "nowhere.json"], "nowhere.json: cannot be read"),
        (["--redis", "localhost"], "--redis: "),
        (["--tls-cert", "cert.pem"], "--tls-key"),
        (["--max-wait", "-1"], "--max-wait"),
        (["--timeout", "0"], "--timeout"),
        (["--timeout", "-1"], "--timeout"),
        (["--on-unavailable", "open"], "--on-unavailable"),
        (["--local-share-percent", "50"], "--local-share-percent"),
        (["--ojs-metrics"], "--ojs"),
    ],
)
def test_what_is_wrong_is_told_at_the_start(arguments: list[str], message: str) -> None:
    """The status is 2, as of wrong input to `simulate`."""
    ended = subprocess.run(
        [COMMAND, "serve", *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2
    assert message in ended.stderr


def certify(key: pathlib.Path, certificate: pathlib.Path) -> ssl.SSLContext:
    """Write a new key and its certificate, and return a client that trusts it alone."""
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make.split(), *subject, *files], check=True, capture_output=True, timeout=60)
    return ssl.create_default_context(cafile=str(certificate))


def health(server: Served, context: ssl.SSLContext | None = None) -> bytes:
    """Ask on a new connection whether it runs."""
    with urllib.request.urlopen(f"{server.url}/healthz", timeout=60, context=context) as response:
        return bytes(response.read())


def test_tls(tmp_path: pathlib.Path) -> None:
    """The server has TLS by files, reads them again, and speaks nothing else on that address."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    first = certify(key, certificate)
    server = Served("--tls-cert", str(certificate), "--tls-key", str(key))
    assert server.url.startswith("https://")
    assert health(server, first) == b"ok\n"
    # Only half of what is new: the key is that of another certificate.
    second = certify(key, tmp_path / "next.pem")
    server.process.send_signal(signal.SIGHUP)
    assert "is not the private key" in server.said()
    assert health(server, first) == b"ok\n"
    (tmp_path / "next.pem").rename(certificate)
    server.process.send_signal(signal.SIGHUP)
    assert "read the files again" in server.said()
    assert health(server, second) == b"ok\n"
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        health(server, first)
    with pytest.raises((OSError, http.client.HTTPException)):
        urllib.request.urlopen(f"http{server.url.removeprefix('https')}/healthz", timeout=60)
    assert server.stop() == 0


def connected(server: Served, count: int) -> list[http.client.HTTPConnection]:
    """Open so many connections, each of which has had an answer and stays."""
    made = [
        http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60) for _ in range(count)
    ]
    for connection in made:
        connection.request("GET", "/v1/limiters")
        assert connection.getresponse().read()
    return made


def test_the_limit_of_open_files_is_raised() -> None:
    """The soft limit of most systems is far below what the server may have."""
    server = Served(files="64:1024")
    connections = connected(server, 100)
    assert health(server) == b"ok\n"
    for connection in connections:
        connection.close()
    assert server.stop() == 0


def test_a_low_limit_of_open_files_is_told_and_health_goes_on() -> None:
    """The bound of connections is lower than that of files, and beyond it health is told."""
    server = Served(files="100:100")
    assert "files=100 connections=50" in server.said()
    connections = connected(server, 50)
    assert health(server) == b"ok\n"
    assert "all connections are in use" in server.said()
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{server.url}/v1/limiters", timeout=60)
    assert refused.value.code == 503
    for connection in connections:
        connection.close()
    assert server.stop() == 0


@pytest.mark.parametrize(
    ("mode", "granted"),
    [
        (["fail_open"], [True, True, True]),
        (["fail_closed"], [False, False, False]),
        (["local", "--local-share-percent", "40"], [True, True, False]),
    ],
)
def test_what_decides_while_the_store_cannot(
    mode: list[str], granted: list[bool], tmp_path: pathlib.Path
) -> None:
    """With a time-out of its own; without the option a call is answered with 503."""
    path = tmp_path / "limits.json"
    path.write_text(json.dumps({"limiters": {"a": {"bucket": {"limit": 5, "per": "day"}}}}))
    arguments = ["--limits", str(path), "--redis", "redis://127.0.0.1:1", "--timeout", "30"]
    server = Served(*arguments, "--on-unavailable", *mode)
    client = Client(server.url)
    decisions = [client.acquire("a") for _ in granted]
    assert [decision["allowed"] for decision in decisions] == granted
    assert all(decision["degraded"] for decision in decisions)
    policy = {"bucket": {"limit": 5, "per": "day"}}
    assert client.acquire("b", policy=policy)["degraded"]
    assert client.together(limiters=[{"name": "a"}, {"name": "b", "policy": policy}])["degraded"]
    assert server.stop() == 0
