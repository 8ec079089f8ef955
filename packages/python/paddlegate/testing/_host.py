"""`Host`: processes that serve the routes of the kit, and a client of theirs."""

from __future__ import annotations

import asyncio
import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from paddlegate.testing._cases import PATIENT, PAUSE, limiters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import Self

STARTS = 3
"""How often a host is started, since another program may take its port meanwhile."""


class Answer(NamedTuple):
    """A response."""

    status: int
    headers: Mapping[str, str]
    """By names in lower case."""
    body: bytes


class Host:
    """Two processes that run `serve`, named as `module:function`; for `with`.

    Their limiters are on the Redis of `url`.
    """

    def __init__(self, serve: str, url: str) -> None:
        self.limiters = limiters(url, run := uuid.uuid4().hex)
        self._words = [sys.executable, "-m", "paddlegate.testing", serve, url, run]
        self._processes: list[subprocess.Popen[bytes]] = []
        self.ports: list[int] = []

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="paddlegate-")
        try:
            starting = [self._start() for _ in range(2)]
            self.ports = [self._started(*it) for it in starting]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            _wait_for(process)
        self._folder.cleanup()

    def _start(self) -> tuple[subprocess.Popen[bytes], int]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        process = subprocess.Popen(
            [*self._words, str(port), self._folder.name],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._processes.append(process)
        return process, port

    def _started(self, process: subprocess.Popen[bytes], port: int) -> int:
        for _ in range(STARTS):
            if self._listens(process, port):
                return port
            process, port = self._start()
        raise RuntimeError("the host did not start: it said why above")

    def _listens(self, process: subprocess.Popen[bytes], port: int) -> bool:
        for _ in range(round(PATIENT / PAUSE)):
            if process.poll() is not None:
                return False
            try:
                return self._ask(port, "/free", {}).status == 200
            except OSError:
                time.sleep(PAUSE)
        return False

    def ask(self, path: str, headers: Mapping[str, str] | None = None, process: int = 0) -> Answer:
        """Ask one of the processes, and return its answer, of a stream only the beginning."""
        return self._ask(self.ports[process], path, headers or {})

    def _ask(self, port: int, path: str, headers: Mapping[str, str]) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3 * PATIENT)
        try:
            connection.request("GET", path, headers=dict(headers))
            response = connection.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            # A stream that an adapter should have refused would not end.
            read = response.read1 if response.length is None else response.read
            return Answer(response.status, fields, read())
        finally:
            connection.close()

    def open(self, path: str) -> socket.socket:
        """Ask for a body that does not end, and return the connection once the body has begun."""
        connection = socket.create_connection(("127.0.0.1", self.ports[0]), timeout=3 * PATIENT)
        connection.sendall(_request(path, {}))
        head = b""
        while b"begin" not in head:
            if not (part := connection.recv(4096)):
                connection.close()
                raise AssertionError(f"the body did not begin: {head!r}")
            head += part
        return connection

    def end(self, path: str) -> None:
        """End the bodies of a route."""
        Path(self._folder.name, path[1:]).touch()

    def at_once(
        self, count: int, path: str, headers: Mapping[str, str], processes: int
    ) -> list[int]:
        """Send requests at once, each on a connection of its own; return the status of each."""

        async def status(number: int) -> int:
            port = self.ports[number % processes]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(_request(path, headers))
            answer = await reader.read()
            writer.close()
            return int(answer.split(b" ", 2)[1])

        async def all_of_them() -> list[int]:
            return await asyncio.gather(*map(status, range(count)))

        return asyncio.run(all_of_them())


def _wait_for(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(PATIENT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _request(path: str, headers: Mapping[str, str]) -> bytes:
    fields = {"Host": "kit", "Connection": "close", **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode()


def until(condition: Callable[[], object]) -> None:
    """Wait for a condition."""
    for _ in range(round(3 * PATIENT / PAUSE)):
        if condition():
            return
        time.sleep(PAUSE)
    raise AssertionError("it did not come")
