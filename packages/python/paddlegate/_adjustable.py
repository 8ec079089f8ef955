"""Changes of a limiter at run time, for all processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddlegate import _native
from paddlegate._asyncio import run_operation
from paddlegate._convert import body_text, header_pairs, json_text
from paddlegate._learned import to_learned
from paddlegate._native import AdminRequest, MultiStepCall
from paddlegate._runtime_state import to_runtime_state

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from datetime import datetime

    from paddlegate._asyncio import Links
    from paddlegate._convert import Body, Headers, Json
    from paddlegate._learned import Learned
    from paddlegate._limits import Limits
    from paddlegate._native import Decision, _Mode, _Provider
    from paddlegate._permit import Grant
    from paddlegate._runtime_state import RuntimeState
    from paddlegate._waiting import Span


class AdjustableLimiter(_native.Limiter):
    """A limiter whose limits can be changed at run time and learned from the upstream."""

    _links: Links

    def pause(
        self,
        seconds: Span | None = None,
        *,
        until: datetime | float | None = None,
        key: str | None = None,
    ) -> RuntimeState:
        """Refuse every call in all processes, for `seconds` or `until` a time.

        `until` is a `datetime` with a time zone or seconds since 1970, by the clock of the store.
        The reason of the refusals is "paused", and their `retry_after` is the time until the pause
        ends. A pause that ends later stays in force.
        """
        return to_runtime_state(self._admin(False, AdminRequest.pause(seconds, until), key))

    async def apause(
        self,
        seconds: Span | None = None,
        *,
        until: datetime | float | None = None,
        key: str | None = None,
    ) -> RuntimeState:
        """Like `pause`."""
        return to_runtime_state(
            await self._send_admin_request(AdminRequest.pause(seconds, until), key)
        )

    def block(
        self,
        seconds: Span | None = None,
        *,
        until: datetime | float | None = None,
        key: str | None = None,
    ) -> RuntimeState:
        """Refuse every call in all processes with the reason "blocked": a pause against abuse.

        `seconds` and `until` are as in `pause`. A block that ends later stays in force; `resume`
        ends it. The option `block_after` blocks by itself.

            login.block(3600, key="203.0.113.7")
        """
        return to_runtime_state(self._admin(False, AdminRequest.block(seconds, until), key))

    async def ablock(
        self,
        seconds: Span | None = None,
        *,
        until: datetime | float | None = None,
        key: str | None = None,
    ) -> RuntimeState:
        """Like `block`."""
        return to_runtime_state(
            await self._send_admin_request(AdminRequest.block(seconds, until), key)
        )

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
        *,
        label: str | None = None,
        limits: Limits | None = None,
        mode: _Mode | None = None,
        expires_in: Span | None = None,
        expires_at: datetime | float | None = None,
        key: str | None = None,
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
        request = AdminRequest.override(
            limit, interval, label, limits, mode, expires_in, expires_at
        )
        return to_runtime_state(self._admin(False, request, key))

    async def aoverride(
        self,
        limit: int | None = None,
        interval: Span | None = None,
        *,
        label: str | None = None,
        limits: Limits | None = None,
        mode: _Mode | None = None,
        expires_in: Span | None = None,
        expires_at: datetime | float | None = None,
        key: str | None = None,
    ) -> RuntimeState:
        """Like `override`."""
        request = AdminRequest.override(
            limit, interval, label, limits, mode, expires_in, expires_at
        )
        return to_runtime_state(await self._send_admin_request(request, key))

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
        *,
        restore_rate: float | None = None,
        reset_in: Span | None = None,
        reset_at: datetime | float | None = None,
        label: str | None = None,
        permit: str | Grant | Decision | None = None,
        key: str | None = None,
    ) -> Learned:
        """Apply the budget that the upstream reports, for all processes.

        `remaining` is the remaining units upstream. `limit` and `interval` are those of the
        upstream; `restore_rate`, in units per second, may be given instead of `interval`.
        `reset_in` or `reset_at` is the end of the interval of a bucket. Values that are not given
        stay unchanged. `label` names the limit of the policy; a policy of one limit may omit it.
        `permit` is the permit of the call that was answered, or its id.
        """
        return to_learned(
            self._admin(
                False,
                AdminRequest.report_budget(
                    remaining,
                    limit,
                    interval,
                    restore_rate,
                    reset_in,
                    reset_at,
                    label,
                    permit,
                ),
                key,
            )
        )

    async def areport_budget(
        self,
        remaining: int | None = None,
        limit: int | None = None,
        interval: Span | None = None,
        *,
        restore_rate: float | None = None,
        reset_in: Span | None = None,
        reset_at: datetime | float | None = None,
        label: str | None = None,
        permit: str | Grant | Decision | None = None,
        key: str | None = None,
    ) -> Learned:
        """Like `report_budget`."""
        return to_learned(
            await self._send_admin_request(
                AdminRequest.report_budget(
                    remaining,
                    limit,
                    interval,
                    restore_rate,
                    reset_in,
                    reset_at,
                    label,
                    permit,
                ),
                key,
            )
        )

    def learn_from_response(
        self,
        headers: Headers,
        body: Body = "",
        *,
        status: int | None = None,
        provider: _Provider = "auto",
        max_pause: Span | None = None,
        default_pause: Span | None = None,
        max_learned: int | None = None,
        permit: str | Grant | Decision | None = None,
        key: str | None = None,
    ) -> Learned:
        """Apply a response of the upstream, for all processes and in one step.

        Its status, headers and body contain the actual cost of the call, the remaining budget, and
        how long to pause: at most `max_pause`, by default an hour. A refusal that does not say for
        how long pauses for `default_pause`, by default not at all. `permit` is the permit of the
        call, or its id; without it the cost settles no permit. A limit is raised to at most
        `max_learned` units, by default ten times the limit of the policy. Without a `status` a
        response is a refusal only if the documentation of the provider ties its content to one.
        What is not recognised is ignored.
        """
        request = _learn_request(
            headers, body, status, provider, max_pause, default_pause, max_learned, permit
        )
        return to_learned(self._admin(False, request, key))

    async def alearn_from_response(
        self,
        headers: Headers,
        body: Body = "",
        *,
        status: int | None = None,
        provider: _Provider = "auto",
        max_pause: Span | None = None,
        default_pause: Span | None = None,
        max_learned: int | None = None,
        permit: str | Grant | Decision | None = None,
        key: str | None = None,
    ) -> Learned:
        """Like `learn_from_response`."""
        return await self._learn_async(
            headers, body, status, provider, max_pause, default_pause, max_learned, permit, key
        )

    async def _learn_async(
        self,
        headers: Headers,
        body: Body,
        status: int | None,
        provider: _Provider,
        max_pause: Span | None,
        default_pause: Span | None,
        max_learned: int | None,
        permit: str | Grant | Decision | None,
        key: str | None = None,
    ) -> Learned:
        request = _learn_request(
            headers, body, status, provider, max_pause, default_pause, max_learned, permit
        )
        return to_learned(await self._send_admin_request(request, key))

    def _send_admin_request(self, request: AdminRequest, key: str | None) -> Awaitable[Any]:
        return run_operation(self._links, self._admin, request, key)


def _learn_request(
    headers: Headers,
    body: Body,
    status: int | None,
    provider: _Provider,
    max_pause: Span | None,
    default_pause: Span | None,
    max_learned: int | None,
    permit: str | Grant | Decision | None,
) -> AdminRequest:
    return AdminRequest.learn_from_response(
        header_pairs(headers),
        body_text(body),
        status,
        provider,
        max_pause,
        default_pause,
        max_learned,
        permit,
    )
