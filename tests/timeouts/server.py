"""A server that does not answer, in the way that its argument names.

server.py STATE prints its URL. Each line on stdin makes the state begin where calls must have been
answered before (`dead`, `stopped`) and is answered by a line. It ends with stdin.
"""

import os
import socket
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "shared"))
from servers import Redis, free_port

HOST = "127.0.0.1"


class Server:
    """Listens on a free port and serves each connection in a thread."""

    scheme = "redis"

    def __init__(self):
        self.listener = socket.create_server((HOST, 0), backlog=100)
        self.port = self.listener.getsockname()[1]
        self.url = f"{self.scheme}://{HOST}:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.guarded, args=[connection], daemon=True).start()

    def guarded(self, connection):
        # A client may go.
        with suppress(OSError):
            self.serve(connection)
        connection.close()

    def serve(self, connection):
        """Read and never answer."""
        while connection.recv(65_536):
            pass

    def begin(self):
        pass


class Tls(Server):
    """The handshake is never answered."""

    scheme = "rediss"


class Dribbling(Server):
    """A reply comes byte by byte and has no end."""

    def serve(self, connection):
        connection.recv(65_536)
        connection.sendall(b"$1000000\r\n")
        while True:
            connection.sendall(b"x")
            time.sleep(0.005)


class Blocked(Server):
    """Nothing is read any more when the script is sent, which does not fit into the buffers."""

    def __init__(self):
        super().__init__()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)

    def serve(self, connection):
        connection.recv(65_536)
        connection.sendall(b"-NOSCRIPT No matching script.\r\n")
        time.sleep(3600)


class TryAgain(Server):
    """The slot of the keys is on the move for ever."""

    def serve(self, connection):
        with connection.makefile("rb") as stream:
            while line := stream.readline():
                for _ in range(int(line[1:])):
                    stream.read(int(stream.readline()[1:]) + 2)
                connection.sendall(self.reply())

    def reply(self):
        return b"-TRYAGAIN Multiple keys request during rehashing of slot\r\n"


class Moved(TryAgain):
    """Each of two nodes names the other as the owner of the slot."""

    def __init__(self, other=None):
        super().__init__()
        self.other = other or Moved(self)

    def reply(self):
        return f"-MOVED 1 {HOST}:{self.other.port}\r\n".encode()


class Refusing:
    """The queue of connections is full and nobody takes one out of it."""

    def __init__(self, family, address):
        self.listener = socket.socket(family)
        self.listener.bind(address)
        self.listener.listen(0)
        self.clients = []
        # The queue holds one or two; what comes after is not answered.
        for _ in range(8):
            client = socket.socket(family)
            client.setblocking(False)
            client.connect_ex(self.listener.getsockname())
            self.clients.append(client)
        time.sleep(0.05)

    def begin(self):
        pass


class Tcp(Refusing):
    def __init__(self):
        super().__init__(socket.AF_INET, (HOST, 0))
        self.url = f"redis://{HOST}:{self.listener.getsockname()[1]}"


class Unix(Refusing):
    def __init__(self):
        path = tempfile.mkdtemp() + "/socket"
        super().__init__(socket.AF_UNIX, path)
        self.url = f"unix://{path}"


class Dead(Server):
    """The connections that are open when it begins are silent, as behind a forgetful firewall."""

    def __init__(self):
        self.redis = Redis(free_port())
        self.age = 0
        super().__init__()

    def serve(self, connection):
        age = self.age
        with socket.create_connection((HOST, self.redis.port)) as upstream:
            threading.Thread(
                target=self.answer, args=[upstream, connection, age], daemon=True
            ).start()
            while data := connection.recv(65_536):
                if self.age == age:
                    upstream.sendall(data)

    def answer(self, upstream, connection, age):
        while data := upstream.recv(65_536):
            if self.age == age:
                connection.sendall(data)

    def begin(self):
        self.age += 1

    def end(self):
        self.redis.end()


class Answering:
    """A Redis in good health."""

    def __init__(self):
        self.redis = Redis(free_port())
        self.url = f"redis://{HOST}:{self.redis.port}"

    def begin(self):
        pass

    def end(self):
        self.redis.end()


class Stopped(Answering):
    """A Redis whose process is stopped."""

    def begin(self):
        self.redis.freeze()


STATES = {
    "answering": Answering,
    "blocked": Blocked,
    "dead": Dead,
    "dribbling": Dribbling,
    "moved": Moved,
    "silent": Server,
    "stopped": Stopped,
    "tcp": Tcp,
    "tls": Tls,
    "tryagain": TryAgain,
    "unix": Unix,
}


def main():
    server = STATES[sys.argv[1]]()
    print(server.url, flush=True)
    for _ in sys.stdin:
        server.begin()
        print("begun", flush=True)
    getattr(server, "end", lambda: None)()
    os._exit(0)


main()
