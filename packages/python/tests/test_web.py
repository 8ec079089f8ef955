# mypy: allow-untyped-calls
"""The adapters for web hosts pass the kit, with their hosts, over HTTP."""

import pytest
from paddlegate.testing import check_adapter

# What a host leaves to its framework.
HOSTS: dict[str, set[str]] = {
    "asgi": set(),
    "fastapi": set(),
    "flask": set(),
    "django": set(),
    "django_async": set(),
    "drf": {"problem"},
}


@pytest.mark.parametrize("host", HOSTS)
def test_the_kit(host, url):
    check_adapter(f"web_hosts:{host}", url, HOSTS[host])
