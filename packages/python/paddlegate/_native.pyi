"""The native half of the package."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Literal, TypeAlias, TypeVar, final

from typing_extensions import disjoint_base

from paddlegate._permit import Grant

# `id` is the name in all languages.
# ruff: noqa: A002

__all__ = [
    "AdminRequest",
    "Call",
    "Decision",
    "Gate",
    "Limiter",
    "Link",
    "LoadedLimiter",
    "MultiStepCall",
    "Paddlegate",
    "WakeupListener",
    "WithinLimit",
    "__version__",
    "call_with_fallback",
    "graphql_cost",
    "new_id",
    "restore",
    "sort_listed",
]

_T = TypeVar("_T")
_Span: TypeAlias = float | timedelta | str
_Deadline: TypeAlias = datetime | float
_Policy: TypeAlias = Literal["raise", "ignore", "skip"]
_OnUnavailable: TypeAlias = Literal["raise", "closed", "open", "local"]
_OnLimit: TypeAlias = Literal["raise", "ignore", "wait", "reschedule", "drop"]
_Action: TypeAlias = Literal["run", "wait", "reschedule", "drop", "refuse"]
_Level: TypeAlias = Literal["second", "minute", "hour"]
_LimiterFields: TypeAlias = tuple[str, list[tuple[str, int, int, int]], int, int]
_Provider: TypeAlias = Literal[
    "auto",
    "shopify",
    "github",
    "discord",
    "linear",
    "stripe",
    "openai",
    "anthropic",
    "ietf",
]
_Rules: TypeAlias = Literal["shopify", "github"]
_LimitFields: TypeAlias = tuple[str, int, float] | None
_RuntimeStateFields: TypeAlias = tuple[
    int, bool, float | None, list[_LimitFields], float | None, list[_LimitFields]
]
_Scope: TypeAlias = Literal["user", "global", "shared"]
_LearnedFields: TypeAlias = tuple[
    Literal["settled", "already", "late", "unknown"] | None,
    list[str],
    list[str],
    int | None,
    float | None,
    _Scope | None,
    str | None,
]
_StatisticsFields: TypeAlias = tuple[int, int, int, float, int, int, float, int, int, int, int, int]

__version__: str

@final
class Decision:
    """The answer to one call. True when the call may go ahead, false when it was refused."""

    @property
    def status(self) -> str:
        """What became of the call: "granted", "refused", "queued", or "gone" without a ticket."""
    @property
    def allowed(self) -> bool:
        """Whether the call may go ahead."""
    @property
    def limit(self) -> int | None:
        """The units of the limit described here; None when nothing limits."""
    @property
    def remaining(self) -> int | None:
        """The units that could be taken right after this decision; None when nothing limits."""
    @property
    def retry_after(self) -> float | None:
        """Seconds until it would pass or should look again, 0 when granted; None when not known."""
    @property
    def reset_after(self) -> float | None:
        """Seconds until all of the limit is there again; None when no time is known."""
    @property
    def reason(self) -> str | None:
        """The kind of the limit that refused, "paused" or "unavailable"; None when granted."""
    @property
    def index(self) -> int:
        """Which limit of the policy the numbers describe, from 0; behind the last it is a pause."""
    @property
    def at_us(self) -> int:
        """The store's time of the decision in microseconds; 0 when no store was asked."""
    @property
    def permit(self) -> str | None:
        """The id under which a grant may be corrected or released, from any process."""
    @property
    def lease(self) -> float | None:
        """Seconds that the lease lasts from `at_us`; None without a concurrency limit."""
    @property
    def fence(self) -> int | None:
        """A number that rises with every lease of the limiter; None without a concurrency limit."""
    @property
    def ticket(self) -> int | None:
        """The number of its ticket in the queue; None when it had none."""
    @property
    def position(self) -> int | None:
        """How many tickets stand before its own; None when it had none."""
    @property
    def ready_after(self) -> float | None:
        """Seconds until it may pass if all before it do; None where it waits for a release."""
    @property
    def degraded(self) -> bool:
        """Whether the store could not decide, so that `on_unavailable` of the limiter has."""
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def restore(fields: tuple[Any, ...], /) -> Decision:
    """Make a decision again from what its pickle holds."""

