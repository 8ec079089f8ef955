"""One rate limiter for every language a company runs."""

from paddlegate._admission import Admission
from paddlegate._controls import Controls, Numbers
from paddlegate._errors import (
    BlockingWarning,
    DataError,
    InternalError,
    InvalidError,
    LeaseLostWarning,
    OverLimit,
    PaddlegateError,
    UnavailableError,
)
from paddlegate._gate import Gate, WithinGate
from paddlegate._graphql import graphql_cost
from paddlegate._learned import Learned
from paddlegate._limiter import Limiter
from paddlegate._native import Decision, __version__
from paddlegate._paddlegate import Paddlegate
from paddlegate._permit import AsyncPermit, Permit, Settlement
from paddlegate._skipped import SKIPPED
from paddlegate._statistics import Listed, ListedLimit, Statistics
from paddlegate._verdict import Verdict
from paddlegate._within import WithinLimit

__all__ = [
    "SKIPPED",
    "Admission",
    "AsyncPermit",
    "BlockingWarning",
    "Controls",
    "DataError",
    "Decision",
    "Gate",
    "InternalError",
    "InvalidError",
    "Learned",
    "LeaseLostWarning",
    "Limiter",
    "Listed",
    "ListedLimit",
    "Numbers",
    "OverLimit",
    "Paddlegate",
    "PaddlegateError",
    "Permit",
    "Settlement",
    "Statistics",
    "UnavailableError",
    "Verdict",
    "WithinGate",
    "WithinLimit",
    "__version__",
    "graphql_cost",
]
