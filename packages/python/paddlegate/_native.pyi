"""The native part of the package."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Literal, TypeAlias, TypeVar, final

from typing_extensions import Self, disjoint_base

from paddlegate._cost import Cost
from paddlegate._limits import Limits
from paddlegate._order import Order
from paddlegate._permit import Grant

# `id` is the name in all languages.
# ruff: noqa: A002

__all__ = [
    "CANCEL_TIMEOUT",
    "LIMITERS_PER_PAGE",
    "AdminRequest",
    "Call",
    "Decision",
    "DecisionLimit",
    "DiscordRoute",
    "Gate",
    "Limiter",
    "LimiterOfKey",
    "Link",
    "ListedLimiter",
    "LoadedLimiter",
    "MultiStepCall",
    "Paddlegate",
    "StreamUsage",
    "TestClock",
    "Together",
    "Unfinished",
    "Waiter",
    "WakeupListener",
    "WithinLimit",
    "__version__",
    "call_with_fallback",
    "caller_key",
    "discord_window",
    "graphql_cost",
    "new_id",
    "plain_key",
    "reconnect_pause",
    "restore",
    "restore_limit",
    "send_counts",
    "sort_listed",
]

_T = TypeVar("_T")
_Span: TypeAlias = float | timedelta | str
_Deadline: TypeAlias = datetime | float
_OnLimit: TypeAlias = Literal["raise", "ignore", "skip"]
_OnUnavailable: TypeAlias = Literal["raise", "fail_closed", "fail_open", "local"]
_JobOnLimit: TypeAlias = Literal["raise", "ignore", "wait", "reschedule", "drop"]
_Action: TypeAlias = Literal["run", "wait", "reschedule", "drop", "refuse"]
_Level: TypeAlias = Literal["second", "minute", "hour"]
_Mode: TypeAlias = Literal["enforce", "shadow"]
_BlockAfter: TypeAlias = tuple[int, _Span, _Span]
_Refund: TypeAlias = Literal["full", "undrained"]
_Period: TypeAlias = Literal["day", "week", "month", "quarter", "year"]
_Closed: TypeAlias = Literal["already", "late", "unknown"]
_ListedLimit: TypeAlias = tuple[str, str, int, int, int, tuple[_Period, str, str] | None]
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
_Text: TypeAlias = str | bytes | bytearray | memoryview
_Rules: TypeAlias = Literal["shopify", "github"]
_LimitFields: TypeAlias = tuple[str, str, int, float]
_RuntimeStateFields: TypeAlias = tuple[
    int,
    bool,
    float | None,
    list[_LimitFields],
    float | None,
    list[_LimitFields],
    float | None,
    _Mode | None,
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
_Source: TypeAlias = Literal["policy", "override", "learned"]
_InspectionFields: TypeAlias = tuple[
    int,
    list[tuple[str, str, int, float, _Source, int, int, float | None, float]],
    float | None,
    float | None,
    _Mode,
    list[tuple[str, float | None, float, int | None]],
    int,
    list[tuple[str, int, str | None, float, bool]],
    int,
]
_HistoryFields: TypeAlias = list[tuple[float, int, int, int, int]]
_StatisticsFields: TypeAlias = tuple[
    tuple[int, int, int, float, int, int, float, int, int, int, int, int],
    int,
    dict[str, int],
    tuple[int, ...],
    tuple[int, int, int, int, tuple[int, ...]],
]

__version__: str

CANCEL_TIMEOUT: float
"""Seconds for which a call that ends without a permit waits for its cancellation."""
LIMITERS_PER_PAGE: int
"""The number of limiters that a page of the list has at least, but for the last."""

@final
class DecisionLimit:
    """One limit after a decision, by itself.

    A pause and the calls ahead in the queue do not count.
    """

    @property
    def limiter(self) -> str | None:
        """The limiter of several that decide together whose limit it is; None for one alone."""
    @property
    def label(self) -> str:
        """The label."""
    @property
    def kind(self) -> str:
        """The kind: `window`, `bucket` and so on."""
    @property
    def limit(self) -> int:
        """The units of the limit, 1 for a throttle."""
    @property
    def interval(self) -> float:
        """Seconds of the interval, to drain or refill fully, or of a lease.

        Of a quota those of its longest period.
        """
    @property
    def remaining(self) -> int:
        """The units that can be taken right after the decision."""
    @property
    def retry_after(self) -> float | None:
        """Seconds for which this limit holds the call up, 0 when it does not, as after a grant.

        None when no time is known.
        """
    @property
    def reset_after(self) -> float | None:
        """Seconds until all units are available again; None when no time is known."""
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Decision:
    """The result of one call. True when the call was granted, otherwise false."""

    @property
    def status(self) -> str:
        """The status of the call: `granted`, `refused`, `queued` or `no_ticket`."""
    @property
    def allowed(self) -> bool:
        """Whether the call was granted."""
    @property
    def limit(self) -> int | None:
        """The units of the limit described here, 1 for a throttle; None when no limit applies."""
    @property
    def remaining(self) -> int | None:
        """The units that can be taken right after this decision; None when no limit applies."""
    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before the next attempt, 0 when granted; None when no time is known.

        With `would_refuse` the seconds that the call would have to wait.
        """
    @property
    def reset_after(self) -> float | None:
        """Seconds until all units are available again; None when no time is known."""
    @property
    def reason(self) -> str | None:
        """Why the call was refused or queued; None if granted.

        The kind of the limit, `paused`, `blocked`, `unavailable`, `too_large`: a limit that was
        lowered at run time is below the cost, or `running`: another run of the job has its lease.
        """
    @property
    def would_refuse(self) -> str | None:
        """The `reason` that a call would have had which only the mode "shadow" granted, or None.

        Such a grant charges nothing.
        """
    @property
    def label(self) -> str | None:
        """The label of the described limit; None for a runtime pause or when no limit applies."""
    @property
    def limiter(self) -> str | None:
        """The limiter of several that decide together which is described; None for a single one."""
    @property
    def at_us(self) -> int:
        """The store's time of the decision in microseconds; 0 when no store was called."""
    @property
    def permit(self) -> str | None:
        """The id with which any process can correct or release the grant; None without one."""
    @property
    def lease(self) -> float | None:
        """Seconds that the lease lasts from `at_us`; None without a concurrency limit."""
    @property
    def fencing_token(self) -> int | None:
        """A number that rises with every lease of the limiter; None without a lease."""
    @property
    def ticket(self) -> int | None:
        """The number of the ticket in the queue; None without a ticket."""
    @property
    def position(self) -> int | None:
        """The number of tickets ahead; None without a ticket."""
    @property
    def ready_after(self) -> float | None:
        """Seconds until the call can be granted if all tickets ahead are; None when unknown."""
    @property
    def degraded(self) -> bool:
        """Whether `on_unavailable` of the limiter decided, because the store could not."""
    @property
    def is_lowered(self) -> bool:
        """Whether the estimate was above the capacity of a limit and was lowered to it."""
    @property
    def limits(self) -> tuple[DecisionLimit, ...]:
        """Each limit after this decision, in the order of the policy, if the call asked for them.

        Otherwise empty, as where no store decided.
        """
    def headers(self, fields: Literal["draft", "draft-6", "x"] = "draft") -> dict[str, str]:
        """Return the header fields that tell the caller of a server what this decision left.

        `fields` is "draft": `RateLimit-Policy` and `RateLimit` of the newest IETF draft; "draft-6":
        `RateLimit-Limit`, `-Remaining`, `-Reset` and `-Policy` of the sixth; or "x":
        `X-RateLimit-Limit`, `-Remaining`, and `-Reset` in seconds since 1970. A refusal has
        `Retry-After` in whole seconds, if the time is known. A decision that was asked for with
        `limits` describes each limit, another one the tightest. Raises `InvalidError`, argument
        `fields`, for other names.
        """
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def restore_limit(fields: tuple[Any, ...], /) -> DecisionLimit:
    """Restore a limit of a decision from its pickled fields."""

