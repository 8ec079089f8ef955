"""Envoy's rate limit service: the decisions, the mapping, and who may ask."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from client import Client
from conftest import COMMAND, Served
from envoy_service import (
    METHOD,
    RateLimitDescriptor,
    RateLimitDescriptorRateLimitOverride,
    RateLimitRequest,
    RateLimitResponse,
    RateLimitResponseCode,
    RateLimitResponseRateLimitUnit,
    Service,
    code_of,
    descriptor,
    grpc_address,
)
from paddlegate import Paddlegate

OK, OVER = RateLimitResponseCode.OK, RateLimitResponseCode.OVER_LIMIT
UNIT = RateLimitResponseRateLimitUnit


def limits(prefix: str) -> dict[str, Any]:
    """Limiters, and which decides on what."""

    def rule(limiter: str, *entries: tuple[str, str | None], **more: Any) -> dict[str, Any]:
        made = [
            {"key": key} if value is None else {"key": key, "value": value}
            for key, value in entries
        ]
        return {"domain": "edge", "entries": made, "limiter": f"{prefix}{limiter}", **more}

    day = {"limit": 5, "per": "day"}
    return {
        "limiters": {
            f"{prefix}slow": {"window": {"limit": 3, "per": "hour"}},
            f"{prefix}ip": {"bucket": {"limit": 2, "per": "day"}, "keyed": True},
            f"{prefix}plan": {"quota": {"limit": 7, "per": "month"}, "keyed": True},
            f"{prefix}shadow": {"bucket": {"limit": 1, "per": "day"}, "mode": "shadow"},
            f"{prefix}tokens": {"points": {"limit": 100, "refill": "1d"}},
            f"{prefix}east": {"bucket": day, "group": "east"},
            f"{prefix}west": {"bucket": day, "group": "west"},
        },
        "server": {
            "envoy": [
                rule("slow", ("generic_key", "slow"), headers=True),
                rule("ip", ("remote_address", None)),
                rule("plan", ("plan", None), ("user", None)),
                rule("shadow", ("generic_key", "shadow")),
                rule("tokens", ("generic_key", "tokens"), debit=True),
                rule("east", ("generic_key", "east")),
                rule("west", ("generic_key", "west")),
                {
                    "domain": "edge",
                    "entries": [{"key": "remote_address", "value": "::1"}],
                    "unlimited": True,
                },
            ]
        },
    }


@pytest.fixture(params=["memory", "redis", "cluster"])
def serving(
    request: pytest.FixtureRequest, tmp_path: pathlib.Path, prefix: str
) -> Iterator[Served]:
    """A server of the service on each store."""
    path = tmp_path / "limits.json"
    path.write_text(json.dumps(limits(prefix)))
    stores = {"redis": "PADDLEGATE_TEST_URL", "cluster": "PADDLEGATE_TEST_CLUSTER_URL"}
    store = ["--redis", os.environ[stores[request.param]]] if request.param in stores else []
    server = Served("--limits", str(path), "--grpc", "127.0.0.1:0", *store)
    yield server
    assert server.stop() == 0


@pytest.fixture
def service(serving: Served) -> Service:
    """Its client."""
    return Service(grpc_address(serving))


def headers(answer: RateLimitResponse) -> dict[str, str]:
    """The headers that Envoy adds to the response."""
    return {it.key: it.value for it in answer.response_headers_to_add}


def test_a_limit_holds(service: Service, prefix: str) -> None:
    """The status has limit, remaining units and reset time; a refusal has the time to retry."""
    for left in (2, 1, 0):
        answer = service.should_rate_limit(descriptor(("generic_key", "slow")))
        assert answer.overall_code == OK
        (status,) = answer.statuses
        assert status.code == OK
        assert status.current_limit is not None
        assert (status.current_limit.requests_per_unit, status.current_limit.unit) == (3, UNIT.HOUR)
        assert status.current_limit.name == f"{prefix}slow"
        assert status.limit_remaining == left
        policy, limit = headers(answer)["ratelimit-policy"], headers(answer)["ratelimit"]
        assert policy == f'"{prefix}slow";q=3;w=3600'
        assert limit.startswith(f'"{prefix}slow";r={left};t=')
        assert "retry-after" not in headers(answer)
    refused = service.should_rate_limit(descriptor(("generic_key", "slow")))
    assert refused.overall_code == refused.statuses[0].code == OVER
    assert refused.statuses[0].limit_remaining == 0
    until = refused.statuses[0].duration_until_reset
    assert until is not None
    assert 0 < until.total_seconds() <= 3600
    assert until.total_seconds() <= int(headers(refused)["retry-after"]) <= 3600


def test_what_no_rule_names_passes(service: Service) -> None:
    """As with Envoy's own service, also in a domain that nobody has heard of."""
    unknown = [
        descriptor(("generic_key", "other")),
        descriptor(("generic_key", "slow"), ("generic_key", "slow")),
        descriptor(("user", "a"), ("plan", "b")),
        descriptor(("remote_address", "::1")),
    ]
    for _ in range(4):
        answer = service.should_rate_limit(*unknown)
        assert answer.overall_code == OK
        assert [status.code for status in answer.statuses] == [OK] * 4
        assert all(status.current_limit is None for status in answer.statuses)
        assert (
            service.should_rate_limit(descriptor(("generic_key", "slow")), domain="x").overall_code
            == OK
        )


