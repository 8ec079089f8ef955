# mypy: allow-untyped-calls
"""Ways to a server, on an event loop and without: login, socket file, TLS, redirections."""

import asyncio
import contextlib
import os
import select
import socket
import ssl
import threading
from pathlib import Path

import pytest
from paddlegate import Paddlegate, UnavailableError

TLS = Path(__file__).parent / "tls"

BY_TLS = """
import asyncio, sys, uvloop
from paddlegate import Paddlegate

url, name = sys.argv[1:]
store = Paddlegate(url, timeout=30)

async def many(name):
    limiters = [store.window(f"{name}{'x' * 300}{i}", 2, 60) for i in range(3000)]
    assert all(await asyncio.gather(*(limiter.aallow() for limiter in limiters)))
    limiter = store.window(name + "one", 1000, 60)
    for left in range(999, 800, -1):
        assert (await limiter.atry_acquire()).remaining == left

assert store.window(name, 1, 60).allow()
assert not store.window(name, 1, 60).allow()
for run in asyncio.run, uvloop.run:
    run(many(name + run.__module__))
"""


@pytest.fixture
def both(run):
    """Take two units of 10 from a limiter, each in its own way."""

    def both(store, name):
        limiter = store.window(name, 10, 60)
        before = limiter.peek().remaining
        assert limiter.try_acquire().remaining == before - 1
        assert run(limiter.atry_acquire()).remaining == before - 2

    return both


def test_login_and_database(server, both):
    server.stop()
    server.start("--requirepass", "p@ss")
    right = f"redis://:p%40ss@127.0.0.1:{server.port}"
    for url in right, f"{right}/3", f"redis://default:p%40ss@127.0.0.1:{server.port}/3":
        both(Paddlegate(url), "x")


@pytest.mark.parametrize("login", ["", ":wrong@", "nobody:wrong@"])
def test_a_wrong_login(server, run, login):
    server.stop()
    server.start("--requirepass", "secret")
    limiter = Paddlegate(f"redis://{login}127.0.0.1:{server.port}").window("x", 10, 60)
    with pytest.raises(UnavailableError) as caught:
        limiter.allow()
    assert not caught.value.may_have_counted
    with pytest.raises(UnavailableError) as caught:
        run(limiter.aallow())
    assert not caught.value.may_have_counted


def test_a_database_that_does_not_exist(server, run):
    limiter = Paddlegate(f"{server.url}/99").window("x", 10, 60)
    with pytest.raises(UnavailableError, match="the database"):
        limiter.allow()
    with pytest.raises(UnavailableError, match="the database"):
        run(limiter.aallow())


def test_unix_sockets(server, both, tmp_path):
    server.stop()
    server.start("--unixsocket", str(tmp_path / "redis.sock"))
    both(Paddlegate(f"unix://{tmp_path}/redis.sock"), "x")
    both(Paddlegate(f"unix://{tmp_path}/redis.sock?db=2"), "x")


