"""Changes of a limiter at run time, for all processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from paddlegate import _native
from paddlegate._asyncio import run_operation
from paddlegate._convert import body_text, header_pairs, json_text
from paddlegate._learned import to_learned
from paddlegate._native import AdminRequest, MultiStepCall
from paddlegate._options import (
    BudgetOptions,
    LearnOptions,
    OverrideOptions,
    PauseOptions,
    check,
    spelled_out,
)
from paddlegate._runtime_state import to_runtime_state

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from typing_extensions import Unpack

    from paddlegate._asyncio import Links
    from paddlegate._convert import Headers, Json
    from paddlegate._learned import Learned
    from paddlegate._runtime_state import RuntimeState
    from paddlegate._waiting import Span

Request: TypeAlias = tuple[AdminRequest, str | None]
"""A change, and the key of the state that it changes."""


@spelled_out
class AdjustableLimiter(_native.Limiter):
    """A limiter whose limits can be changed at run time and learned from the upstream."""

    _links: Links

    def pause(self, seconds: Span | None = None, **options: Unpack[PauseOptions]) -> RuntimeState:
        """Refuse every call in all processes, for `seconds` or `until` a time.

        `until` is a `datetime` with a time zone or seconds since 1970, by the clock of the store.
        The reason of the refusals is "paused", and their `retry_after` is the time until the pause
        ends. A pause that ends later stays in force.
        """
        request = _deadline(AdminRequest.pause, seconds, options)
        return to_runtime_state(self._admin(False, *request))

    async def apause(
        self, seconds: Span | None = None, **options: Unpack[PauseOptions]
    ) -> RuntimeState:
        """Like `pause`."""
        request = _deadline(AdminRequest.pause, seconds, options)
        return to_runtime_state(await self._send_admin_request(*request))

    def block(self, seconds: Span | None = None, **options: Unpack[PauseOptions]) -> RuntimeState:
        """Refuse every call in all processes with the reason "blocked": a pause against abuse.

        `seconds` and `until` are as in `pause`. A block that ends later stays in force; `resume`
        ends it. The option `block_after` blocks by itself.

            login.block(3600, key="203.0.113.7")
        """
        request = _deadline(AdminRequest.block, seconds, options)
        return to_runtime_state(self._admin(False, *request))

    async def ablock(
        self, seconds: Span | None = None, **options: Unpack[PauseOptions]
    ) -> RuntimeState:
        """Like `block`."""
        request = _deadline(AdminRequest.block, seconds, options)
        return to_runtime_state(await self._send_admin_request(*request))

    def resume(self, *, key: str | None = None) -> RuntimeState:
        """End the pause and the block, and count refusals anew; waiters get a wake-up."""
        return to_runtime_state(self._admin(False, AdminRequest.resume(), key))

    async def aresume(self, *, key: str | None = None) -> RuntimeState:
        """Like `resume`."""
        return to_runtime_state(await self._send_admin_request(AdminRequest.resume(), key))

    def override(
        self,
        limit: int | None = None,
        interval: Span | None = None,
        **options: Unpack[OverrideOptions],
    ) -> RuntimeState:
        """Override limits in all processes at once, whatever their policies.

        `limit` is the amount and `interval` the time of the limit with this `label`, which a policy
        of one limit may omit; a value that is not given stays as in this policy. Or `limits` are
        whole limits as for `Paddlegate.limiter`, `{"rpm": Window(50, 60)}`, also with labels that
        this policy does not have. A lower limit ends no lease.

        Or `mode` is the mode of the limiter, whatever its own: "shadow" refuses nobody, "enforce"
        refuses. With a limit it raises `InvalidError`, argument `mode`.

        The override lasts for `expires_in` or until `expires_at`, a `datetime` with a time zone or
        seconds since 1970; this end then applies to all overrides of the limiter. Without an end it
        lasts until `restore`, or until no call was granted for 90 days.
        """
        return to_runtime_state(self._admin(False, *_override(limit, interval, options)))

    async def aoverride(
        self,
        limit: int | None = None,
        interval: Span | None = None,
        **options: Unpack[OverrideOptions],
    ) -> RuntimeState:
        """Like `override`."""
        request = _override(limit, interval, options)
        return to_runtime_state(await self._send_admin_request(*request))

    def apply_ojs_override(self, document: Json, *, key: str | None = None) -> RuntimeState:
        """Apply an override of Open Job Spec; `document` is JSON or its object.

        The document has `concurrency`, `rate` (or `limit` with `period`), `throttle` and
        `expires_at`. What it omits stays unchanged, an earlier end too; null removes an override.
        """
        call = MultiStepCall.apply_ojs_override(self, json_text("document", document), key)
        return to_runtime_state(call.start(False))

    async def aapply_ojs_override(self, document: Json, *, key: str | None = None) -> RuntimeState:
        """Like `apply_ojs_override`."""
        call = MultiStepCall.apply_ojs_override(self, json_text("document", document), key)
        return to_runtime_state(await run_operation(self._links, call.start))

    def apply_ojs_signal(self, document: Json, *, key: str | None = None) -> bool:
        """Pause after a failed job of Open Job Spec; `document` is JSON or its object.

        Returns False when the failure is no signal of a rate limit: its `type` is neither
        "rate_limited" nor "RateLimitExceeded". Without `retry_after` and `rate_limit_until` the
        pause lasts 30 seconds; a pause that ends later stays in force.
        """
        call = MultiStepCall.apply_ojs_signal(self, json_text("document", document), key)
        is_signal: bool = call.start(False)
        return is_signal

    async def aapply_ojs_signal(self, document: Json, *, key: str | None = None) -> bool:
        """Like `apply_ojs_signal`."""
        call = MultiStepCall.apply_ojs_signal(self, json_text("document", document), key)
        is_signal: bool = await run_operation(self._links, call.start)
        return is_signal

    def restore(
        self, label: str | None = None, *, mode: bool = False, key: str | None = None
    ) -> RuntimeState:
        """Remove the override of a label, with `mode` that of the mode, by default all overrides.

        The limit learned from the upstream applies again, otherwise that of the policy.
        """
        return to_runtime_state(self._admin(False, AdminRequest.restore(label, mode), key))

    async def arestore(
        self, label: str | None = None, *, mode: bool = False, key: str | None = None
    ) -> RuntimeState:
        """Like `restore`."""
        return to_runtime_state(
            await self._send_admin_request(AdminRequest.restore(label, mode), key)
        )

    def runtime_state(self, *, key: str | None = None) -> RuntimeState:
        """Return the pause, the block, the overrides and the learned limits; change nothing."""
        return to_runtime_state(self._admin(False, AdminRequest.get(), key))

    async def aruntime_state(self, *, key: str | None = None) -> RuntimeState:
        """Like `runtime_state`."""
        return to_runtime_state(await self._send_admin_request(AdminRequest.get(), key))

    def report_budget(
        self,
        remaining: int | None = None,
        limit: int | None = None,
        interval: Span | None = None,
        **options: Unpack[BudgetOptions],
    ) -> Learned:
        """Apply the budget that the upstream reports, for all processes.

        `remaining` is the remaining units upstream. `limit` and `interval` are those of the
        upstream; `restore_rate`, in units per second, may be given instead of `interval`.
        `reset_in` or `reset_at` is the end of the interval of a bucket. Values that are not given
        stay unchanged. `label` names the limit of the policy; a policy of one limit may omit it.
        `permit` is the permit of the call that was answered, or its id.
        """
        request = _budget(remaining, limit, interval, options)
        return to_learned(self._admin(False, *request))

    async def areport_budget(
        self,
        remaining: int | None = None,
        limit: int | None = None,
        interval: Span | None = None,
        **options: Unpack[BudgetOptions],
    ) -> Learned:
        """Like `report_budget`."""
        request = _budget(remaining, limit, interval, options)
        return to_learned(await self._send_admin_request(*request))

    def learn_from_response(
        self, headers: Headers, body: Json | None = "", **options: Unpack[LearnOptions]
    ) -> Learned:
        """Apply a response of the upstream, for all processes and in one step.

        Its status, headers and body contain the actual cost of the call, the remaining budget, and
        how long to pause: at most `max_pause`, by default an hour. `permit` is the permit of the
        call, or its id; without it the cost settles no permit. A limit is raised to at most
        `max_learned` units, by default ten times the limit of the policy. Without a `status` a
        response is a refusal only if the documentation of the provider ties its content to one.
        What is not recognised is ignored.
        """
        return to_learned(self._admin(False, *_response(headers, body, options)))

    async def alearn_from_response(
        self, headers: Headers, body: Json | None = "", **options: Unpack[LearnOptions]
    ) -> Learned:
        """Like `learn_from_response`."""
        return to_learned(await self._send_admin_request(*_response(headers, body, options)))

    def _send_admin_request(self, request: AdminRequest, key: str | None) -> Awaitable[Any]:
        return run_operation(self._links, self._admin, request, key)


def _deadline(
    make: Callable[[Span | None, datetime | float | None], AdminRequest],
    seconds: Span | None,
    options: PauseOptions,
) -> Request:
    check(options, PauseOptions)
    return make(seconds, options.get("until")), options.get("key")


def _override(limit: int | None, interval: Span | None, options: OverrideOptions) -> Request:
    check(options, OverrideOptions)
    request = AdminRequest.override(
        limit,
        interval,
        options.get("label"),
        options.get("limits"),
        options.get("mode"),
        options.get("expires_in"),
        options.get("expires_at"),
    )
    return request, options.get("key")


def _budget(
    remaining: int | None, limit: int | None, interval: Span | None, options: BudgetOptions
) -> Request:
    check(options, BudgetOptions)
    request = AdminRequest.report_budget(
        remaining,
        limit,
        interval,
        options.get("restore_rate"),
        options.get("reset_in"),
        options.get("reset_at"),
        options.get("label"),
        options.get("permit"),
    )
    return request, options.get("key")


def _response(headers: Headers, body: Json | None, options: LearnOptions) -> Request:
    check(options, LearnOptions)
    request = AdminRequest.learn_from_response(
        header_pairs(headers),
        body_text(body),
        options.get("status"),
        options.get("provider", "auto"),
        options.get("max_pause"),
        options.get("max_learned"),
        options.get("permit"),
    )
    return request, options.get("key")
