"""One rate limiter for every language a company runs."""

from paddlegate._admission import Admission
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
from paddlegate._extension import Extension
from paddlegate._gate import Gate, WithinGate
from paddlegate._gate_decision import GateDecision
from paddlegate._graphql import graphql_cost
from paddlegate._history import History, HistoryEntry
from paddlegate._inspection import InspectedLimit, Inspection, LeaseInfo, TicketInfo
from paddlegate._learned import Learned
from paddlegate._limiter import Limiter
from paddlegate._limits import Bucket, Concurrency, Leaky, Points, Quota, Throttle, Window
from paddlegate._native import (
    Decision,
    DecisionLimit,
    StreamUsage,
    TestClock,
    __version__,
    caller_key,
    plain_key,
)
from paddlegate._paddlegate import Paddlegate
from paddlegate._permit import AsyncPermit, Permit, Settlement
from paddlegate._runtime_state import LimitSettings, RuntimeState
from paddlegate._skipped import SKIPPED
from paddlegate._statistics import LimiterInfo, LimiterPage, LimitInfo, Statistics
from paddlegate._within import WithinLimit

__all__ = [
    "SKIPPED",
    "Admission",
    "AsyncPermit",
    "BlockingWarning",
    "Bucket",
    "Concurrency",
    "DataError",
    "Decision",
    "DecisionLimit",
    "Extension",
    "Gate",
    "GateDecision",
    "History",
    "HistoryEntry",
    "InspectedLimit",
    "Inspection",
    "InternalError",
    "InvalidError",
    "Leaky",
    "Learned",
    "LeaseInfo",
    "LeaseLostWarning",
    "LimitInfo",
    "LimitSettings",
    "Limiter",
    "LimiterInfo",
    "LimiterPage",
    "OverLimit",
    "Paddlegate",
    "PaddlegateError",
    "Permit",
    "Points",
    "Quota",
    "RuntimeState",
    "Settlement",
    "Statistics",
    "StreamUsage",
    "TestClock",
    "Throttle",
    "TicketInfo",
    "UnavailableError",
    "Window",
    "WithinGate",
    "WithinLimit",
    "__version__",
    "caller_key",
    "graphql_cost",
    "plain_key",
]
