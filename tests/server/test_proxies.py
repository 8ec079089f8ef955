"""What proxies ask by GET about the requests of others, and many decisions in one request."""

from __future__ import annotations

import http.client
import json
import pathlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from client import Client
from conftest import Served

DAY = {"limit": 2, "per": "day"}


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[Served]:
    """A server with limits in memory."""
    limiters = {
        "api": {"bucket": DAY},
        "users": {"bucket": DAY, "keyed": True},
        "workers": {"concurrency": {"limit": 2, "lock_timeout": "1h"}},
    }
    path = tmp_path / "limits.json"
    path.write_text(json.dumps({"limiters": limiters}))
    server = Served("--limits", str(path))
    yield server
    assert server.stop() == 0


def check(server: Served, path: str, **headers: str) -> http.client.HTTPResponse:
    """Ask as a proxy does."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("GET", f"/v1/limiters/{path}", headers=named)
    response = connection.getresponse()
    response.body = json.load(response)  # type: ignore[attr-defined]
    connection.close()
    return response


def test_a_check_takes_units_and_answers_by_its_status(server: Served) -> None:
    """429 or, for nginx, 403; with the fields of the limits."""
    granted = check(server, "api/check?cost=2")
    assert granted.status == 200
    assert granted.headers["ratelimit"].startswith('"api";r=0')
    for query, status in (("", 429), ("?refusal=403", 403)):
        refused = check(server, f"api/check{query}")
        assert (refused.status, refused.body["status"]) == (status, status)  # type: ignore[attr-defined]
        assert int(refused.headers["retry-after"]) > 0
    assert check(server, "api/check?refusal=200").status == 400
    assert check(server, "nobody/check").status == 404
    assert check(server, "workers/check").status == 400, "nobody would release the lease"


def test_the_key_of_a_check_may_be_that_of_a_header(server: Served) -> None:
    """The last entry of a list is the proxy's own; what is before it comes from the client."""
    path = "users/check?key_header=x-forwarded-for"
    statuses = [
        check(server, path, x_forwarded_for=f"10.0.0.{i}, 1.2.3.4").status for i in range(3)
    ]
    assert statuses == [200, 200, 429]
    assert check(server, path, x_forwarded_for="1.2.3.5").status == 200
    assert check(server, "users/check?key=1.2.3.4").status == 429
    assert check(server, path).status == 400
    for address in ("2001:db8:1:2::1", "2001:DB8:1:2::9", "2001:db8:1:3::1"):
        assert check(server, path, x_forwarded_for=address).status == 200
    assert check(server, path, x_forwarded_for="2001:db8:1:2::7").status == 429, "of one network"
    assert check(server, path, x_forwarded_for="::ffff:1.2.3.4").status == 429
    for value in ("", "caf\xe9", "x" * 600):
        assert check(server, path, x_forwarded_for=value).status == 200, "it has a digest"
    assert check(server, f"{path}&key=a", x_forwarded_for="a").status == 400


def test_a_check_may_be_about_a_request_of_another_site(server: Served) -> None:
    """A proxy passes the headers of a browser on; a browser itself is refused as elsewhere."""
    browser = {"origin": "https://shop.example", "sec_fetch_site": "cross-site"}
    assert check(server, "api/check", **browser).status == 403
    assert check(server, "api/check", x_forwarded_uri="/", **browser).status == 200
    assert check(server, "api", x_forwarded_uri="/", **browser).status == 403


def test_many_decisions_in_one_request(served: Served, prefix: str) -> None:
    """Each is of its own: what one is refused, or does wrong, the others do not notice."""
    client = Client(served.url)
    policy = {"bucket": DAY, "keyed": True}

    def call(name: str, **more: Any) -> dict[str, Any]:
        return {"name": f"{prefix}{name}", **more}

    calls = [
        call("api", cost=4),
        call("workers", limits=True),
        call("nobody"),
        call("api", cost={"nothing": 1}),
        *(call("users", policy=policy, key=key, cost=2) for key in "aba"),
    ]
    answers = client.acquire_many(calls=calls)["answers"]
    codes = [answer.get("problem", {}).get("code") for answer in answers]
    assert codes == [None, None, "not_found", "invalid", None, None, None]
    decisions = [answer["decision"] for answer in answers if "decision" in answer]
    assert decisions[0]["remaining"] == 1
    assert client.release(f"{prefix}workers", permit=decisions[1]["permit"])
    assert sorted(decision["allowed"] for decision in decisions[2:]) == [False, True, True]
