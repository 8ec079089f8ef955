"""The jobs of a server, in memory, and what becomes of them."""

import itertools
import secrets
import time
import uuid

from keys import Key, parse, rfc3339
from paddlegate import InvalidError

# How long a worker has when no lease says so.
VISIBILITY = 30.0
MAX_ATTEMPTS = 3

# A job that waits stays in this server's list without a ticket, and is asked about at every fetch:
# a ticket would keep the job's place against one of a higher priority that comes later. What is
# rescheduled has a ticket, so that each of them is told a time of its own and finds its place free.
ASKED_AS = {"wait": "raise", "reschedule": "reschedule", "drop": "drop"}


class MissingError(Exception):
    """There is no such thing."""


class ConflictError(Exception):
    """The job is not in the state for it."""


class Clock:
    """The time of this machine; or that of a `TestClock`, which the store has too."""

    def __init__(self, test_clock=None):
        self.test_clock = test_clock

    @property
    def now_us(self):
        return self.test_clock.now_us if self.test_clock else time.time_ns() // 1000

    def after(self, seconds):
        return self.now_us + round(seconds * 1e6)

    def advance(self, seconds):
        self.test_clock.advance(seconds)


class Job:
    def __init__(self, number, body, clock):
        options = body.get("options") or {}
        self.number = number
        self.id = _uuid7(clock.now_us // 1000)
        self.type, self.args = body["type"], body["args"]
        self.queue = options.get("queue", body.get("queue", "default"))
        self.priority = options.get("priority", body.get("priority", 0))
        self.state, self.attempt = "available", 1
        self.key = self.on_limit = self.worker = self.permit = self.limiter = None
        self.ends_us = self.scheduled_us = self.held_by = self.error = None
        # What became of attempts whose time was up: the permits that their workers may still end.
        self.lost = {}

    def show(self):
        shown = {
            "id": self.id,
            "type": self.type,
            "args": self.args,
            "queue": self.queue,
            "priority": self.priority,
            "state": self.state,
            "attempt": self.attempt,
        }
        if self.key:
            shown["rate_limit"] = {"key": self.key.name, "on_limit": self.on_limit}
        if self.scheduled_us is not None:
            shown["scheduled_at"] = rfc3339(self.scheduled_us)
        if self.error is not None:
            shown["error"] = self.error
        return shown


class Jobs:
    """All jobs, keys and events of a server."""

    def __init__(self, store, prefix, clock):
        self.clock = clock
        self.keys, self.events = {}, []
        self._store, self._prefix = store, prefix
        self._jobs = {}
        self._numbers = itertools.count()

    def enqueue(self, body):
        job = Job(next(self._numbers), _checked(body), self.clock)
        named = {name: body[name] for name in ("rate_limit", "options", "queue") if name in body}
        if "rate_limit" in named or "rate_limit" in named.get("options", {}):
            name, job.on_limit, limits = parse(named)
            job.key = self._key(name)
            if job.key.define(limits):
                self._tell("rate_limit.redefined", key=name)
        self._jobs[job.id] = job
        return job

    def _key(self, name):
        if name not in self.keys:
            self.keys[name] = Key(name, self._limiter, self.clock)
        return self.keys[name]

    def _limiter(self, name, rules):
        name = f"{self._prefix}:{name}"
        return self._store.limiter(name, rules) if rules else self._store.unlimited(name)

    def known(self, name):
        if name not in self.keys:
            raise MissingError(f"no such key: {name}")
        return self.keys[name]

    def override(self, name, body):
        """Override a key's limits. One that is not known comes to be, to be paused before use."""
        if name not in self.keys:
            parse({"key": name})
        key = self.keys.get(name) or Key(name, self._limiter, self.clock)
        key.change(body)
        self.keys[name] = key
        return key

    def waiting(self, key):
        return sum(job.key is key and job.state in ("available", "scheduled") for job in self._all)

    @property
    def _all(self):
        return list(self._jobs.values())

    def clear(self, name):
        key = self.known(name)
        if any(job.key is key and job.state == "active" for job in self._all):
            raise ConflictError("jobs of this key are active, whose slots would be forgotten")
        key.clear()

    def find(self, number):
        if number not in self._jobs:
            raise MissingError(f"no such job: {number}")
        return self._jobs[number]

    def fetch(self, queues, count, worker):
        """Start up to so many jobs: higher priorities first; what is limited is passed over."""
        self._sweep()
        ready = [job for job in self._all if job.state == "available" and job.queue in queues]
        ready.sort(key=lambda job: (-job.priority, job.number))
        started = (job for job in ready if self._start(job, worker))
        return list(itertools.islice(started, count))

    def _sweep(self):
        now = self.clock.now_us
        for job in self._all:
            if job.state == "scheduled" and job.scheduled_us <= now:
                job.state, job.scheduled_us = "available", None
            elif job.state == "active" and job.ends_us <= now:
                job.lost[job.worker] = job.permit, job.limiter
                self._again(job)

    def _again(self, job):
        """Try a job again: under another id, and so it counts like a new one."""
        job.attempt += 1
        job.worker = job.permit = job.limiter = job.ends_us = None
        job.state = "available" if job.attempt <= MAX_ATTEMPTS else "discarded"

    def _start(self, job, worker):
        lease = None
        if job.key:
            admission = job.key.admit(f"{job.id}/{job.attempt}", ASKED_AS[job.on_limit])
            if admission.action != "run":
                self._hold(job, admission)
                return False
            job.permit, lease = admission.permit, admission.decision.lease
            job.limiter, job.key.exceeded = job.key.limiter, None
            if job.held_by:
                self._tell(
                    "rate_limit.released", key=job.key.name, strategy=job.held_by, job_id=job.id
                )
                job.held_by = None
        job.state, job.worker = "active", worker
        job.ends_us = self.clock.after(lease or VISIBILITY)
        return True

    def _hold(self, job, admission):
        """Let a job over its limit wait, reschedule it or drop it, as its admission says."""
        key, decision = job.key, admission.decision
        job.held_by = key.strategy(decision)
        if key.exceeded != job.held_by:
            key.exceeded = job.held_by
            limit = decision.limit
            self._tell(
                "rate_limit.exceeded",
                key=key.name,
                strategy=job.held_by,
                limit=limit,
                current=limit - decision.remaining,
            )
        if admission.action == "drop":
            job.state = "discarded"
            self._tell("rate_limit.dropped", key=key.name, job_id=job.id, job_type=job.type)
        elif admission.action == "reschedule" and admission.after is not None:
            job.state, job.scheduled_us = "scheduled", self.clock.after(admission.after)

    def _end(self, number, worker):
        """End an attempt, of that worker if one is named."""
        job = self.find(number)
        if worker in job.lost and worker != job.worker:
            permit, limiter = job.lost.pop(worker)
            settled = limiter.release(permit) if permit else "unknown"
            raise ConflictError(f"its time was up: {settled}")
        if job.state != "active" or worker not in (None, job.worker):
            raise ConflictError(f"not active by that worker, but {job.state}")
        return job

    def _release(self, job):
        return job.permit and job.limiter.release(job.permit)

    def ack(self, number, worker):
        job = self._end(number, worker)
        self._release(job)
        job.state = "completed"
        return job

    def nack(self, number, worker, error):
        """End an attempt that failed; its error may say that an upstream refuses the whole key."""
        job = self._end(number, worker)
        if not isinstance(error, dict):
            raise InvalidError("must be an object", "error")
        until = job.key and job.key.apply_ojs_signal(error)
        if until is not None:
            reason = error.get("message", error["type"])
            self._tell(
                "rate_limit.dynamic_adjusted", key=job.key.name, until=rfc3339(until), reason=reason
            )
        self._release(job)
        job.error = error
        self._again(job)
        return job

    def _tell(self, kind, **data):
        time = rfc3339(self.clock.now_us)
        self.events.append({"type": kind, "time": time, "data": data})


def _checked(body):
    """Check what the limits have nothing to do with."""
    options = body.get("options", {})
    if not isinstance(body.get("type"), str) or not isinstance(body.get("args"), list):
        raise InvalidError("needs a type, which is a text, and args, which is a list", "job")
    if not isinstance(options, dict):
        raise InvalidError("must be an object", "options")
    for place in body, options:
        if not isinstance(place.get("queue", ""), str):
            raise InvalidError("must be a text", "queue")
        if type(place.get("priority", 0)) is not int:
            raise InvalidError("must be a whole number", "priority")
    return body


def _uuid7(millis):
    random = secrets.randbits(74)
    value = millis << 80 | 7 << 76 | (random >> 62) << 64 | 2 << 62 | random & (1 << 62) - 1
    return str(uuid.UUID(int=value))
