"""Which requests to Discord share a limit. Twin of packages/node/lib/discord-route.js."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

API = re.compile(r"/api(?:/v\d+)?(/.+)")
ID = re.compile(r"\d{16,20}")
MAJOR = ("channels", "guilds", "webhooks")
EPOCH_MS = 1_420_070_400_000
"""The start of the times in Discord's ids."""
LIMIT, REMAINING = "X-RateLimit-Limit", "X-RateLimit-Remaining"
RESET_AFTER = "X-RateLimit-Reset-After"
MOST_UNITS = 100_000
"""The largest window of a limiter."""
MOST_SECONDS = 86_400
NEW_MS, OLD_MS = 10_000, 14 * 86_400_000


@dataclass(frozen=True, slots=True)
class Route:
    """A route with its major parameter, which has its own limit."""

    name: str
    """Method and path without ids; routes of one name and major parameter share a limit."""
    major: str
    """The channel, guild or webhook; empty without one."""
    is_global: bool
    """Whether the request counts for the global limit of the bot."""
    is_callback: bool
    """Whether it is the first answer to an interaction, which has no limit of a route."""
    has_token: bool
    """Whether it is a webhook's; each interaction has one for its later answers."""


def route_of(method: str, path: str, now_ms: float) -> Route | None:
    """Return the route of a request; None for one that is not to Discord's API."""
    match = API.fullmatch(path)
    if match is None:
        return None
    parts = match[1].strip("/").split("/")
    is_interaction = parts[0] == "interactions"
    has_token = parts[0] == "webhooks" and len(parts) > 2
    major = parts[1] if parts[0] in MAJOR and len(parts) > 1 and ID.fullmatch(parts[1]) else ""
    if len(parts) > 2 and (has_token or is_interaction):
        # A token is a secret, which is not for the names of limiters.
        major = f"{major}/{sha256(parts[2].encode()).hexdigest()[:16]}" if has_token else ""
        parts[2] = ":token"
    if "reactions" in parts:
        del parts[parts.index("reactions") + 1 :]
    names = [":id" if ID.fullmatch(part) else part for part in parts]
    name = f"{method.upper()}/{'/'.join(names)}"
    if name == "DELETE/channels/:id/messages/:id":
        # Discord limits the deletion of messages by their age.
        age = now_ms - ((int(parts[3]) >> 22) + EPOCH_MS)
        name += ":new" if age <= NEW_MS else ":old" if age >= OLD_MS else ""
    is_callback = is_interaction and names[-1] == "callback"
    return Route(name, major, not (is_interaction or has_token), is_callback, has_token)


def numbers_of(headers: Mapping[str, str], without: int | None) -> tuple[int, float] | None:
    """Return size and length in seconds of the window of a response, if it has both.

    Only the first response of a window has its length. A route without headers has no limit of its
    own; then the numbers are `without` in a second, or None.
    """
    try:
        limit, remaining = int(headers[LIMIT]), int(headers[REMAINING])
        reset_after = float(headers[RESET_AFTER])
    except KeyError:
        is_limited = LIMIT in headers or REMAINING in headers
        return None if is_limited or without is None else (without, 1.0)
    except ValueError:
        return None
    if not (1 <= limit <= MOST_UNITS and remaining == limit - 1 and 0 < reset_after < MOST_SECONDS):
        return None
    # Some time has passed since the window began; below half a second windows are not whole.
    return limit, math.ceil(reset_after) if reset_after > 0.5 else reset_after