def new_id() -> str:
    """Make a new id for a call."""

def sort_listed(entries: list[_LimiterFields], /) -> list[_LimiterFields]:
    """Bring the parts of a list of limiters together."""

def graphql_cost(query: str, variables: str, rules: _Rules, operation: str | None) -> int:
    """Tell what a GraphQL query is likely to cost in points; `variables` is JSON text or empty."""

def call_with_fallback(
    function: Callable[[_T], None], another: Callable[[_T], None], argument: _T
) -> None:
    """Call a function; if it raises, another with the same argument too."""

class WithinLimit:
    def __new__(cls, *arguments: object) -> WithinLimit: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

@disjoint_base
class Paddlegate:
    def __new__(cls, url: str | None = None, *, timeout: _Span | None = None) -> Paddlegate: ...
    def _load(
        self,
        document: str,
        lock_timeout: _Span | None,
        tenant: str | None,
        group: str | None,
    ) -> list[LoadedLimiter]: ...
    def _workflow(self, definition: str, run: str, lock_timeout: _Span | None) -> LoadedLimiter: ...
    @property
    def _timeout(self) -> float | None: ...
    def _close(self) -> None: ...
    def _limiters(self) -> list[_LimiterFields]: ...
    @property
    def _parts(self) -> int: ...
    def _begin_list(self, part: int, cursor: int) -> tuple[list[_LimiterFields], int] | Call: ...