def test_values_are_the_key(service: Service, serving: Served, prefix: str) -> None:
    """Each value has a limit of its own, whatever bytes a client makes Envoy send."""
    seen = []
    for value in ("10.0.0.1", "10.0.0.2", "", "x" * 512, "x" * 513, "x" * 514):
        asked = descriptor(("remote_address", value))
        codes = [service.should_rate_limit(asked).overall_code for _ in range(3)]
        assert codes == [OK, OK, OVER], value[:20]
        seen.append(value)
    no_text = bytes(
        RateLimitRequest(domain="edge", descriptors=[descriptor(("remote_address", "zz"))])
    )
    no_text = no_text.replace(b"zz", b"\xff\xfe")
    answers = [RateLimitResponse.parse(service.raw(no_text)).overall_code for _ in range(3)]
    assert answers == [OK, OK, OVER]
    client = Client(serving.url)
    keys = {"": b"", "x" * 513: b"x" * 513, "\xff": b"\xff\xfe"}
    named = [f"sha256:{hashlib.sha256(value).hexdigest()}" for value in keys.values()]
    for key in ["10.0.0.1", "x" * 512, *named]:
        assert client.peek(f"{prefix}ip", key=key)["allowed"] is False, key[:20]
    for user in ("a|b", "c"):
        answer = service.should_rate_limit(descriptor(("plan", "p%"), ("user", user)))
        limit = answer.statuses[0].current_limit
        assert limit is not None
        assert (limit.requests_per_unit, limit.unit, answer.statuses[0].limit_remaining) == (
            7,
            UNIT.MONTH,
            6,
        )
    assert client.peek(f"{prefix}plan", key="p%25|a%7Cb")["remaining"] == 6


def test_descriptors_are_taken_together_or_not_at_all(
    request: pytest.FixtureRequest, service: Service, serving: Served, prefix: str
) -> None:
    """What one limit refuses takes nothing of the others; each status is of its own limiter."""
    asked = (descriptor(("remote_address", "9")), descriptor(("generic_key", "slow")))
    for left in (1, 0):
        answer = service.should_rate_limit(*asked)
        assert answer.overall_code == OK
        assert [it.limit_remaining for it in answer.statuses] == [left, left + 1]
        assert headers(answer)["ratelimit-policy"] == f'"{prefix}slow";q=3;w=3600'
    refused = service.should_rate_limit(*asked)
    assert refused.overall_code == OVER
    assert [it.code for it in refused.statuses] == [OVER, OK]
    # In a cluster they decide one after another, and the first to refuse ends it.
    assert Client(serving.url).peek(f"{prefix}slow")["remaining"] == 1
    reversed_answer = service.should_rate_limit(*reversed(asked))
    assert [it.code for it in reversed_answer.statuses] == [OK, OVER]
    left = 0 if request.node.callspec.params["serving"] == "cluster" else 1
    assert Client(serving.url).peek(f"{prefix}slow")["remaining"] == left