def restore(fields: tuple[Any, ...], /) -> Decision:
    """Restore a decision from its pickled fields."""

def send_counts() -> None:
    """Send what this process has counted to the statistics. For the end of a process."""

def new_id() -> str:
    """Return a new id for a call: 32 bytes that begin with host and process."""

@final
class ListedLimiter:
    """An entry of the list of limiters."""

    def fields(self) -> tuple[str, list[_ListedLimit], int, int, str | None, bool, str]:
        """Return name, limits, last use, time to live, group, whether it is keyed, and mode.

        Times are in microseconds.
        """

def sort_listed(entries: list[ListedLimiter], /) -> list[ListedLimiter]:
    """Merge the pages of a list of limiters and sort it by name."""

@final
class DiscordRoute:
    """The route of a request to Discord's API. Those of one name and major share a limit."""

    @property
    def name(self) -> str:
        """Method and path without ids."""

    @property
    def major(self) -> str:
        """The channel, guild or webhook; empty without one."""

    @property
    def is_global(self) -> bool:
        """Whether the request counts for the global limit of the bot."""

    @property
    def is_callback(self) -> bool:
        """Whether it is the first answer to an interaction, which has no limit of a route."""

    @property
    def has_token(self) -> bool:
        """Whether it is a webhook's; each interaction has one for its later answers."""

    @staticmethod
    def of(method: str, path: str, now_ms: int) -> DiscordRoute | None:
        """Return the route of a request; None for one that is not to Discord's API."""

