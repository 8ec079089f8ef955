"""The command as a process: signals, files, TLS, and refusals to start."""

from __future__ import annotations

import http.client
import json
import pathlib
import signal
import ssl
import subprocess
import urllib.request

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
    ],
)
def test_what_is_wrong_is_told_at_the_start(arguments: list[str], message: str) -> None:
    """The status is 2, as of wrong input to `simulate`."""
    ended = subprocess.run(
        [COMMAND, "serve", *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2
    assert message in ended.stderr


def test_tls(tmp_path: pathlib.Path) -> None:
    """The server has TLS by files, and speaks nothing else on that address."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make.split(), *subject, *files], check=True, capture_output=True, timeout=60)
    server = Served("--tls-cert", str(certificate), "--tls-key", str(key))
    assert server.url.startswith("https://")
    context = ssl.create_default_context(cafile=str(certificate))
    with urllib.request.urlopen(f"{server.url}/healthz", timeout=60, context=context) as response:
        assert response.read() == b"ok\n"
    with pytest.raises((OSError, http.client.HTTPException)):
        urllib.request.urlopen(f"http{server.url.removeprefix('https')}/healthz", timeout=60)
    assert server.stop() == 0
