"""Workers of three languages before an upstream: never refused there, and nearly all of it used."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from upstreams import GitHub, Served, Shopify

HERE = Path(__file__).parent
CLIENTS = {
    "python": [sys.executable, HERE / "workers/client.py"],
    "node": ["node", HERE / "workers/client.mjs"],
    "ruby": ["ruby", "-I", HERE.parents[1] / "packages/ruby/lib", HERE / "workers/client.rb"],
}


def run(url, name, upstream, limit, seconds, seed):
    """Twenty workers for so many seconds; what each language says of its calls."""
    clients = {
        language: subprocess.Popen(
            [*command, upstream, name, json.dumps(limit), str(loops), str(seconds), str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PADDLEGATE_URL": url},
        )
        for (language, command), loops in zip(CLIENTS.items(), (7, 7, 6), strict=True)
    }
    for client in clients.values():
        assert client.stdout.readline() == "ready\n"
    for client in clients.values():
        client.stdin.write("go\n")
        client.stdin.flush()
    said = {}
    for language, client in clients.items():
        out, _ = client.communicate(timeout=seconds + 60)
        assert client.returncode == 0, language
        said[language] = json.loads(out)
    return said


@pytest.mark.timeout(120)
def test_shopify_never_throttles_twenty_workers_whose_estimates_are_upper_bounds(
    urls, name, seed, soak
):
    seconds = 12 if soak else 5
    shopify = Shopify(1000, 400, seed)
    with Served(shopify) as server:
        said = run(urls["redis"], name, server.url, ["points", 1000, 2.5], seconds, seed)
    assert all(calls["answered"] > 0 for calls in said.values()), said
    assert shopify.throttled == 0
    share = shopify.spent / shopify.capacity()
    print(f"{share:.1%} of the capacity used")
    assert not soak or share > 0.95


@pytest.mark.timeout(120)
def test_github_never_refuses_twenty_workers_who_know_only_that_it_is_so_many_an_hour(
    urls, name, seed, soak
):
    # The hour of the limiter begins elsewhere; it learns from the first answer when GitHub's ends.
    if time.time() % 3600 > 3570:
        time.sleep(3601 - time.time() % 3600)
    github = GitHub(400, 6)
    with Served(github) as server:
        said = run(urls["redis"], name, server.url, ["bucket", 400, 3600], 10, seed)
    assert all(calls["answered"] > 0 for calls in said.values()), said
    assert github.throttled == 0
    share = github.spent / github.capacity()
    print(f"{share:.1%} of the capacity used")
    assert not soak or share > 0.95