def discord_window(
    limit: str | None, remaining: str | None, reset_after: str | None, without: int | None
) -> tuple[int, float] | None:
    """Return units and seconds of the window that the headers of a response describe.

    None when they do not. A route without headers has a window of `without` in a second.
    """

def graphql_cost(query: str, variables: str, rules: _Rules, operation: str | None) -> int:
    """Estimate the cost of a GraphQL query in points; `variables` is JSON text or empty."""

def caller_key(
    address: _Text | None,
    forwarded_for: _Text | None = None,
    trusted_proxies: Iterable[str] | None = (),
    *,
    ipv6_prefix: int = 64,
) -> str:
    """Return the key of a caller by the address of its connection, for a keyed limiter.

    An IPv4 address is itself, also in IPv6 form. The key of an IPv6 caller is its network,
    `2001:db8:1:2::/64`: `ipv6_prefix` is the length, from 1 to 128. Ports, brackets and zones are
    cut. What is no address is as in `plain_key`; a Unix socket has the address "" or None.

    `trusted_proxies` are the proxies in front of this process: addresses, networks such as
    "10.0.0.0/8", and "unix" for one that connects by a Unix socket. Behind one of them the caller
    is the last entry of `forwarded_for`, the value of `X-Forwarded-For`, that is no trusted proxy.

    Raises `InvalidError`, argument `trusted_proxies` or `ipv6_prefix`; every address gives a key.
    """

def plain_key(text: _Text, /) -> str:
    """Return the key for a text of a stranger, such as a header.

    It is the text itself if it is a key, which has 1 to 512 bytes of UTF-8 without a zero byte,
    otherwise "sha256:" and its digest in hexadecimal.
    """

def call_with_fallback(
    function: Callable[[_T], None], another: Callable[[_T], None], argument: _T
) -> None:
    """Call a function; if it raises, also call another with the same argument."""

class WithinLimit:
    def __new__(cls, *arguments: object) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

@final
class StreamUsage:
    """Finds the usage in the body of a response that is read in chunks, without holding the body.

    The body is JSON, or server-sent events with JSON: of OpenAI (in chat it sends usage if the
    request has `stream_options={"include_usage": True}`), Anthropic, Gemini and Groq; or GraphQL
    with `extensions.cost`. `learn_from_response` takes it in the place of the body.

        usage = StreamUsage()
        for chunk in response.iter_bytes():
            usage.feed(chunk)
        permit.learn_from_response(response.headers, usage, status=response.status_code)
    """

    def __new__(cls) -> Self: ...
    def feed(self, chunk: str | bytes | bytearray | memoryview) -> None:
        """Read the next bytes of the body, or its text; a chunk may end anywhere."""
    @property
    def body(self) -> str:
        """What was found, as the body of a response: JSON, or "" for nothing."""
    @property
    def ignored(self) -> tuple[str, ...]:
        """What was found and not kept, with the reason; complete after the last chunk."""

@final
class TestClock:
    """A clock for tests of code that uses limiters. It moves only when the test moves it.

    `Paddlegate(url, clock=clock)` decides by it; several stores may share one. `now_us` is its
    time in microseconds since 1970, from 0, the default, to 2^52; another raises `InvalidError`. A
    call that waits still sleeps in real time and reads the clock at each attempt.

        clock = TestClock()
        api = Paddlegate("memory://", clock=clock).window("api", 1, "minute")
        assert api.allow() and not api.allow()
        clock.advance("minute")
        assert api.allow()
    """

    __test__: bool
    def __new__(cls, now_us: int = 0) -> Self: ...
    now_us: int
    """Microseconds since 1970. An earlier time is that of a server whose clock ran backwards."""
    def advance(self, by: _Span) -> None:
        """Move the clock forward by at most ten years: seconds, a `timedelta` or words."""