@disjoint_base
class Limiter:
    def __new__(
        cls,
        paddlegate: Paddlegate,
        name: str,
        limits: Iterable[tuple[object, ...]] | LoadedLimiter,
        wait_timeout: _Span | None = None,
        *,
        lock_timeout: _Span | None = None,
        policy: _Policy | None = None,
        ttl: _Span | None = None,
        on_unavailable: _OnUnavailable | None = None,
        share: int | None = None,
    ) -> Limiter: ...
    @property
    def name(self) -> str:
        """The name it was made with."""
    @property
    def wait_timeout(self) -> float:
        """Seconds to wait unless a call says otherwise."""
    @property
    def policy(self) -> str:
        """What a refusal does to `within_limit`: "raise" or "ignore"."""
    @property
    def on_limit(self) -> str:
        """What happens to refused work: "raise", "ignore"; or "wait", "reschedule", "drop"."""
    @property
    def on_unavailable(self) -> str:
        """What it answers while the store cannot decide: "raise", "closed", "open" or "local"."""
    @property
    def share(self) -> int | None:
        """Percent of each limit that this process takes alone; None except for "local"."""
    @property
    def ttl(self) -> float:
        """Seconds that its statistics are kept after its last use."""
    def allow(
        self, cost: int | None = None, estimate: int | None = None, at_us: int | None = None
    ) -> bool:
        """Tell whether the call may go ahead; if so it is charged.

        Not for a concurrency limit, whose lease must end.
        """
    def try_acquire(
        self,
        cost: int | None = None,
        estimate: int | None = None,
        at_us: int | None = None,
        id: str | None = None,
    ) -> Decision:
        """Charge the call if every limit allows it; never wait and never raise on refusal.

        Asking again with the `id` of a lease is a success that takes nothing.
        """
    def peek(
        self, cost: int | None = None, estimate: int | None = None, at_us: int | None = None
    ) -> Decision:
        """Tell what `try_acquire` would answer now; change nothing.

        Without a cost it looks for one unit, of points too.
        """
    def correct(self, permit: str | Grant | Decision, actual: int, at_us: int | None = None) -> str:
        """Replace the estimate of a permit by what the call did cost, once."""
    def release(self, permit: str | Grant | Decision, at_us: int | None = None) -> str:
        """End the lease of a permit, from any process.

        Answers "released"; or else "late" when it had ended before, or "unknown".
        """
    def renew(self, permit: str | Grant | Decision, at_us: int | None = None) -> float | None:
        """Give a lease its whole time again: seconds that it lasts, or None when it has ended."""
    def cancel(self, id: str, at_us: int | None = None) -> str:
        """Leave the queue: "cancelled", or "unknown" without a ticket. A lease ends too."""
    def reset(self) -> None:
        """Forget what was taken, permits, leases, tickets, statistics, and what was ordered."""
    @property
    def _leases(self) -> bool: ...
    def _check_allow(self) -> None: ...
    def _enter(
        self,
        cost: int | None,
        estimate: int | None,
        at_us: int | None,
        id: str,
        place: int | None,
        wait_timeout: _Span | None,
        claim_timeout: _Span | None,
        channel: str | None,
    ) -> Decision: ...
    def _admit(
        self,
        cost: int | None,
        estimate: int | None,
        at_us: int | None,
        id: str,
        on_limit: _OnLimit | None,
    ) -> Decision: ...
    @staticmethod
    def _job_ids(ids: Iterable[str]) -> list[str]: ...
    def _action(
        self, decision: Decision, on_limit: _OnLimit | None
    ) -> tuple[_Action, float | None]: ...
    def _cancel(self, id: str, gave_up: bool, at_us: int | None) -> str: ...
    def _statistics(self, at_us: int | None) -> _StatisticsFields: ...
    def _tell(self, order: AdminRequest) -> Any: ...
    def _begin_acquire(
        self, cost: int | None, estimate: int | None, at_us: int | None, id: str | None = None
    ) -> Decision | Call: ...
    def _begin_enter(
        self,
        cost: int | None,
        estimate: int | None,
        at_us: int | None,
        id: str,
        place: int | None,
        wait_timeout: _Span | None,
        claim_timeout: _Span | None,
        channel: str | None,
    ) -> Decision | Call: ...
    def _begin_admit(
        self,
        cost: int | None,
        estimate: int | None,
        at_us: int | None,
        id: str,
        on_limit: _OnLimit | None,
    ) -> Decision | Call: ...
    def _begin_peek(
        self, cost: int | None, estimate: int | None, at_us: int | None
    ) -> Decision | Call: ...
    def _begin_correct(
        self, permit: str | Grant | Decision, actual: int, at_us: int | None
    ) -> str | Call: ...
    def _begin_release(self, permit: str | Grant | Decision, at_us: int | None) -> str | Call: ...
    def _begin_renew(
        self, permit: str | Grant | Decision, at_us: int | None
    ) -> float | Call | None: ...
    def _begin_cancel(self, id: str, gave_up: bool, at_us: int | None) -> str | Call: ...
    def _begin_statistics(self, at_us: int | None) -> _StatisticsFields | Call: ...
    def _begin_tell(self, order: AdminRequest) -> Any: ...
    def _begin_reset(self) -> Call | None: ...
    def _patience(self, wait_timeout: _Span | None) -> float: ...
    def _place(self) -> str | None: ...
    def _listen(self) -> WakeupListener: ...

@final
class LoadedLimiter:
    """A limiter of a document, to make a `Limiter` of."""

    @property
    def name(self) -> str:
        """The name that the document gives it."""

@disjoint_base
class Gate:
    """Chooses which slot of a document limits a request."""

    def __new__(cls, paddlegate: Paddlegate, document: str) -> Gate: ...

@final
class MultiStepCall:
    """What takes several operations, of which each depends on the answers before it.

    It is run once.
    """

    @staticmethod
    def pass_gate(
        gate: Gate,
        facts: tuple[str | None, str | None, str | None, str | None, str | None],
        at_us: int | None,
    ) -> MultiStepCall: ...
    @staticmethod
    def jobs(limiter: Limiter, ids: Iterable[str], on_limit: _OnLimit | None) -> MultiStepCall: ...
    @staticmethod
    def apply_ojs_override(limiter: Limiter, document: str, at_us: int | None) -> MultiStepCall: ...
    @staticmethod
    def apply_ojs_signal(limiter: Limiter, document: str, at_us: int | None) -> MultiStepCall: ...
    def run(self) -> Any:
        """Run it to its end."""
    def begin(self) -> Any:
        """Start it: what comes of it, or the first call to carry to the server."""

