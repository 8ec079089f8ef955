"""Envoy's rate limit service of a server, called as Envoy calls it, with Envoy's own messages."""

from __future__ import annotations

import warnings
from typing import Any

import grpc
from conftest import Served

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from envoy_data_plane.envoy.extensions.common.ratelimit.v3 import (
        RateLimitDescriptor,
        RateLimitDescriptorEntry,
        RateLimitDescriptorRateLimitOverride,
    )
    from envoy_data_plane.envoy.service.ratelimit.v3 import (
        RateLimitRequest,
        RateLimitResponse,
        RateLimitResponseCode,
        RateLimitResponseRateLimitUnit,
    )

__all__ = [
    "METHOD",
    "RateLimitDescriptor",
    "RateLimitDescriptorRateLimitOverride",
    "RateLimitRequest",
    "RateLimitResponse",
    "RateLimitResponseCode",
    "RateLimitResponseRateLimitUnit",
    "Service",
    "code_of",
    "descriptor",
    "grpc_address",
]

METHOD = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"


def grpc_address(server: Served) -> str:
    """Return where a server with `--grpc` listens, which its next line says."""
    assert server.process.stdout is not None
    line = server.process.stdout.readline()
    assert line.startswith("grpc on "), line
    return line.removeprefix("grpc on ").strip()


def descriptor(*entries: tuple[str, str], **more: Any) -> RateLimitDescriptor:
    """Make a descriptor of keys and values."""
    made = [RateLimitDescriptorEntry(key=key, value=value) for key, value in entries]
    return RateLimitDescriptor(entries=made, **more)


def code_of(error: grpc.RpcError) -> str:
    """Return the name of the code of a call that failed."""
    name: str = error.code().name  # type: ignore[attr-defined]
    return name


class Service:
    """A client of the service; `token` is sent as Envoy sends `initial_metadata`."""

    def __init__(
        self, address: str, token: str | None = None, certificate: bytes | None = None
    ) -> None:
        if certificate is None:
            self.channel = grpc.insecure_channel(address)
        else:
            self.channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(certificate))
        self.metadata = [("authorization", f"Bearer {token}")] if token else []

    def raw(self, message: bytes, method: str = METHOD) -> bytes:
        """Send bytes and return those of the answer."""
        call = self.channel.unary_unary(method, lambda it: it, lambda it: it)
        answer: bytes = call(message, timeout=60, metadata=self.metadata)
        return answer

    def watch(self, message: bytes = b"") -> Any:
        """Watch the health, and return an iterator of the bytes of the answers."""
        call = self.channel.unary_stream(
            "/grpc.health.v1.Health/Watch", lambda it: it, lambda it: it
        )
        return call(message, timeout=60, metadata=self.metadata)

    def should_rate_limit(
        self, *descriptors: RateLimitDescriptor, domain: str = "edge", hits_addend: int = 0
    ) -> RateLimitResponse:
        """Ask whether a request with these descriptors may pass."""
        asked = RateLimitRequest(
            domain=domain, descriptors=list(descriptors), hits_addend=hits_addend
        )
        return RateLimitResponse.parse(self.raw(bytes(asked)))
