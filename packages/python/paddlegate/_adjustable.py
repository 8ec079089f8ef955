"""What changes a limiter while it runs, for all processes."""

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
    from paddlegate._convert import Headers, Json
    from paddlegate._learned import Learned
    from paddlegate._native import Decision, _Provider
    from paddlegate._permit import Grant
    from paddlegate._runtime_state import RuntimeState
    from paddlegate._waiting import Span


class AdjustableLimiter(_native.Limiter):
    """A limiter that can be changed while it runs, and that learns from upstream."""

    _links: Links

    def pause(
        self,
        seconds: Span | None = None,
        *,
        until: datetime | float | None = None,
        at_us: int | None = None,
    ) -> RuntimeState:
        """Let nothing pass in any process, for so long or `until` a time.

        The time is a `datetime` with a time zone or seconds since 1970, by the clock of the
        store. Refusals have the reason "paused" and say when it ends; a pause that ends later
        stays as it is. An error names the first argument "for", a keyword here.
        """
        return to_runtime_state(self._tell(AdminRequest.pause(seconds, until, at_us)))

    async def apause(
        self,
        seconds: Span | None = None,
        *,
        until: datetime | float | None = None,
        at_us: int | None = None,
    ) -> RuntimeState:
        """Like `pause`."""
        return to_runtime_state(
            await self._send_admin_request(AdminRequest.pause(seconds, until, at_us))
        )

    def resume(self, *, at_us: int | None = None) -> RuntimeState:
        """End a pause; who waits is called."""
        return to_runtime_state(self._tell(AdminRequest.resume(at_us)))

    async def aresume(self, *, at_us: int | None = None) -> RuntimeState:
        """Like `resume`."""
        return to_runtime_state(await self._send_admin_request(AdminRequest.resume(at_us)))

    def override(
        self,
        limit: int | None = None,
        interval: Span | None = None,
        *,
        index: int = 0,
        expires_in: Span | None = None,
        expires_at: datetime | float | None = None,
        at_us: int | None = None,
    ) -> RuntimeState:
        """Put other numbers before those of the policies of all processes, at once.

        What is not given stays as this policy has it. `limit` is the amount and `interval` the
        time of the limit with this `index`; a lower limit evicts nobody. It lasts for
        `expires_in` or until `expires_at`, which then hold for all overrides of this limiter;
        else until `restore`, or for 90 days in which nobody is granted anything.
        """
        request = AdminRequest.override(limit, interval, index, expires_in, expires_at, at_us)
        return to_runtime_state(self._tell(request))

    async def aoverride(
        self,
        limit: int | None = None,
        interval: Span | None = None,
        *,
        index: int = 0,
        expires_in: Span | None = None,
        expires_at: datetime | float | None = None,
        at_us: int | None = None,
    ) -> RuntimeState:
        """Like `override`."""
        request = AdminRequest.override(limit, interval, index, expires_in, expires_at, at_us)
        return to_runtime_state(await self._send_admin_request(request))

    def apply_ojs_override(self, document: Json, *, at_us: int | None = None) -> RuntimeState:
        """Override limits as a document of Open Job Spec says; it is JSON or its object.

        It has `concurrency`, `rate` (or `limit` with `period`), `throttle` and `expires_at`.
        What it does not name stays as it is, an earlier end too; null removes an override.
        """
        text = json_text("document", document)
        return to_runtime_state(MultiStepCall.apply_ojs_override(self, text, at_us).run())

    async def aapply_ojs_override(
        self, document: Json, *, at_us: int | None = None
    ) -> RuntimeState:
        """Like `apply_ojs_override`."""
        call = MultiStepCall.apply_ojs_override(self, json_text("document", document), at_us)
        return to_runtime_state(await run_operation(self._links, call.begin, call.run))

    def apply_ojs_signal(self, document: Json, *, at_us: int | None = None) -> bool:
        """Pause as the failure of a job of Open Job Spec says; it is JSON or its object.

        False when it is no signal of a rate limit: its `type` is neither "rate_limited" nor
        "RateLimitExceeded". Without `retry_after` and `rate_limit_until` the pause lasts 30
        seconds; a pause that ends later stays.
        """
        is_signal: bool = MultiStepCall.apply_ojs_signal(
            self, json_text("document", document), at_us
        ).run()
        return is_signal

    async def aapply_ojs_signal(self, document: Json, *, at_us: int | None = None) -> bool:
        """Like `signal`."""
        call = MultiStepCall.apply_ojs_signal(self, json_text("document", document), at_us)
        is_signal: bool = await run_operation(self._links, call.begin, call.run)
        return is_signal

    def restore(self, index: int | None = None, *, at_us: int | None = None) -> RuntimeState:
        """End the override of one limit, by default of all: the policy, or what was learned."""
        return to_runtime_state(self._tell(AdminRequest.restore(index, at_us)))

    async def arestore(self, index: int | None = None, *, at_us: int | None = None) -> RuntimeState:
        """Like `restore`."""
        return to_runtime_state(await self._send_admin_request(AdminRequest.restore(index, at_us)))

    def runtime_state(self, *, at_us: int | None = None) -> RuntimeState:
        """Tell what is in force beside the policies; change nothing."""
        return to_runtime_state(self._tell(AdminRequest.look(at_us)))

    async def aruntime_state(self, *, at_us: int | None = None) -> RuntimeState:
        """Like `runtime_state`."""
        return to_runtime_state(await self._send_admin_request(AdminRequest.look(at_us)))

    def report_budget(
        self,
        remaining: int | None = None,
        limit: int | None = None,
        interval: Span | None = None,
        *,
        restore_rate: float | None = None,
        reset_in: Span | None = None,
        reset_at: datetime | float | None = None,
        index: int = 0,
        permit: str | Grant | Decision | None = None,
        at_us: int | None = None,
    ) -> Learned:
        """Take over what upstream says of its budget, for all processes.

        `remaining` is what is left there; `limit` and `interval`, or `restore_rate` in units per
        second, are its numbers; `reset_in` or `reset_at` is when the interval of a bucket ends.
        What is not given stays. `permit` is that of the call that was answered, or its id.
        """
        return to_learned(
            self._tell(
                AdminRequest.report_budget(
                    remaining,
                    limit,
                    interval,
                    restore_rate,
                    reset_in,
                    reset_at,
                    index,
                    permit,
                    at_us,
                )
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
        index: int = 0,
        permit: str | Grant | Decision | None = None,
        at_us: int | None = None,
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
                    index,
                    permit,
                    at_us,
                )
            )
        )

    def learn_from_response(
        self,
        headers: Headers,
        body: Json | None = "",
        *,
        status: int | None = None,
        provider: _Provider = "auto",
        max_pause: Span | None = None,
        max_learned: int | None = None,
        permit: str | Grant | Decision | None = None,
        at_us: int | None = None,
    ) -> Learned:
        """Learn from an answer of upstream, for all processes and in one step.

        Its status, headers and body say what the call did cost, what is left of the budget, and
        how long to pause: at most `max_pause`, by default an hour. `permit` is that of the
        call, or its id; without it the cost settles nothing. A limit is raised to at most
        `max_learned` units, by default ten times its own. Without a `status` only an answer is
        a refusal that the documents of the provider tie to one. What is not understood says
        nothing.
        """
        request = _learn_request(
            headers, body, status, provider, max_pause, max_learned, permit, at_us
        )
        return to_learned(self._tell(request))

    async def alearn_from_response(
        self,
        headers: Headers,
        body: Json | None = "",
        *,
        status: int | None = None,
        provider: _Provider = "auto",
        max_pause: Span | None = None,
        max_learned: int | None = None,
        permit: str | Grant | Decision | None = None,
        at_us: int | None = None,
    ) -> Learned:
        """Like `learn`."""
        return await self._learn_async(
            headers, body, status, provider, max_pause, max_learned, permit, at_us
        )

    async def _learn_async(
        self,
        headers: Headers,
        body: Json | None,
        status: int | None,
        provider: _Provider,
        max_pause: Span | None,
        max_learned: int | None,
        permit: str | Grant | Decision | None,
        at_us: int | None = None,
    ) -> Learned:
        request = _learn_request(
            headers, body, status, provider, max_pause, max_learned, permit, at_us
        )
        return to_learned(await self._send_admin_request(request))

    def _send_admin_request(self, request: AdminRequest) -> Awaitable[Any]:
        return run_operation(self._links, self._begin_tell, self._tell, request)


def _learn_request(
    headers: Headers,
    body: Json | None,
    status: int | None,
    provider: _Provider,
    max_pause: Span | None,
    max_learned: int | None,
    permit: str | Grant | Decision | None,
    at_us: int | None,
) -> AdminRequest:
    return AdminRequest.learn_from_response(
        header_pairs(headers),
        body_text(body),
        status,
        provider,
        max_pause,
        max_learned,
        permit,
        at_us,
    )