def test_limiters_of_other_groups_decide_one_after_another(
    service: Service, serving: Served, prefix: str
) -> None:
    """What was taken before a refusal stays taken, and what comes after it is only looked at."""
    east, west = descriptor(("generic_key", "east")), descriptor(("generic_key", "west"))
    assert service.should_rate_limit(east, hits_addend=5).overall_code == OK
    answer = service.should_rate_limit(west, east, west)
    assert [it.code for it in answer.statuses] == [OK, OVER, OK]
    assert Client(serving.url).peek(f"{prefix}west")["remaining"] == 4


def test_hits(service: Service, serving: Served, prefix: str) -> None:
    """Of the request, or of a descriptor; none only looks; more than a limit has are refused."""
    east, west = descriptor(("generic_key", "east")), descriptor(("generic_key", "west"))
    assert service.should_rate_limit(east, hits_addend=4).statuses[0].limit_remaining == 1
    own = descriptor(("generic_key", "west"), hits_addend=2)
    assert service.should_rate_limit(own, hits_addend=4).statuses[0].limit_remaining == 3
    for hits in (4, 2**32 - 1):
        assert service.should_rate_limit(west, hits_addend=hits).overall_code == OVER
    huge = descriptor(("generic_key", "west"), hits_addend=2**64 - 1)
    assert service.should_rate_limit(huge).overall_code == OVER
    too_large = descriptor(("remote_address", "1"), hits_addend=2**64 - 1)
    several = service.should_rate_limit(too_large, descriptor(("generic_key", "slow")))
    assert [it.code for it in several.statuses] == [OVER, OK]
    assert Client(serving.url).peek(f"{prefix}slow")["remaining"] == 3
    look = descriptor(("generic_key", "west"), hits_addend=0)
    for _ in range(3):
        assert service.should_rate_limit(look).statuses[0].limit_remaining == 3
    assert service.should_rate_limit(west, hits_addend=3).overall_code == OK
    assert service.should_rate_limit(look).overall_code == OVER
    assert Client(serving.url).peek(f"{prefix}west")["remaining"] == 0


def test_a_debit_is_charged_in_any_case(service: Service) -> None:
    """Tokens that are known after the response are not lost above the limit."""
    look = descriptor(("generic_key", "tokens"), hits_addend=0)
    used = descriptor(("generic_key", "tokens"), hits_addend=90)
    assert service.should_rate_limit(look).overall_code == OK
    assert service.should_rate_limit(used).statuses[0].limit_remaining == 10
    assert service.should_rate_limit(look).overall_code == OK
    assert service.should_rate_limit(used).overall_code == OK
    refused = service.should_rate_limit(look)
    assert refused.overall_code == OVER
    # 80 units of debt and the one that is looked for, of 100 units a day.
    assert int(headers(refused)["retry-after"]) > 80 * 864
    more = descriptor(("generic_key", "tokens"), hits_addend=10**15)
    assert service.should_rate_limit(more).overall_code == OK
    assert service.should_rate_limit(look).overall_code == OVER


def test_shadow_and_pause(service: Service, serving: Served, prefix: str) -> None:
    """A limiter in shadow refuses nobody; a paused one everybody."""
    for _ in range(3):
        assert service.should_rate_limit(descriptor(("generic_key", "shadow"))).overall_code == OK
    Client(serving.url).pause(f"{prefix}east", expires_in=60, reason="test")
    refused = service.should_rate_limit(descriptor(("generic_key", "east")))
    assert refused.overall_code == OVER
    assert 0 < int(headers(refused)["retry-after"]) <= 60


def test_a_wrong_request_is_told(service: Service) -> None:
    """By the code that says so, and with the place."""
    slow = ("generic_key", "slow")
    override = RateLimitDescriptorRateLimitOverride(requests_per_unit=9)
    wrong: list[tuple[str, list[RateLimitDescriptor], str]] = [
        ("", [descriptor(slow)], "domain: must not be empty"),
        ("edge", [], "descriptors: must be 1 to 100"),
        ("edge", [descriptor(slow)] * 101, "descriptors: must be 1 to 100: descriptors=101"),
        ("edge", [descriptor(slow), descriptor()], "descriptors[1].entries"),
        ("edge", [descriptor(("", "slow"))], "descriptors[0].entries"),
        ("edge", [descriptor(slow, is_negative_hits=True)], "descriptors[0].is_negative_hits"),
        ("edge", [descriptor(slow, limit=override)], "descriptors[0].limit"),
    ]
    for domain, descriptors, place in wrong:
        with pytest.raises(grpc.RpcError) as told:
            service.should_rate_limit(*descriptors, domain=domain)
        assert code_of(told.value) == "INVALID_ARGUMENT"
        assert place in str(told.value)
    with pytest.raises(grpc.RpcError) as told:
        service.raw(b"\0" * (1 << 21))
    assert code_of(told.value) == "RESOURCE_EXHAUSTED"
    with pytest.raises(grpc.RpcError) as told:
        service.raw(b"", METHOD + "s")
    assert code_of(told.value) == "UNIMPLEMENTED"
    assert service.should_rate_limit(descriptor(slow)).statuses[0].limit_remaining == 2


