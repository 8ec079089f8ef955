"""`recover_tasks`: a task of Huey whose consumer was killed runs again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from huey.signals import SIGNAL_INTERRUPTED  # type: ignore[import-untyped]
from huey.storage import RedisPriorityQueue, RedisStorage  # type: ignore[import-untyped]
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoReply

from paddlegate._errors import InvalidError, shown

# Forgets the last task of a worker, puts back those whose time is over, and takes the next.
# KEYS: the queue, the taken tasks by the time at which they run again.
# ARGV: the last task or "", the seconds until the next one runs again.
TAKE = """
if ARGV[1] ~= '' then redis.call('ZREM', KEYS[2], ARGV[1]) end
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
for _, task in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], 0, now, 'LIMIT', 0, 100)) do
  redis.call('ZREM', KEYS[2], task)
  redis.call('RPUSH', KEYS[1], task)
end
local task = redis.call('RPOP', KEYS[1])
if task then redis.call('ZADD', KEYS[2], now + ARGV[2], task) end
return task
"""

# Moves the tasks of the schedule whose time has come to the queue.
# KEYS: the schedule, the queue. ARGV: the present.
MOVE = """
local tasks = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
for _, task in ipairs(tasks) do
  redis.call('ZREM', KEYS[1], task)
  redis.call('LPUSH', KEYS[2], task)
end
"""


def recover_tasks(huey: Any, *, after: float) -> None:
    """Run a task again whose consumer was killed, `after` seconds after a worker took it.

    Huey forgets a task as soon as a worker takes it. From now on the Redis of Huey keeps the task
    until it has ended and the worker asks for the next one, so a task that is interrupted when its
    consumer stops runs again, too. Scheduled tasks get into the queue without the signal
    "enqueued". `after` must be more than a task may take together with the `patience` of its
    limit, since a task that takes longer runs a second time beside the first; it should not be less
    than `lock_timeout`. Call it where the tasks are, for all consumers.

    Raises `InvalidError`, argument `huey` if its storage is not a Redis without priorities, or
    argument `after` if it is not a number of seconds above 0.

        huey = RedisHuey("shop", url="redis://localhost:6379/0")
        recover_tasks(huey, after=600)
    """
    storage = huey.storage
    if not isinstance(storage, RedisStorage) or isinstance(storage, RedisPriorityQueue):
        raise InvalidError("must be a RedisHuey or a RedisExpireHuey, without priorities", "huey")
    if isinstance(after, bool) or not isinstance(after, int | float) or not 0 < after < 1e9:
        raise InvalidError(f"must be a number of seconds, above 0: after={shown(after)}", "after")
    taken = _TakenTasks(storage, after)
    storage.dequeue = taken.next
    storage.add_to_schedule, storage.read_schedule = taken.put_back, taken.move_scheduled
    huey.execute = taken.watching(huey.execute)
    huey.signal(SIGNAL_INTERRUPTED)(taken.keep)
    huey.on_shutdown("paddlegate")(taken.forget)


class _TakenTasks:
    def __init__(self, storage: Any, after: float) -> None:
        self._storage = storage
        self._after = after
        self._key = f"huey.taken.{storage.name}"
        self._take = storage.conn.register_script(TAKE)
        self._move = storage.conn.register_script(MOVE)
        self._worker = threading.local()

    def next(self) -> Any:
        """Return the next task for this worker, whose last one has ended; None if there is none."""
        storage = self._storage
        task = self._take_one()
        if task is None and storage.blocking:
            # It moves to where it was: this waits for a task and takes none.
            storage.conn.blmove(
                storage.queue_key, storage.queue_key, storage.read_timeout, "RIGHT", "RIGHT"
            )
            task = self._take_one()
        return task

    def put_back(self, task: Any, at: Any) -> None:
        """Schedule a task that this worker has taken, and keep it no more."""
        storage = self._storage
        with storage.conn.pipeline() as pipeline:
            pipeline.zadd(storage.schedule_key, {task: storage.convert_ts(at)})
            if self._last() is not None:
                pipeline.zrem(self._key, self._last())
            pipeline.execute()
        self._worker.task = None

    def move_scheduled(self, now: Any) -> list[Any]:
        """Move the tasks whose time has come; return none, since a caller may lose them."""
        storage = self._storage
        keys = [storage.schedule_key, storage.queue_key]
        self._move(keys=keys, args=[storage.convert_ts(now)])
        return []

    def watching(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        """Return `execute` of Huey, after which a task that has not ended is kept."""

        def watched(*args: Any, **kwargs: Any) -> Any:
            try:
                return execute(*args, **kwargs)
            except Exception as error:
                # Huey could not store what became of the task, such as its next try. Other errors
                # would come again with every run.
                if isinstance(error, NoConnection | NoReply):
                    self.keep()
                raise
            except BaseException:
                self.keep()
                raise

        return watched

    def keep(self, *_signal: Any) -> None:
        """Leave the last task of this worker in Redis, since it has not ended: it runs again."""
        self._worker.task = None

    def forget(self) -> None:
        """Forget the last task of this worker, which takes no more."""
        if self._last() is not None:
            self._storage.conn.zrem(self._key, self._last())

    def _last(self) -> Any:
        return getattr(self._worker, "task", None)

    def _take_one(self) -> Any:
        last = self._last()
        task = self._take(
            keys=[self._storage.queue_key, self._key],
            args=[b"" if last is None else last, self._after],
        )
        self._worker.task = task
        return task
