"""A real Envoy asks the server about each request that it proxies."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Any

import yaml
from conftest import ROOT, Served
from envoy_service import grpc_address
from paddlegate import Paddlegate

API = "type.googleapis.com/envoy.extensions"
HCM = f"{API}.filters.network.http_connection_manager.v3.HttpConnectionManager"
FILTER = f"{API}.filters.http.ratelimit.v3.RateLimit"
ROUTER = f"{API}.filters.http.router.v3.Router"
OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
ENVOY = pathlib.Path(sys.executable).parent / "envoy"
ANY_PORT = {"socket_address": {"address": "127.0.0.1", "port_value": 0}}


def cluster(name: str, address: str, options: dict[str, Any]) -> dict[str, Any]:
    """An upstream of Envoy."""
    host, _, port = address.rpartition(":")
    endpoint = {"address": {"socket_address": {"address": host, "port_value": int(port)}}}
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "60s",
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": endpoint}]}],
        },
        "typed_extension_protocol_options": {
            OPTIONS: {"@type": f"type.googleapis.com/{OPTIONS}", "explicit_http_config": options}
        },
    }


def listener(name: str, deny: bool) -> dict[str, Any]:
    """An address whose requests are limited by path and by the header `x-user`."""
    actions = [
        [{"generic_key": {"descriptor_value": "slow"}}],
        [{"request_headers": {"header_name": "x-user", "descriptor_key": "user"}}],
    ]
    route = {"cluster": "upstream", "rate_limits": [{"actions": each} for each in actions]}
    limit = {
        "@type": FILTER,
        "domain": "edge",
        "failure_mode_deny": deny,
        "timeout": "60s",
        "enable_x_ratelimit_headers": "DRAFT_VERSION_03",
        "rate_limit_service": {
            "transport_api_version": "V3",
            "grpc_service": {"envoy_grpc": {"cluster_name": "paddlegate"}},
        },
    }
    manager = {
        "@type": HCM,
        "stat_prefix": name,
        "route_config": {
            "virtual_hosts": [
                {
                    "name": "all",
                    "domains": ["*"],
                    "routes": [{"match": {"prefix": "/"}, "route": route}],
                }
            ]
        },
        "http_filters": [
            {"name": "envoy.filters.http.ratelimit", "typed_config": limit},
            {"name": "envoy.filters.http.router", "typed_config": {"@type": ROUTER}},
        ],
    }
    filters = [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]
    return {"name": name, "address": ANY_PORT, "filter_chains": [{"filters": filters}]}


class Envoy:
    """A running Envoy in front of a server; `urls` has the listeners by name."""

    def __init__(self, folder: pathlib.Path, upstream: str, service: str) -> None:
        config = {
            "admin": {"address": ANY_PORT},
            "static_resources": {
                "listeners": [listener("open", deny=False), listener("deny", deny=True)],
                "clusters": [
                    cluster("upstream", upstream, {"http_protocol_options": {}}),
                    cluster("paddlegate", service, {"http2_protocol_options": {}}),
                ],
            },
        }
        (folder / "envoy.json").write_text(json.dumps(config))
        self.log = folder / "envoy.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *(ENVOY, "-c", folder / "envoy.json", "--concurrency", "1"),
                    *("--use-dynamic-base-id", "--admin-address-path", folder / "admin"),
                ],
                stderr=log,
            )
        self.admin = folder / "admin"
        self.urls: dict[str, str] = {}
        while len(self.urls) < 2:
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
            self._look()

    def _look(self) -> None:
        if not self.admin.exists() or not self.admin.read_text():
            return
        try:
            with urllib.request.urlopen(
                f"http://{self.admin.read_text()}/listeners?format=json", timeout=60
            ) as response:
                found = json.load(response).get("listener_statuses", [])
        except OSError:
            return
        for each in found:
            port = each["local_address"]["socket_address"]["port_value"]
            self.urls[each["name"]] = f"http://127.0.0.1:{port}/healthz"

    def get(self, name: str, user: str | None = None) -> tuple[int, dict[str, str]]:
        """Send a request and return its status and headers."""
        request = urllib.request.Request(self.urls[name], headers={"x-user": user} if user else {})
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                assert response.read() == b"ok\n"
                return response.status, {
                    name.lower(): value for name, value in response.headers.items()
                }
        except urllib.error.HTTPError as refused:
            return refused.code, {name.lower(): value for name, value in refused.headers.items()}

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(60)


def test_envoy_and_a_python_program_share_a_limit(tmp_path: pathlib.Path, prefix: str) -> None:
    """Envoy answers 429 after the limit, of which a program takes; alone it does as configured."""
    name, each = f"{prefix}slow", f"{prefix}each"
    limiters = {
        name: {"window": {"limit": 10, "per": "hour"}},
        each: {"window": {"limit": 2, "per": "2h"}, "keyed": True},
    }
    rules = [
        {
            "domain": "edge",
            "entries": [{"key": "generic_key", "value": "slow"}],
            "limiter": name,
            "headers": True,
        },
        {"domain": "edge", "entries": [{"key": "user"}], "limiter": each},
    ]
    path = tmp_path / "limits.json"
    path.write_text(json.dumps({"limiters": limiters, "server": {"envoy": rules}}))
    url = os.environ["PADDLEGATE_TEST_URL"]
    upstream = Served()
    server = Served("--limits", str(path), "--redis", url, "--grpc", "127.0.0.1:0")
    envoy = Envoy(tmp_path, upstream.url.removeprefix("http://"), grpc_address(server))
    try:
        with Paddlegate(url, timeout=60) as pg:
            limiter = pg.window(name, 10, 3600)
            assert limiter.try_acquire(cost=3).remaining == 7
            status, headers = envoy.get("open")
            assert (status, headers["x-ratelimit-remaining"]) == (200, "6")
            assert headers["x-ratelimit-limit"] == f'10, 10;w=3600;name="{name}"'
            assert 0 < int(headers["x-ratelimit-reset"]) <= 3600
            assert headers["ratelimit-policy"] == f'"{name}";q=10;w=3600'
            assert headers["ratelimit"].startswith(f'"{name}";r=6;t=')
            # Of a request that a user's own limit refuses the other limit takes nothing.
            status, headers = envoy.get("open", "ann")
            assert (status, headers["x-ratelimit-remaining"]) == (200, "1")
            # Two hours are no unit of Envoy, which shows the limit without them.
            assert headers["x-ratelimit-limit"] == f'2, 10;w=3600;name="{name}"'
            assert [envoy.get("open", "ann")[0] for _ in range(3)] == [200, 429, 429]
            assert limiter.peek().remaining == 4
            # A client sends any bytes, and has a limit also with those that are no text.
            assert [envoy.get("open", "\xff")[0] for _ in range(3)] == [200, 200, 429]
            assert limiter.try_acquire().remaining == 1
            assert [envoy.get("deny")[0] for _ in range(2)] == [200, 429]
            status, headers = envoy.get("open")
            assert (status, headers["x-ratelimit-remaining"]) == (429, "0")
            assert 0 < int(headers["retry-after"]) <= 3600
            assert headers["x-envoy-ratelimited"] == "true"
            assert not limiter.try_acquire()
        assert server.stop() == 0
        assert envoy.get("open")[0] == 200
        assert envoy.get("deny")[0] == 500
    finally:
        envoy.stop()
    assert upstream.stop() == 0


def test_envoy_reads_the_configuration_of_the_guide(tmp_path: pathlib.Path) -> None:
    """The blocks for Envoy and Istio, with what is around them in a whole file."""
    page = (ROOT / "docs" / "src" / "guides" / "envoy.md").read_text()
    blocks = [block.partition("```")[0] for block in page.split("```text\n")[1:]]
    own, istio = (yaml.safe_load(block) for block in blocks if ":\n" in block)
    (patch, routes) = (it["patch"]["value"] for it in istio["spec"]["configPatches"])
    for filters in (own["http_filters"], [patch, own["http_filters"][-1]]):
        service = filters[0]["typed_config"]["rate_limit_service"]["grpc_service"]["envoy_grpc"]
        service["cluster_name"] = "paddlegate"
        host = {"name": "all", "domains": ["*"], "routes": own["routes"], **routes}
        manager = {
            "@type": HCM,
            "stat_prefix": "all",
            "route_config": {"virtual_hosts": [host]},
            "http_filters": filters,
        }
        network = {"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}
        reports = cluster("reports", "127.0.0.1:1", {"http_protocol_options": {}})
        config = {
            "static_resources": {
                "listeners": [{"address": ANY_PORT, "filter_chains": [{"filters": [network]}]}],
                "clusters": [*own["clusters"], reports],
            }
        }
        path = tmp_path / "envoy.json"
        path.write_text(json.dumps(config))
        checked = subprocess.run(
            [ENVOY, "-c", path, "--mode", "validate"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert checked.returncode == 0, checked.stderr
