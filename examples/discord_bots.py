"""Three clients of discord.py, as in three processes of a bot, under the limits of one Discord.

Guide: docs/src/guides/discord.md
"""

import asyncio
import os
import sys
import time

import discord
from aiohttp import web
from discord.http import Route, handle_message_parameters
from paddlegate import Paddlegate, UnavailableError
from paddlegate.discord import limited

LIMIT, SECONDS, CHANNEL = 4, 1, 81384788765712384
url = os.environ.get("PADDLEGATE_URL", "redis://localhost:6379/0")
sent, refused, window = 0, 0, (0.0, 0)


async def answer(request):
    """Answer as Discord: four messages a second, in windows that begin with their first one."""
    global sent, refused, window
    if request.method == "GET":
        bot = {"id": "1", "username": "bot", "discriminator": "0", "avatar": None}
        return web.json_response(bot)
    end, used = window
    now = time.monotonic()
    if now >= end:
        end, used = now + SECONDS, 0
    is_allowed = used < LIMIT
    used += is_allowed
    sent, refused, window = sent + is_allowed, refused + (not is_allowed), (end, used)
    headers = {
        "Via": "1.1 google",
        "X-RateLimit-Bucket": "abcd1234",
        "X-RateLimit-Limit": str(LIMIT),
        "X-RateLimit-Remaining": str(LIMIT - used),
        "X-RateLimit-Reset-After": f"{end - now:.3f}",
    }
    body = {"id": "2"} if is_allowed else {"retry_after": end - now, "global": False}
    return web.json_response(body, status=200 if is_allowed else 429, headers=headers)


async def process(number):
    """Send messages as one of the bot's processes does, with a connection of its own."""
    pg = Paddlegate(url)
    client = discord.Client(intents=discord.Intents.none(), http_trace=limited(pg))
    await client.http.static_login("a.bot.token")
    for i in range(4):
        with handle_message_parameters(f"message {i} of {number}") as message:
            await client.http.send_message(CHANNEL, params=message)
    await client.http.close()
    pg.close()


async def main():
    app = web.Application()
    app.router.add_route("*", "/api/{tail:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    Route.BASE = f"http://127.0.0.1:{runner.addresses[0][1]}/api/v10"
    await asyncio.gather(*(process(number) for number in range(3)))
    await runner.cleanup()
    print(f"{sent} messages sent, {refused} refused")


try:
    Paddlegate(url).limiters()
except UnavailableError as error:
    sys.exit(f"This program needs a Redis, see PADDLEGATE_URL: {error}")
asyncio.run(main())
# None is refused, but for those of a second in which this machine stands still.
assert sent == 12
assert refused <= 4
