"""Servers on a port that a test chooses: none at all, a silent one, a Redis."""

import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit


def free_port():
    """Give a port that nobody listens on, below those that the kernel hands out to clients."""
    while True:
        port = random.randrange(10_000, 20_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class Silent:
    """Takes connections and never answers."""

    def __init__(self, port):
        self._socket = socket.create_server(("127.0.0.1", port))

    def end(self):
        self._socket.close()


class Redis:
    """A private Redis without anything in it. `REDIS_SERVER` names another program.

    The seconds in the file `clock`, as 8 bytes, are added to its clock.
    """

    def __init__(self, port, clock=None):
        program = os.environ.get("REDIS_SERVER") or system_redis()
        self.port = port
        self._folder = tempfile.mkdtemp()
        options = {"port": port, "bind": "127.0.0.1", "dir": self._folder, "save": ""}
        flags = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        faked = {}
        if clock:
            library = f"{self._folder}/clock.so"
            source = Path(__file__).parent / "clock.c"
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", source, "-o", library], check=True)
            faked = {"LD_PRELOAD": library, "PADDLEGATE_CLOCK": str(clock)}
        self._process = subprocess.Popen(
            [program, *flags], stdout=subprocess.DEVNULL, env={**os.environ, **faked}
        )
        deadline = time.monotonic() + 10
        while not answers(port):
            assert self._process.poll() is None, "redis did not start"
            assert time.monotonic() < deadline, "redis does not answer"
            time.sleep(0.01)

    def time(self):
        """Give the time of the server in seconds."""
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(b"TIME\r\n")
            return int(connection.recv(100).split(b"\r\n")[2])

    def freeze(self):
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self._process.send_signal(signal.SIGCONT)

    def end(self):
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder)


@contextmanager
def own_redis():
    """Give a worker of pytest-xdist a Redis of its own: tests empty it and count its scripts."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    server = Redis(free_port())
    os.environ["PADDLEGATE_TEST_URL"] = f"redis://127.0.0.1:{server.port}"
    try:
        yield
    finally:
        server.end()


@contextmanager
def repeated(command, url):
    """Send a command to a Redis every few milliseconds meanwhile."""
    parts = urlsplit(url)
    over = threading.Event()

    def repeat():
        with socket.create_connection((parts.hostname, parts.port)) as connection:
            while not over.wait(0.01):
                connection.sendall(f"{command}\r\n".encode())
                assert connection.recv(100)[:1] in b"+:"

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(7) == b"+PONG\r\n"
    except OSError:
        return False


def system_redis():
    """Find the Redis of the system; that of the virtual environment is another version."""
    folders = os.environ["PATH"].split(os.pathsep)
    outside = os.pathsep.join(folder for folder in folders if ".venv" not in folder)
    return shutil.which("redis-server", path=outside)