@final
class AdminRequest:
    """What is told to a limiter that runs: an order, or what upstream says of its budget."""

    @staticmethod
    def look(at_us: int | None) -> AdminRequest: ...
    @staticmethod
    def pause(
        seconds: _Span | None, until: _Deadline | None, at_us: int | None
    ) -> AdminRequest: ...
    @staticmethod
    def resume(at_us: int | None) -> AdminRequest: ...
    @staticmethod
    def override(
        limit: int | None,
        interval: _Span | None,
        index: int,
        expires_in: _Span | None,
        expires_at: _Deadline | None,
        at_us: int | None,
    ) -> AdminRequest: ...
    @staticmethod
    def restore(index: int | None, at_us: int | None) -> AdminRequest: ...
    @staticmethod
    def report_budget(
        remaining: int | None,
        limit: int | None,
        interval: _Span | None,
        restore_rate: float | None,
        reset_in: _Span | None,
        reset_at: _Deadline | None,
        index: int,
        permit: str | Grant | Decision | None,
        at_us: int | None,
    ) -> AdminRequest: ...
    @staticmethod
    def learn_from_response(
        headers: list[tuple[str, str]],
        body: str,
        status: int | None,
        provider: _Provider,
        max_pause: _Span | None,
        max_learned: int | None,
        permit: str | Grant | Decision | None,
        at_us: int | None,
    ) -> AdminRequest: ...

@final
class WakeupListener:
    """Messages to those who wait. When the descriptor can be read, `receive` gives them."""

    @property
    def channel(self) -> str:
        """What tickets name so that their messages come here."""
    def fileno(self) -> int:
        """Give the descriptor to watch."""
    def close(self) -> None:
        """Close the connection; whoever watches the descriptor sees that."""
    def receive(self) -> list[tuple[str, float]]:
        """Give the ids that were called, each with the seconds until it should look."""

@final
class Call:
    """One operation on its way to one server. A link takes it once."""

    @property
    def node(self) -> str:
        """The server it goes to."""
    @property
    def pause(self) -> float:
        """Seconds to wait before it is sent."""
    @property
    def unsent(self) -> bool:
        """Whether a link could not send it, and was not only out of date."""
    @property
    def is_next(self) -> bool:
        """Whether it is another operation, with a time of its own."""
    @property
    def nodes(self) -> int:
        """How many servers the URL names."""
    @property
    def timeout(self) -> float:
        """Seconds within which it must be answered."""
    def give_up(self) -> Any:
        """Send it no more: give its exception, or what the limiter answers in place of it."""
    def link(self) -> Link:
        """Make a link to its server, not connected yet."""

@final
class Link:
    """One connection to one server.

    `flush`, `receive` and `expire` give the tickets that are done with, each with its answer,
    its exception or the call that goes on elsewhere.
    """

    def connect(self) -> None:
        """Connect, on a thread that may wait. How it went shows in the next `flush`."""
    def fileno(self) -> int:
        """Give the socket's descriptor; -1 without a socket."""
    @property
    def over(self) -> bool:
        """Whether calls need another link."""
    @property
    def full(self) -> bool:
        """Whether `flush` has to be called again when the socket can be written."""
    def submit(self, call: Call) -> int:
        """Queue a call until the next `flush` and give its ticket."""
    def flush(self) -> list[tuple[int, Any]]:
        """Write what is queued."""
    def receive(self) -> list[tuple[int, Any]]:
        """Read what has arrived."""
    def expire(self) -> list[tuple[int, Any]]:
        """End it, because an answer did not come in time."""
    def close(self) -> None:
        """Close the socket."""