def test_health(service: Service, serving: Served) -> None:
    """The health check of gRPC, as probes and Envoy make it."""
    check = "/grpc.health.v1.Health/Check"
    assert service.raw(b"", check) == b"\x08\x01"
    name = METHOD.split("/")[1].encode()
    assert service.raw(b"\x0a" + bytes([len(name)]) + name, check) == b"\x08\x01"
    with pytest.raises(grpc.RpcError) as told:
        service.raw(b"\x0a\x01x", check)
    assert code_of(told.value) == "NOT_FOUND"
    for message, status in ((b"", b"\x08\x01"), (b"\x0a\x01x", b"\x08\x03")):
        watched = service.watch(message)
        assert next(watched) == status
        watched.cancel()
    assert serving.process.poll() is None


def test_malformed_messages_harm_nobody(tmp_path: pathlib.Path, prefix: str) -> None:
    """Many of them, and bytes that are no HTTP/2: each gets an answer or the end."""
    count = 10_000 if os.environ.get("PADDLEGATE_SOAK") else 1_000
    seed = int(os.environ.get("PADDLEGATE_SEED", random.randrange(2**32)))
    print(f"seed={seed}")
    chance = random.Random(seed)
    path = tmp_path / "limits.json"
    path.write_text(json.dumps(limits(prefix)))
    server = Served("--limits", str(path), "--grpc", "127.0.0.1:0")
    address = grpc_address(server)
    service = Service(address)
    valid = bytes(
        RateLimitRequest(
            domain="edge",
            hits_addend=3,
            descriptors=[
                descriptor(("remote_address", "1"), hits_addend=1),
                descriptor(("user", "2")),
            ],
        )
    )
    codes: dict[str, int] = {}
    for i in range(count):
        message = bytearray(chance.randbytes(chance.randrange(64)) if i % 2 else valid)
        for _ in range(chance.randrange(1, 4)):
            if message:
                message[chance.randrange(len(message))] = chance.randrange(256)
        try:
            service.raw(bytes(message))
            code = "OK"
        except grpc.RpcError as error:
            code = code_of(error)
        codes[code] = codes.get(code, 0) + 1
    print(codes)
    assert set(codes) <= {"OK", "INTERNAL", "INVALID_ARGUMENT"}
    assert min(codes.get(code, 0) for code in ("INTERNAL", "INVALID_ARGUMENT")) > count / 100
    host, _, port = address.rpartition(":")
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    for i in range(count // 30):
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall((preface if i % 2 else b"") + chance.randbytes(200))
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass
    assert service.should_rate_limit(descriptor(("generic_key", "slow"))).overall_code == OK
    assert server.stop() == 0


def test_tokens_and_tls(tmp_path: pathlib.Path, prefix: str) -> None:
    """A token has the scope `decide` for names with its prefix, and nobody else gets an answer."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make.split(), *subject, *files], check=True, capture_output=True, timeout=60)
    path, tokens = tmp_path / "limits.json", tmp_path / "tokens.json"
    path.write_text(json.dumps(limits(prefix)))

    def token(name: str, **scopes: list[str]) -> dict[str, Any]:
        return {"name": name, "sha256": hashlib.sha256(name.encode()).hexdigest(), **scopes}

    listed = [token("edge", decide=[f"{prefix}s"]), token("reader", read=[""])]
    tokens.write_text(json.dumps({"tokens": listed}))
    server = Served(
        *("--limits", str(path), "--tokens", str(tokens), "--grpc", "127.0.0.1:0"),
        *("--tls-cert", str(certificate), "--tls-key", str(key)),
    )
    address = grpc_address(server)
    slow, ip = descriptor(("generic_key", "slow")), descriptor(("remote_address", "1"))

    def asked(name: str | None, *descriptors: RateLimitDescriptor) -> str:
        service = Service(address, name, certificate.read_bytes())
        try:
            return service.should_rate_limit(*descriptors).overall_code.name or ""
        except grpc.RpcError as error:
            return code_of(error)

    assert asked("edge", slow) == "OK"
    assert asked("edge", slow, ip) == "PERMISSION_DENIED"
    assert asked("reader", slow) == "PERMISSION_DENIED"
    assert asked("other", slow) == "UNAUTHENTICATED"
    assert asked(None, slow) == "UNAUTHENTICATED"
    with pytest.raises(grpc.RpcError) as told:
        Service(address, "edge").should_rate_limit(slow)
    assert code_of(told.value) == "UNAVAILABLE"
    health = Service(address, None, certificate.read_bytes())
    assert health.raw(b"", "/grpc.health.v1.Health/Check") == b"\x08\x01"
    # Of the refused requests none has taken anything.
    with_token = Service(address, "edge", certificate.read_bytes())
    assert with_token.should_rate_limit(slow).statuses[0].limit_remaining == 1
    assert server.stop() == 0


def test_the_mapping_is_read_again(tmp_path: pathlib.Path, prefix: str) -> None:
    """A wrong one names its place and changes nothing; at the start it is the end."""
    path = tmp_path / "limits.json"
    document = limits(prefix)
    path.write_text(json.dumps(document))
    server = Served("--limits", str(path), "--grpc", "127.0.0.1:0")
    service = Service(grpc_address(server))
    asked = descriptor(("generic_key", "new"))
    rule = {
        "domain": "edge",
        "entries": [{"key": "generic_key", "value": "new"}],
        "limiter": "nobody",
    }
    document["server"]["envoy"].append(rule)
    last = len(document["server"]["envoy"]) - 1
    place = f"at $.server.envoy[{last}].limiter: the file has no such limiter"

    def reloaded() -> str:
        path.write_text(json.dumps(document))
        server.process.send_signal(signal.SIGHUP)
        return server.said()

    said = reloaded()
    assert "kept the files as they were" in said
    assert place in said
    assert service.should_rate_limit(asked).statuses[0].current_limit is None
    ended = subprocess.run(
        [COMMAND, "serve", "--limits", path, "--grpc", "127.0.0.1:0"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, place in ended.stderr) == (2, True)
    rule["limiter"] = f"{prefix}slow"
    assert "read the files again" in reloaded()
    assert service.should_rate_limit(asked).statuses[0].limit_remaining == 2
    # Packages read the same file, and leave to the server what is the server's.
    with Paddlegate() as pg:
        assert len(pg.load(path)) == len(document["limiters"])
    assert server.stop() == 0


def test_a_store_that_is_away_is_unavailable(tmp_path: pathlib.Path, prefix: str) -> None:
    """So Envoy does what its `failure_mode_deny` says."""
    path = tmp_path / "limits.json"
    path.write_text(json.dumps(limits(prefix)))
    with socket.socket() as nobody:
        # Bound and not listening: every connection is refused.
        nobody.bind(("127.0.0.1", 0))
        url = f"redis://127.0.0.1:{nobody.getsockname()[1]}/0"
        server = Served("--limits", str(path), "--grpc", "127.0.0.1:0", "--redis", url)
        service = Service(grpc_address(server))
        for asked in ([("generic_key", "slow")], [("generic_key", "east")]):
            with pytest.raises(grpc.RpcError) as told:
                service.should_rate_limit(descriptor(*asked), descriptor(("remote_address", "1")))
            assert code_of(told.value) == "UNAVAILABLE"
        assert service.should_rate_limit(descriptor(("generic_key", "other"))).overall_code == OK
        assert service.raw(b"", "/grpc.health.v1.Health/Check") == b"\x08\x02"
        watched = service.watch()
        assert next(watched) == b"\x08\x02"
        assert server.stop() == 0
        assert list(watched) == [], "the stream ends with the server"