@disjoint_base
class Paddlegate:
    def __new__(
        cls,
        url: str | None = None,
        *,
        timeout: _Span | None = None,
        clock: TestClock | None = None,
    ) -> Self: ...
    def _load(
        self,
        document: str,
        lock_timeout: _Span | None,
        tenant: str | None,
        group: str | None,
    ) -> list[LoadedLimiter]: ...
    def _workflow(self, definition: str, run: str, lock_timeout: _Span | None) -> LoadedLimiter: ...
    def _together(self, limiters: tuple[object, ...]) -> Together: ...
    @property
    def _timeout(self) -> float | None: ...
    def _close(self) -> None: ...
    def _limiters(self, prefix: str) -> list[ListedLimiter]: ...
    # The page; with `begin` the page or a `Call` to send to the server.
    def _limiter_page(self, begin: bool, prefix: str, cursor: str | None) -> Any: ...
    @property
    def _parts(self) -> int: ...
    def _begin_list(
        self, part: int, cursor: int, prefix: str
    ) -> tuple[list[ListedLimiter], int] | Call: ...

@disjoint_base
class Limiter:
    def __new__(
        cls,
        paddlegate: Paddlegate | Limiter,
        name: str,
        limits: Limits | LoadedLimiter | LimiterOfKey | Together,
        wait_timeout: _Span | None = None,
        *,
        lock_timeout: _Span | None = None,
        on_limit: _OnLimit | None = None,
        ttl: _Span | None = None,
        group: str | None = None,
        keyed: bool | None = None,
        statistics: bool | None = None,
        on_unavailable: _OnUnavailable | None = None,
        local_share_percent: int | None = None,
        mode: _Mode | None = None,
        block_after: _BlockAfter | None = None,
        aging: _Span | None = None,
    ) -> Self: ...
    @property
    def name(self) -> str:
        """The name of the limiter."""
    def _limits(self) -> list[_ListedLimit]: ...
    @property
    def wait_timeout(self) -> float:
        """Seconds that a call waits at most by default."""
    @property
    def on_limit(self) -> str:
        """The action for refused work: "raise", "ignore", "wait", "reschedule" or "drop"."""
    @property
    def on_unavailable(self) -> str:
        """While the store cannot decide: `raise`, `fail_closed`, `fail_open` or `local`."""
    @property
    def local_share_percent(self) -> int | None:
        """Percent of each limit that this process grants alone; None except for "local"."""
    @property
    def ttl(self) -> float:
        """Seconds for which the statistics are kept after the last use."""
    @property
    def group(self) -> str | None:
        """The group, whose limiters can decide together in a cluster; None without one."""
    @property
    def keyed(self) -> bool:
        """Whether the limiter has a state for each key."""
    @property
    def mode(self) -> _Mode:
        """Whether the limiter refuses, "enforce", or only says what it would refuse, "shadow".

        An override may rule in its place: see `runtime_state`.
        """
    @property
    def block_after(self) -> tuple[int, float, float] | None:
        """Refusals that lead to a block, seconds within which they count, seconds that it lasts.

        None without the option.
        """
    @property
    def aging(self) -> float | None:
        """Seconds after which a call that waits gets the next higher priority.

        None without the option.
        """
    @property
    def key(self) -> str | None:
        """The key, as given to `with_key`; None without one."""
    def allow(
        self,
        cost: Cost | None = None,
        estimate: Cost | None = None,
        *,
        settle_within: _Span | None = None,
        key: str | None = None,
    ) -> bool:
        """Charge the call if every limit allows it; return whether it was granted.

        Raises `InvalidError` for a concurrency limit, whose lease could not be released.
        """
    def try_acquire(
        self,
        cost: Cost | None = None,
        estimate: Cost | None = None,
        id: str | None = None,
        *,
        settle_within: _Span | None = None,
        key: str | None = None,
        limits: bool | None = None,
    ) -> Decision:
        """Charge the call if every limit allows it; never wait and never raise on refusal.

        `cost`, `estimate` and `settle_within` are as in `acquire`. With the `id` of a lease, a
        repeated call is granted and takes nothing. With `limits` the decision has each limit.
        """
    def peek(
        self,
        cost: Cost | None = None,
        estimate: Cost | None = None,
        *,
        settle_within: _Span | None = None,
        key: str | None = None,
        limits: bool | None = None,
    ) -> Decision:
        """Return what `try_acquire` would return now; change nothing.

        Without a cost it checks one unit, also for a `points` limit.
        """
    def debit(self, cost: Cost, *, key: str | None = None) -> Decision:
        """Charge a cost in any case, up to one whole limit of debt.

        For costs that are known only afterwards, without an estimate. The decision describes the
        limit with the fewest remaining units. Limits that count calls (concurrency, throttle) are
        not charged. A repeated call charges again.
        """
    def refund(self, units: Cost, *, key: str | None = None) -> Decision:
        """Give units back without a permit: the opposite of `debit`.

        For those who count first and give back later. It gives back at most what is taken of each
        limit now, of a window the newest units. The decision describes the limit with the fewest
        remaining units. Limits that count calls (concurrency, throttle) are not changed. A repeated
        call gives back again.
        """
    def correct(
        self, permit: str | Grant | Decision, actual: Cost, *, key: str | None = None
    ) -> str:
        """Replace the estimate of a permit by the actual cost of the call, once.

        A cost by label changes only the limits that it names, and those that the estimate named.

        Returns "settled"; otherwise "already", "late" (after five minutes, or `settle_within`) or
        "unknown", which change nothing.
        """
    def release(self, permit: str | Grant | Decision, *, key: str | None = None) -> str:
        """End the lease of a permit, from any process.

        Returns "released"; otherwise "late" when the lease had ended before, or "unknown".
        """
    def renew(self, permit: str | Grant | Decision, *, key: str | None = None) -> float | None:
        """Restart the duration of a lease; return its seconds, or None when it has ended."""
    def cancel(self, id: str, *, key: str | None = None) -> str:
        """Remove the ticket of a call from the queue, and end the lease that it may have become.

        Returns "cancelled", or "unknown" when there was neither.
        """
    def reset(self, *, key: str | None = None) -> None:
        """Delete the state of the limiter.

        That is charged units, permits, leases, tickets, statistics, overrides, learned limits and a
        pause.
        """
    @property
    def _grants_leases(self) -> bool: ...
    def _check_allow(self) -> None: ...
    def _of_key(self, key: str) -> LimiterOfKey: ...
    @staticmethod
    def _job_ids(ids: Iterable[str]) -> list[str]: ...
    def _action(
        self, decision: Decision, on_limit: _JobOnLimit | None
    ) -> tuple[_Action, float | None]: ...
    # The answer; with `begin` the answer or a `Call` to send to the server.
    def _acquire(
        self,
        begin: bool,
        cost: Cost | None,
        estimate: Cost | None,
        id: str | None = None,
        key: str | None = None,
        settle_within: _Span | None = None,
        limits: bool | None = None,
    ) -> Any: ...
    def _enter(
        self,
        begin: bool,
        cost: Cost | None,
        estimate: Cost | None,
        id: str,
        place: int | None,
        wait_timeout: _Span | None,
        claim_timeout: _Span | None,
        key: str | None = None,
        settle_within: _Span | None = None,
        order: Order | None = None,
    ) -> Any: ...
    def _attempt(self, begin: bool, waiter: Waiter, now: float, channel: str) -> Any: ...
    def _admit(
        self,
        begin: bool,
        cost: Cost | None,
        estimate: Cost | None,
        id: str,
        on_limit: _JobOnLimit | None,
        key: str | None,
        settle_within: _Span | None,
        claim_timeout: _Span | None = None,
        order: Order | None = None,
    ) -> Any: ...
    def _peek(
        self,
        begin: bool,
        cost: Cost | None,
        estimate: Cost | None,
        key: str | None,
        settle_within: _Span | None,
        limits: bool | None,
    ) -> Any: ...
    def _debit(self, begin: bool, cost: Cost, key: str | None) -> Any: ...
    def _refund(self, begin: bool, units: Cost, key: str | None) -> Any: ...
    def _correct(
        self, begin: bool, permit: str | Grant | Decision, actual: Cost, key: str | None = None
    ) -> Any: ...
    def _extend(
        self, begin: bool, permit: str | Grant | Decision, units: Cost, key: str | None = None
    ) -> Any: ...
    def _release(
        self, begin: bool, permit: str | Grant | Decision, key: str | None = None
    ) -> Any: ...
    def _renew(
        self, begin: bool, permit: str | Grant | Decision, key: str | None = None
    ) -> Any: ...
    def _cancel(self, begin: bool, id: str, gave_up: bool, key: str | None = None) -> Any: ...
    def _ready(
        self,
        begin: bool,
        count: int,
        key: str | None = None,
        host: tuple[str, str] | None = None,
    ) -> Any: ...
    def _turns_options(
        self, count: int, wait_timeout: _Span | None
    ) -> tuple[int, float | None]: ...
    def _inspect(self, begin: bool, offset: int, count: int, key: str | None = None) -> Any: ...
    def _statistics(self, begin: bool) -> Any: ...
    def _history(self, begin: bool) -> Any: ...
    def _admin(self, begin: bool, request: AdminRequest, key: str | None) -> Any: ...
    def _reset(self, begin: bool, key: str | None) -> Any: ...
    def _notification_node(self) -> str | None: ...
    def _listen(self) -> WakeupListener: ...

