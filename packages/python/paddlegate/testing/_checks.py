"""What every adapter for a web host must pass, over HTTP."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

from paddlegate.testing._cases import KEY, LEASE
from paddlegate.testing._host import Host, until

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from paddlegate._inspection import Inspection

REQUESTS = 200
LIMIT = 50
AWAY = {"raise", "open", "closed", "local"}
"""The limiters that no server decides."""


def check_adapter(serve: str, url: str, without: Collection[str] = ()) -> None:
    """Run all checks on an adapter, named by `module:function`, with the Redis of `url`.

    `without` has the names of checks in `CHECKS` for what its host cannot do. Raises
    `AssertionError`.
    """
    with Host(serve, url) as host:
        for name, check in CHECKS.items():
            if name not in without:
                check(host)


def check_exact(host: Host) -> None:
    """Let exactly the limit pass of requests at once to two processes; in memory, to one."""
    for path, processes in ("/exact", 2), ("/memory", 1):
        statuses = host.at_once(REQUESTS, path, {KEY: "a"}, processes)
        count = {status: statuses.count(status) for status in statuses}
        assert count == {200: LIMIT, 429: REQUESTS - LIMIT}, (path, count)


def check_keys(host: Host) -> None:
    """Keep a limit for each key, whatever a stranger sends, and none without a key."""
    for key in "a", "b", "x" * 2000, "caf\xe9", "a b", "%00", "\xff\xfe":
        assert host.ask("/keys", {KEY: key}).status == 200, key
        assert host.ask("/keys", {KEY: key}, 1).status == 429, key
    assert [host.ask("/keys").status for _ in range(3)] == [200] * 3


def check_address(host: Host) -> None:
    """Take the address of the connection as the key; a proxy that is named may say another."""
    assert _statuses(host, "/address", "192.0.2.1", "192.0.2.2") == [200, 429]
    network = "2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:3::1"
    assert _statuses(host, "/proxy", "192.0.2.1", "192.0.2.2", "192.0.2.1") == [200, 200, 429]
    assert _statuses(host, "/proxy", *network) == [200, 429, 200]
    assert _statuses(host, "/proxy", "::ffff:192.0.2.1", "nonsense, 192.0.2.2") == [429, 429]


def check_fields(host: Host) -> None:
    """Send the fields that were asked for, and `Retry-After` with a refusal."""
    for path, names in {
        "/fields": {"ratelimit", "ratelimit-policy"},
        "/x": {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"},
        "/none": set[str](),
    }.items():
        granted, refused = host.ask(path), host.ask(path, process=1)
        assert (granted.status, refused.status) == (200, 429), path
        for answer in granted, refused:
            found = {name for name in answer.headers if "ratelimit" in name}
            assert found == names, (path, found)
        assert "retry-after" not in granted.headers
        assert 0 < int(refused.headers["retry-after"]) <= 3600


def check_problem(host: Host) -> None:
    """Refuse with the status that was asked for, and a body of `application/problem+json`."""
    host.ask("/status")
    refused = host.ask("/status")
    assert refused.status == 503
    assert refused.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = json.loads(refused.body)
    assert body["status"] == 503
    assert body["retry_after"] == int(refused.headers["retry-after"])


def check_costs(host: Host) -> None:
    """Count what the cost of a request says, and nothing for one that is skipped."""
    assert [host.ask("/cost").status for _ in range(3)] == [200, 200, 429]
    assert [host.ask("/skip", {KEY: "a"}).status for _ in range(3)] == [200] * 3
    assert [host.ask("/skip").status for _ in range(2)] == [200, 429]


def check_shadow(host: Host) -> None:
    """Refuse nobody in shadow mode."""
    assert [host.ask("/shadow").status for _ in range(3)] == [200] * 3


def check_leases(host: Host) -> None:
    """Hold and renew a lease until the body has ended."""
    with closing(host.open("/lease")):
        assert host.ask("/lease", process=1).status == 429
        host.end("/lease")
        _ended(host, "lease")
    assert host.ask("/lease", process=1).status == 200
    with closing(host.open("/renewed")):
        until(lambda: _is_renewed(host.limiters["renewed"].inspect()))
        host.end("/renewed")


def check_gone(host: Host) -> None:
    """End a lease when the client has gone, and when the handler fails."""
    with closing(host.open("/gone")):
        assert host.ask("/gone", process=1).status == 429
    _ended(host, "gone")
    for _ in range(3):
        assert host.ask("/error").status == 500
        _ended(host, "error")


def check_wait(host: Host) -> None:
    """Let a request with `wait` wait for its turn."""
    with ThreadPoolExecutor(1) as pool, closing(host.open("/wait")):
        waiting = pool.submit(host.ask, "/wait", process=1)
        until(lambda: host.limiters["wait"].inspect().ticket_count == 1)
        host.end("/wait")
        assert waiting.result().status == 200


def check_refund(host: Host) -> None:
    """Give back what a response costs that `refund_if` names."""
    for _ in range(3):
        until(lambda: host.limiters["refund"].inspect().limits[0].remaining == 1)
        assert host.ask("/refund").status == 500


def check_unavailable(host: Host) -> None:
    """Do what the mode of the limiter says while Redis is away."""
    assert [host.ask(path).status for path in ("/raise", "/open", "/closed")] == [503, 200, 429]
    assert [host.ask("/local").status for _ in range(2)] == [200, 429]


def check_nothing_left(host: Host) -> None:
    """Leave no lease and no ticket."""
    for name, limiter in host.limiters.items():
        if not limiter.keyed and name not in AWAY:
            until(lambda: not _is_held(limiter.inspect()))  # noqa: B023 - called at once


CHECKS: dict[str, Callable[[Host], None]] = {
    "exact": check_exact,
    "keys": check_keys,
    "address": check_address,
    "fields": check_fields,
    "problem": check_problem,
    "costs": check_costs,
    "shadow": check_shadow,
    "leases": check_leases,
    "gone": check_gone,
    "wait": check_wait,
    "refund": check_refund,
    "unavailable": check_unavailable,
    "nothing_left": check_nothing_left,
}
"""The checks by their names."""


def _ended(host: Host, name: str) -> None:
    until(lambda: host.limiters[name].inspect().lease_count == 0)


def _statuses(host: Host, path: str, *forwarded: str) -> list[int]:
    return [host.ask(path, {"X-Forwarded-For": it}).status for it in forwarded]


def _is_renewed(inspection: Inspection) -> bool:
    """Return whether a lease lasts longer than it did when it was granted."""
    ends = [(it.held_for or 0) + it.ends_in for it in inspection.leases]
    return any(it > LEASE + 0.5 for it in ends)


def _is_held(inspection: Inspection) -> bool:
    return bool(inspection.lease_count or inspection.ticket_count)
