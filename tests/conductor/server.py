"""A Conductor server that answers as its API says, and counts by itself what its workers do.

    python tests/conductor/server.py '{"responseTimeoutSeconds": 5}'

Prints its port. POST /start adds tasks, GET /report returns what became of them, GET /count how
many have each status. After the sources of Conductor OSS (TaskResource, WorkflowExecutor,
DeciderService, the queue in SQL): a queue by priority, then by the time at which a task is due; a
task in progress goes back to it for `callbackAfterSeconds`, as scheduled and so without a timeout;
a task whose worker sends no update for `responseTimeoutSeconds` is timed out; a failed or timed out
task is retried under another id; the answer to an update by v2 is the next task, whatever the
status of the update.
"""

import asyncio
import json
import sys
import time
import uuid
from collections import Counter

from aiohttp import web

NUMBERS = {
    "retryCount": 3,
    "retryDelaySeconds": 0,
    "retryLogic": "FIXED",
    "responseTimeoutSeconds": 60,
    "v2": True,
}
SWEEP = 0.05
FAILED = ("FAILED", "TIMED_OUT")
TERMINAL = (*FAILED, "FAILED_WITH_TERMINAL_ERROR", "COMPLETED")


class Conductor:
    """The tasks, their queues and the counts."""

    def __init__(self, numbers):
        self.numbers = {**NUMBERS, **numbers}
        self.tasks = {}
        self.queue = {}
        self.order = 0
        self.polls = self.empty = self.updates = self.extended = 0
        self.polls_at = []

    def schedule(self, name, job, given, priority, retries=0, delay=0.0):
        """Add a task of a job to the queue of its type."""
        task = {
            "taskId": str(uuid.uuid4()),
            "workflowInstanceId": job,
            "taskType": name,
            "taskDefName": name,
            "referenceTaskName": name,
            "inputData": given,
            "outputData": {},
            "status": "SCHEDULED",
            "retryCount": retries,
            "pollCount": 0,
            "workflowPriority": priority,
            "callbackAfterSeconds": 0,
            "responseTimeoutSeconds": self.numbers["responseTimeoutSeconds"],
            "sentBack": 0,
        }
        self.tasks[task["taskId"]] = task
        self.push(task, delay)

    def push(self, task, delay):
        self.order += 1
        self.queue[task["taskId"]] = (-task["workflowPriority"], time.time() + delay, self.order)

    def pop(self, name, count, worker):
        """Give the tasks that are due to a worker, the first of the queue first."""
        now = time.time()
        due = sorted(
            (place, task_id)
            for task_id, place in self.queue.items()
            if place[1] <= now and self.tasks[task_id]["taskType"] == name
        )
        given = [self.tasks[task_id] for _, task_id in due[:count]]
        for task in given:
            del self.queue[task["taskId"]]
            task.update(
                status="IN_PROGRESS",
                pollCount=task["pollCount"] + 1,
                updateTime=now,
                workerId=worker,
                callbackAfterSeconds=0,
            )
        return given

    def update(self, result):
        """Take over the result of a task; return the task, None for one that had ended."""
        self.updates += 1
        task = self.tasks.get(result["taskId"])
        if task is None:
            raise web.HTTPNotFound
        if task["status"] in TERMINAL:
            return None
        if result.get("extendLease"):
            self.extended += 1
            task["updateTime"] = time.time()
            return None
        task["reasonForIncompletion"] = result.get("reasonForIncompletion")
        task["outputData"] = result.get("outputData") or {}
        task["workerId"] = result.get("workerId")
        status = result["status"]
        if status == "IN_PROGRESS":
            task["status"] = "SCHEDULED"
            task["callbackAfterSeconds"] = result.get("callbackAfterSeconds") or 0
            task["sentBack"] += 1
            self.push(task, task["callbackAfterSeconds"])
        else:
            self.end(task, status)
        return task

    def end(self, task, status):
        task.update(status=status, endTime=time.time())
        self.queue.pop(task["taskId"], None)
        retries = task["retryCount"]
        if status in FAILED and retries < self.numbers["retryCount"]:
            delay = self.numbers["retryDelaySeconds"]
            if self.numbers["retryLogic"] == "EXPONENTIAL_BACKOFF":
                delay *= 2**retries
            again = task["workflowInstanceId"], task["inputData"], task["workflowPriority"]
            self.schedule(task["taskType"], *again, retries + 1, delay)

    def sweep(self):
        """Time out the tasks of whose workers nothing was heard."""
        now = time.time()
        for task in list(self.tasks.values()):
            since = now - task.get("updateTime", now)
            if task["status"] == "IN_PROGRESS" and since > task["responseTimeoutSeconds"]:
                self.end(task, "TIMED_OUT")


class Api:
    """The routes of a server."""

    def __init__(self, numbers):
        self.conductor = Conductor(numbers)

    async def poll(self, request):
        """Answer a poll: at once when there is a task, otherwise after its time."""
        name, asked = request.match_info["name"], request.query
        self.conductor.polls += 1
        self.conductor.polls_at.append(time.time())
        until = time.time() + int(asked.get("timeout", 100)) / 1000
        while not (tasks := self.conductor.pop(name, int(asked["count"]), asked["workerid"])):
            if time.time() >= until:
                self.conductor.empty += 1
                break
            await asyncio.sleep(0.005)
        return web.json_response(tasks)

    async def update(self, request):
        self.conductor.update(await request.json())
        return web.Response(text="")

    async def update_v2(self, request):
        if not self.conductor.numbers["v2"]:
            raise web.HTTPNotFound
        result = await request.json()
        task = self.conductor.update(result)
        if task is not None:
            for following in self.conductor.pop(task["taskType"], 1, result.get("workerId")):
                return web.json_response(following)
        return web.Response(status=204)

    async def start(self, request):
        """Start jobs of one task each: their type, the input of each, and their priority."""
        asked = await request.json()
        for given in asked["inputs"]:
            self.conductor.schedule(
                asked["name"], str(uuid.uuid4()), given, asked.get("priority", 0)
            )
        return web.json_response({})

    async def report(self, request):
        it = self.conductor
        counts = {name: getattr(it, name) for name in ("polls", "empty", "updates", "extended")}
        tasks = list(it.tasks.values())
        return web.json_response({**counts, "polls_at": it.polls_at, "tasks": tasks})

    async def count(self, request):
        """Count the tasks of each status."""
        return web.json_response(Counter(it["status"] for it in self.conductor.tasks.values()))

    async def sweep(self, app):
        async def run():
            while True:
                await asyncio.sleep(SWEEP)
                self.conductor.sweep()

        running = asyncio.create_task(run())
        yield
        running.cancel()

    def app(self):
        app = web.Application()
        app.router.add_get("/api/tasks/poll/batch/{name}", self.poll)
        app.router.add_post("/api/tasks/update-v2", self.update_v2)
        app.router.add_post("/api/tasks", self.update)
        app.router.add_post("/start", self.start)
        app.router.add_get("/report", self.report)
        app.router.add_get("/count", self.count)
        app.cleanup_ctx.append(self.sweep)
        return app


async def main():
    runner = web.AppRunner(Api(json.loads(sys.argv[1] if len(sys.argv) > 1 else "{}")).app())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    # It ends with the program that started it.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