@final
class LimiterOfKey:
    """A keyed limiter with a key, from which a `Limiter` is created."""

@final
class LoadedLimiter:
    """A limiter of a document, from which a `Limiter` is created."""

    @property
    def name(self) -> str:
        """The name in the document."""

@final
class Together:
    """Several limiters that decide together, from which a `Limiter` is created."""

    @property
    def name(self) -> str:
        """The names of the limiters."""

@disjoint_base
class Gate:
    """Chooses the slot of a document that limits a request."""

    def __new__(cls, paddlegate: Paddlegate, document: str) -> Self: ...

@final
class MultiStepCall:
    """A procedure of several operations, each of which depends on the answers before it.

    It runs once.
    """

    @staticmethod
    def pass_gate(
        gate: Gate, facts: tuple[str | None, str | None, str | None, str | None, str | None]
    ) -> MultiStepCall: ...
    @staticmethod
    def jobs(
        limiter: Limiter, ids: Iterable[str], on_limit: _JobOnLimit | None, key: str | None
    ) -> MultiStepCall: ...
    @staticmethod
    def apply_ojs_override(limiter: Limiter, document: str, key: str | None) -> MultiStepCall: ...
    @staticmethod
    def apply_ojs_signal(limiter: Limiter, document: str, key: str | None) -> MultiStepCall: ...
    def start(self, begin: bool) -> Any:
        """Run the procedure and return its result.

        With `begin` return its result, or the first call to send to the server.
        """

