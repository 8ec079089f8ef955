"""`Cost`: the units of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Cost: TypeAlias = int | Mapping[str, int | Mapping[str, int]]
"""Units of every limit that counts units, or units of each label.

A limit whose label is not named counts one, the call; a `points` limit must be named. Concurrency
and throttle count calls and may not be named. On several limiters that decide together a key may be
the name of a limiter, for its units or a mapping from its labels.
"""
