"""Calls on an event loop, without a thread: the loop watches the sockets of native links.

A loop owns its links, by the reader that is registered with it; a store finds them through weak
references. So a loop that is closed takes its links along, and nothing keeps a loop alive.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakValueDictionary

from paddlegate._daemon_thread import aside
from paddlegate._native import Call

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from paddlegate import _native

    # By process, loop and server: what a fork has inherited is not its own.
    LinksByKey: TypeAlias = WeakValueDictionary[tuple[int, int, str], "Link"]
else:
    LinksByKey = WeakValueDictionary


class Links(LinksByKey):
    """The links of a store."""

    closed = False
    """Whether the store is closed: a link ends after the calls that it has."""

    def close(self, until: float) -> None:
        """End those of this process, each after its calls.

        Those of other loops have until a time of the monotonic clock.
        """
        self.closed = True
        links = [link for key, link in list(self.items()) if key[0] == os.getpid()]
        for link in links:
            in_loop(link.loop, link.finish, until)
        for link in links:
            if link.loop.is_running() and link.loop is not asyncio._get_running_loop():
                link.ended.wait(max(until - time.monotonic(), 0))


def ask(
    links: Links, begin: Callable[..., Any], blocking: Callable[..., Any], *arguments: object
) -> Awaitable[Any]:
    """Start an operation, which `blocking` does too but waits for the server; await its answer."""
    call = begin(*arguments)
    if not isinstance(call, Call):
        return answered(call)
    loop = asyncio.get_running_loop()
    if not watches(loop):
        return loop.run_in_executor(None, blocking, *arguments)
    return carry(links, loop, call)


def post(
    links: Links, begin: Callable[..., Any], blocking: Callable[..., Any], *arguments: object
) -> asyncio.Future[Any]:
    """Start an operation like `ask`, at once: it goes on though nobody awaits the answer."""
    loop = asyncio.get_running_loop()
    call = begin(*arguments)
    if not isinstance(call, Call):
        future = loop.create_future()
        future.set_result(call)
        return future
    if not watches(loop):
        return loop.run_in_executor(None, blocking, *arguments)
    return Errand(Way(links, loop, call), call).answer


def watches(loop: asyncio.AbstractEventLoop) -> bool:
    """Tell whether a loop can watch sockets; Windows' Proactor cannot."""
    return type(loop).add_reader is not asyncio.AbstractEventLoop.add_reader


def in_loop(loop: asyncio.AbstractEventLoop, work: Callable[[], None], until: float) -> None:
    """Do the work where a loop runs, and wait for it at most until a time of the clock."""
    if not loop.is_running() or loop is asyncio._get_running_loop():
        work()
        return
    done = threading.Event()

    def run() -> None:
        work()
        done.set()

    with suppress(RuntimeError):  # The loop is closed.
        loop.call_soon_threadsafe(run)
        done.wait(max(until - time.monotonic(), 0))


async def answered(answer: Any) -> Any:
    """Answer without a server."""
    return answer


async def carry(links: Links, loop: asyncio.AbstractEventLoop, call: Call) -> Any:
    """Bring a call to its end, following redirections."""
    way = Way(links, loop, call)
    while True:
        answer = way.ended(await way.send(call))
        if not isinstance(answer, Call):
            if isinstance(answer, Exception):
                raise answer
            return answer
        call = answer
        if call.is_next:
            way = Way(links, loop, call)
        if call.pause:
            await asyncio.sleep(call.pause)


class Way:
    """The way of one call from server to server."""

    __slots__ = ("deadline", "failures", "links", "loop")

    def __init__(self, links: Links, loop: asyncio.AbstractEventLoop, call: Call) -> None:
        self.links = links
        self.loop = loop
        self.deadline = loop.time() + call.timeout
        self.failures = 0

    def send(self, call: Call) -> asyncio.Future[Any]:
        """Send a call to its server."""
        key = (os.getpid(), id(self.loop), call.node)
        link = self.links.get(key)
        if link is None or link.native.over or link.finishing:
            link = self.links[key] = Link(self.loop, call)
            link.finishing = self.links.closed
        return link.send(call, self)

    def ended(self, answer: Any) -> Any:
        """Give the answer, or the call that goes on. One that goes no further is given up."""
        if isinstance(answer, Call) and answer.unsent:
            self.failures += 1
            if self.failures >= answer.nodes or self.loop.time() >= self.deadline:
                return answer.give_up()
        return answer