@final
class AdminRequest:
    """A change of the runtime state of a limiter: an admin command or an upstream report."""

    @staticmethod
    def get() -> AdminRequest: ...
    @staticmethod
    def pause(seconds: _Span | None, until: _Deadline | None) -> AdminRequest: ...
    @staticmethod
    def block(seconds: _Span | None, until: _Deadline | None) -> AdminRequest: ...
    @staticmethod
    def resume() -> AdminRequest: ...
    @staticmethod
    def override(
        limit: int | None,
        interval: _Span | None,
        label: str | None,
        limits: Limits | None,
        mode: _Mode | None,
        expires_in: _Span | None,
        expires_at: _Deadline | None,
    ) -> AdminRequest: ...
    @staticmethod
    def restore(label: str | None, mode: bool) -> AdminRequest: ...
    @staticmethod
    def report_budget(
        remaining: int | None,
        limit: int | None,
        interval: _Span | None,
        restore_rate: float | None,
        reset_in: _Span | None,
        reset_at: _Deadline | None,
        label: str | None,
        permit: str | Grant | Decision | None,
    ) -> AdminRequest: ...
    @staticmethod
    def learn_from_response(
        headers: list[tuple[str, str]],
        body: str,
        status: int | None,
        provider: _Provider,
        max_pause: _Span | None,
        default_pause: _Span | None,
        max_learned: int | None,
        permit: str | Grant | Decision | None,
    ) -> AdminRequest: ...

