"""A stream that holds a lease until its end, served by uvicorn.

Guide: docs/src/guides/asgi.md
"""

import asyncio
import threading
import time

import httpx
import uvicorn
from paddlegate import Paddlegate
from paddlegate.asgi import RateLimit
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

pg = Paddlegate()  # PADDLEGATE_URL, or this process
streams = pg.concurrent("ticks", 1, lock_timeout=5)
end = threading.Event()


async def ticks(request):
    async def parts():
        while not end.is_set():
            yield b"tick\n"
            await asyncio.sleep(0.05)

    return StreamingResponse(parts())


app = RateLimit(Starlette(routes=[Route("/", ticks)]), streams)
server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical"))
running = threading.Thread(target=server.run)
running.start()
while not server.started:
    time.sleep(0.05)
port = server.servers[0].sockets[0].getsockname()[1]

with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
    with client.stream("GET", "/") as stream:
        parts = stream.iter_text()  # kept, because the response is closed with it
        print(stream.status_code, next(parts).strip())
        refused = client.get("/")
        print(refused.status_code, refused.json()["detail"])
    # The client has gone, so the lease ends, as soon as the server sees it.
    while streams.inspect().lease_count:
        time.sleep(0.05)
    end.set()
    print(client.get("/").status_code)  # -> 200

server.should_exit = True
running.join()
