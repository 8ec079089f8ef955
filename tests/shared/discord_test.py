"""Bots in Python and in Node share the limits of one Discord: tests/discord/server.mjs."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from urllib.request import urlopen

SOAK = os.environ.get("PADDLEGATE_SOAK") == "1"
ROOT = Path(__file__).parents[2]
BOTS = [
    [sys.executable, ROOT / "packages" / "python" / "tests" / "discord_app.py"],
    ["node", ROOT / "packages" / "node" / "test" / "discord-worker.mjs"],
]
CHANNELS = ["100000000000000001", "100000000000000002"]


def test_bots_of_two_languages_share_all_limits(url, name):
    numbers = json.dumps({"limit": 3, "intervalMs": 1000})
    words = ["node", ROOT / "tests" / "discord" / "server.mjs", numbers]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        port = int(server.stdout.readline())
        given = {"port": port, "url": url, "name": name, "channels": CHANNELS, "messages": 6}
        words = json.dumps({**given, "options": {}})
        began = time.monotonic()
        bots = [subprocess.Popen([*bot, words], stdout=subprocess.PIPE) for bot in BOTS * 2]
        ends = Counter()
        for out in [bot.communicate(timeout=100)[0] for bot in bots]:
            ends.update(json.loads(out))
        took = time.monotonic() - began
        with urlopen(f"http://127.0.0.1:{port}/report") as response:
            report = json.load(response)
        server.stdin.close()
    assert ends == {"sent": 48}
    assert took >= 7, "24 messages in each channel, three a second"
    # A window more, when the machine stalls while requests are on their way.
    assert not SOAK or report["user"] == 0
    assert (report["global"], report["invalid"]) == (0, report["user"])