@final
class Waiter:
    """One call that waits: when it retries, with which ticket, and what must be cancelled.

    All times are seconds of `time.monotonic()`.
    """

    def __new__(
        cls,
        limiter: Limiter,
        cost: Cost | None,
        estimate: Cost | None,
        wait_timeout: _Span | None,
        id: str | None,
        now: float,
        settle_within: _Span | None = None,
        order: Order | None = None,
        limits: bool | None = None,
    ) -> Self: ...
    @staticmethod
    def of_job(
        id: str,
        cost: Cost | None,
        estimate: Cost | None,
        settle_within: _Span | None,
        order: Order | None,
        claim_timeout: _Span | None,
        patience: _Span,
        now: float,
    ) -> Waiter:
        """Begin the wait of a job for at most `patience` seconds; its ticket stays in the queue.

        The other arguments are those of `admit`; `order` is that of `_order.py`.
        """
    @property
    def id(self) -> str:
        """The id of the call."""
    def next(self, now: float, channel: str) -> tuple[float, int | None, str]:
        """Return how the next attempt waits: its seconds, its ticket, and its channel.

        `_attempt` of the limiter does this itself. `channel` is that of the
        wake-ups, empty without one.
        """
    def on_decision(self, now: float, decision: Decision) -> bool:
        """Evaluate the decision of an attempt; return whether it is final, or else it waits."""
    def on_error(self, may_have_counted: bool) -> None:
        """Evaluate the error of an attempt, which ends the call."""
    def on_wakeup(self, at: float) -> None:
        """Evaluate a wake-up: retry at this time, unless the call retries earlier."""
    def retry_at(self, channel: str) -> float:
        """Return when the next attempt is due; at once if the ticket does not name this channel."""
    def has_ticket(self) -> bool:
        """Return whether the call has a ticket, so that it must receive wake-ups."""
    def must_cancel(self, is_delivered: bool) -> bool:
        """Return whether the call must be cancelled when it ends now.

        `is_delivered`: the caller has got the permit.
        """

def reconnect_pause(failures: int) -> float:
    """Return the seconds of the pause before a hub connects again, after so many earlier ones."""

@final
class WakeupListener:
    """The wake-ups of waiters. When the descriptor is readable, `receive` returns them."""

    @property
    def channel(self) -> str:
        """The channel that tickets must name."""
    def fileno(self) -> int:
        """Return the file descriptor to watch."""
    def close(self) -> None:
        """Close the connection, which makes the descriptor readable."""
    def receive(self) -> list[tuple[str, float]]:
        """Return the ids of the woken calls, each with the seconds until it should retry."""

@final
class Call:
    """One operation for one server. A link sends it once."""

    @property
    def node(self) -> str:
        """The node to which the call is sent."""
    @property
    def pause(self) -> float:
        """Seconds to wait before it is sent."""
    deadline: float
    """The time at which it fails, of the clock of the event loop; 0 before the first attempt."""
    def link(self) -> Link:
        """Create an unconnected link to its node."""

@final
class Unfinished:
    """A call that a link could not complete."""

    def next(self, deadline: float, now: float) -> Any:
        """Return the call to send next, or the result.

        `deadline` is that of the call, `now` the time of the same clock.
        """

@final
class Link:
    """One connection to one server.

    `flush`, `receive` and `expire` return the calls that the link has finished with by number, each
    with its answer, its exception, the call that follows it, or `Unfinished`; whether the
    connection has ended; and whether `flush` must be called again when the socket is writable. They
    return None if no call has finished, nothing has ended and the socket takes all.
    """

    def connect(self) -> None:
        """Connect, on a thread that may block. The next `flush` applies the result."""
    def give_up(self, reason: str) -> None:
        """Give up connecting, for this reason. The next `flush` applies it."""
    def fileno(self) -> int:
        """Return the socket's descriptor; -1 without a socket."""
    def takes(self, call: Call) -> bool:
        """Whether a call can be sent on this link: to its node, by its process, before its end."""
    def submit(self, call: Call, now: float) -> tuple[int, float]:
        """Queue a call until the next `flush`; return its number on this link, and its deadline.

        `now` is the time of the clock of the event loop, from which the first attempt has its
        time-out.
        """
    def flush(self) -> tuple[list[tuple[int, Any]], bool, bool] | None:
        """Write the queued calls."""
    def receive(self) -> tuple[list[tuple[int, Any]], bool, bool] | None:
        """Read received replies."""
    def expire(self) -> tuple[list[tuple[int, Any]], bool, bool] | None:
        """End the connection, because a reply did not arrive in time."""
    def close(self) -> None:
        """Close the socket."""
