# mypy: ignore-errors
"""A server of Redis commands whose scripts run in the given version of Lua; prints its port.

In Lua 5.4 a script must reply with integers and not with floats: Dragonfly sends a float as text.
"""

import os
import sys

VERSION = sys.argv[1]
os.environ["FAKEREDIS_LUA_VERSION"] = VERSION

from fakeredis import TcpFakeServer  # noqa: E402
from fakeredis._clients import _tcp_server  # noqa: E402
from fakeredis.commands_mixins import scripting_mixin  # noqa: E402

assert scripting_mixin.LUA_MODULE.__name__ == f"lupa.lua{VERSION.replace('.', '')}"

if VERSION == "5.4":
    convert = scripting_mixin.ScriptingCommandsMixin._convert_lua_result

    def convert_whole(self, result, nested=True):
        if isinstance(result, float):
            raise scripting_mixin.SimpleError(f"ERR the script replies with the float {result}")
        return convert(self, result, nested)

    scripting_mixin.ScriptingCommandsMixin._convert_lua_result = convert_whole


class Handler(_tcp_server.TCPFakeRequestHandler):
    """Keeps a connection open after an error, as Redis does."""

    def setup(self):
        super().setup()
        dump = self.writer.dump

        def dump_and_note(value):
            self.failed = isinstance(value, Exception)
            dump(value)

        self.writer.dump = dump_and_note

    def handle(self):
        self.failed = True
        while self.failed:
            self.failed = False
            super().handle()


server = TcpFakeServer(("127.0.0.1", 0))
server.RequestHandlerClass = Handler
print(server.server_address[1], flush=True)
server.serve_forever()