def forward(listener, port, stop):
    """Decrypt what comes, for the server at `port`, and encrypt its answers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.pem")

    def serve(plain):
        # A client that does not trust us hangs up.
        with (
            contextlib.suppress(ssl.SSLError, ConnectionError),
            context.wrap_socket(plain, server_side=True) as client,
            socket.create_connection(("127.0.0.1", port)) as server,
        ):
            exchange(client, server)

    def exchange(client, server):
        while True:
            ready = [client] if client.pending() else select.select([client, server], [], [])[0]
            for source in ready:
                if not (data := source.recv(65536)):
                    return
                (server if source is client else client).sendall(data)

    while True:
        plain, _ = listener.accept()
        if stop.is_set():
            plain.close()
            return
        threading.Thread(target=serve, args=(plain,), daemon=True).start()


@pytest.fixture
def encrypted(url):
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        port = int(url.rpartition(":")[2])
        forwarding = threading.Thread(target=forward, args=(listener, port, stop))
        forwarding.start()
        yield f"rediss://localhost:{address[1]}"
        stop.set()
        socket.create_connection(address).close()
        forwarding.join()


def test_tls(encrypted, name, script, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "authority.pem"))
    script(BY_TLS, encrypted, name)


def test_a_certificate_that_is_not_trusted(encrypted, run):
    limiter = Paddlegate(encrypted, timeout=20).window("x", 10, 60)
    with pytest.raises(UnavailableError, match=r"(?i)certificate"):
        limiter.allow()
    with pytest.raises(UnavailableError, match=r"(?i)certificate"):
        run(limiter.aallow())


@pytest.mark.parametrize(
    "options", ["?ssl_cert_reqs=none", f"?ssl_ca_certs={TLS / 'authority.pem'}"]
)
def test_certificates_named_in_the_url(encrypted, both, name, options):
    both(Paddlegate(encrypted + options, timeout=20), name)


def test_sentinels(sentinel, both, name, run):
    both(Paddlegate(f"{sentinel}/main/1", timeout=20), name)
    limiter = Paddlegate(f"{sentinel}/other", timeout=20).window(name, 10, 60)
    with pytest.raises(UnavailableError, match="master=other"):
        limiter.allow()
    with pytest.raises(UnavailableError, match="master=other"):
        run(limiter.aallow())


def test_clusters(both, name):
    store = Paddlegate(os.environ["PADDLEGATE_TEST_CLUSTER_URL"], timeout=20)
    for i in range(30):
        both(store, f"{name}-{i}")


def test_many_tasks_on_a_cluster(name, run):
    async def main():
        # Nothing is known of the slots yet, so most calls are sent on.
        store = Paddlegate(os.environ["PADDLEGATE_TEST_CLUSTER_URL"], timeout=20)
        limiters = [store.window(f"{name}-{i}", 10, 60) for i in range(300)]
        for left in 9, 8, 7:
            decisions = await asyncio.gather(*(limiter.atry_acquire() for limiter in limiters))
            assert [decision.remaining for decision in decisions] == [left] * 300

    run(main())


class Scripted:
    """A server that gives one answer to each call and remembers what it was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []
        self.writers = []

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        self.writers.append(writer)
        while data := await reader.read(65536):
            if b"ASKING" in data:
                self.asked.append("asking")
                writer.write(b"+OK\r\n")
            for _ in range(data.count(b"EVALSHA")):
                self.asked.append("call")
                writer.write(self.answers.pop(0))

    async def stop(self):
        self.server.close()
        for writer in self.writers:
            writer.close()
        await self.server.wait_closed()


GRANTED = b"*6\r\n:1\r\n:0\r\n:9\r\n:0\r\n:1000000\r\n:1\r\n"


def test_slots_on_the_move(run):
    async def main():
        target = Scripted(b"-TRYAGAIN not yet\r\n", GRANTED)
        source = Scripted(b"-ASK 5 :%d\r\n", b"-ASK 5 :%d\r\n", b"-MOVED 5 :%d\r\n")
        there, here = await target.start(), await source.start()
        source.answers = [answer % there for answer in source.answers]
        limiter = Paddlegate(f"redis://127.0.0.1:{here}", timeout=5).window("x", 10, 1)
        # The target replies TRYAGAIN. After the pause the source, which owns the slot, redirects
        # again.
        assert (await limiter.atry_acquire()).remaining == 9
        assert source.asked == ["call"] * 2
        assert target.asked == ["asking", "call"] * 2
        # Now it has moved for good.
        source.answers = [b"-MOVED 5 :%d\r\n" % there]
        target.answers = [GRANTED, GRANTED]
        assert (await limiter.apeek()).remaining == 9
        assert (await limiter.apeek()).remaining == 9
        assert source.asked == ["call"] * 3
        await source.stop()
        await target.stop()

    run(main())


def test_a_cluster_that_leads_nowhere(run):
    async def main():
        server = Scripted()
        port = await server.start()
        server.answers = [b"-MOVED 5 :%d\r\n" % port] * 20
        with pytest.raises(UnavailableError) as caught:
            await Paddlegate(f"redis://127.0.0.1:{port}", timeout=5).window("x", 10, 1).aallow()
        assert not caught.value.may_have_counted
        await server.stop()

    run(main())
