# mypy: allow-untyped-calls
"""A bot of test_discord.py in a process of its own; it prints how its requests ended."""

import asyncio
import contextlib
import json
import sys
from collections import Counter
from typing import Any

import discord
from discord.http import Route, handle_message_parameters
from paddlegate import OverLimit, Paddlegate
from paddlegate.discord import limited


async def main(given):
    Route.BASE = f"http://127.0.0.1:{given['port']}/api/v10"
    pg = Paddlegate(given["url"], timeout=20)
    options: dict[str, Any] = {"intents": discord.Intents.none()}
    if given["name"]:
        options["http_trace"] = limited(pg, given["name"], **given["options"])
    client = discord.Client(**options)
    ends: Counter[str] = Counter()
    with contextlib.suppress(OverLimit):  # Its messages are held back too.
        await client.http.static_login("a.token.of-a-bot")

    async def message(channel, number):
        try:
            with handle_message_parameters(f"message {number}") as parameters:
                await client.http.send_message(channel, params=parameters)
            ends["sent"] += 1
        except OverLimit:
            ends["held"] += 1
        except discord.HTTPException as error:
            ends[str(error.status)] += 1

    async def typing(channel):
        await client.http.send_typing(channel)
        ends["typed"] += 1

    await asyncio.gather(
        *(message(channel, i) for channel in given["channels"] for i in range(given["messages"])),
        *(typing(channel) for channel in given["channels"] for _ in range(given.get("typing", 0))),
    )
    await client.close()
    pg.close()
    print(json.dumps(ends))


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