class Errand:
    """A call that goes to its end by itself. Not a task, of which a loop that ends complains."""

    __slots__ = ("answer", "way")

    def __init__(self, way: Way, call: Call) -> None:
        self.way = way
        self.answer: asyncio.Future[Any] = way.loop.create_future()
        self.send(call)

    def send(self, call: Call) -> None:
        self.way.send(call).add_done_callback(self.receive)

    def receive(self, sent: asyncio.Future[Any]) -> None:
        if self.answer.done() or sent.cancelled():
            return
        answer = self.way.ended(sent.result())
        if isinstance(answer, Call):
            if answer.is_next:
                self.way = Way(self.way.links, self.way.loop, answer)
            self.way.loop.call_later(answer.pause, self.send, answer)
        elif isinstance(answer, Exception):
            self.answer.set_exception(answer)
            # Nobody has to look at it.
            self.answer.exception()
        else:
            self.answer.set_result(answer)


class Link:
    """One connection of one loop. It connects at once, on a thread of its own."""

    __slots__ = (
        "__weakref__",
        "due",
        "ended",
        "finishing",
        "flushing",
        "loop",
        "native",
        "ready",
        "unwritten",
        "waiting",
        "writing",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, call: Call) -> None:
        self.loop = loop
        self.native: _native.Link = call.link()
        self.waiting: dict[int, tuple[Way, asyncio.Future[Any]]] = {}
        self.unwritten: list[Way] = []
        self.ready = inf
        """When the loop could have written what is unwritten, by the monotonic clock."""
        self.due = inf
        self.writing = False
        self.finishing = False
        self.ended = threading.Event()
        self.flushing = True  # Not before it is connected.
        aside(loop, self.connect).add_done_callback(self.connected)

    def send(self, call: Call, way: Way) -> asyncio.Future[Any]:
        """Queue a call; all of one turn of the loop are written together."""
        future = self.loop.create_future()
        self.waiting[self.native.submit(call)] = (way, future)
        self.unwritten.append(way)
        if way.deadline < self.due:
            self.due = way.deadline
            self.loop.call_at(way.deadline, self.expire)
        if not self.flushing:
            self.flushing = True
            self.ready = time.monotonic()
            self.loop.call_soon(self.flush)
        return future

    def connect(self) -> None:
        self.native.connect()
        self.ready = time.monotonic()

    def connected(self, connecting: asyncio.Future[None]) -> None:
        connecting.result()
        self.flush()
        if not self.ended.is_set():
            self.loop.add_reader(self.native.fileno(), self.receive)

    def flush(self) -> None:
        self.flushing = False
        # For how long the loop was too busy to write is not the server's time.
        late = time.monotonic() - self.ready
        for way in self.unwritten:
            way.deadline += late
        self.unwritten.clear()
        self.settle(self.native.flush())

    def receive(self) -> None:
        self.settle(self.native.receive())

    def expire(self) -> None:
        """End the link if its oldest call had no answer in time, else look again when it is due."""
        self.due = inf
        # The loop may have been too busy to write, or to read the answer that is there already.
        if self.flushing and self.ready < inf:
            self.flush()
        self.receive()
        if self.waiting:
            oldest = min(way.deadline for way, _ in self.waiting.values())
            if oldest <= self.loop.time():
                self.settle(self.native.expire())
            else:
                self.due = oldest
                self.loop.call_at(oldest, self.expire)

    def settle(self, finished: list[tuple[int, Any]]) -> None:
        for ticket, answer in finished:
            _, future = self.waiting.pop(ticket)
            if not future.done():
                future.set_result(answer)
        if self.native.over or (self.finishing and not self.waiting):
            self.close()
        elif self.native.full != self.writing:
            self.writing = not self.writing
            if self.writing:
                self.loop.add_writer(self.native.fileno(), self.flush)
            else:
                self.loop.remove_writer(self.native.fileno())

    def finish(self) -> None:
        """End after the calls that are under way, of which a loop that stands still has none."""
        self.finishing = True
        if not self.waiting or not self.loop.is_running():
            self.close()

    def close(self) -> None:
        if (descriptor := self.native.fileno()) >= 0:
            with suppress(RuntimeError):  # The loop is closed.
                self.loop.remove_reader(descriptor)
                self.loop.remove_writer(descriptor)
            self.native.close()
        self.ended.set()
