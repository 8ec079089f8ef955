"""A worker of conductor-python whose tasks share a limit: two at once and ten a second.

Guide: docs/src/guides/conductor-workers.md
"""

import asyncio
import os
import queue
import sys
import threading
import time

from aiohttp import web
from conductor.client.automator.task_handler import TaskHandler
from conductor.client.configuration.configuration import Configuration
from conductor.client.worker.worker_task import worker_task
from paddlegate import Paddlegate, UnavailableError
from paddlegate.conductor import gated, limited

TASKS = 25
pg = Paddlegate(os.environ.get("PADDLEGATE_URL", "redis://localhost:6379/0"))
erp = pg.limiter("erp", concurrency=2, window=(10, 1), lock_timeout=60)


@worker_task(task_definition_name="sync", thread_count=8)
@limited(erp)
def sync(account: str) -> dict:
    time.sleep(0.05)  # the work
    return {"account": account}


class Conductor:
    """A server with one queue: it gives tasks out, takes results, and delays tasks in progress."""

    def __init__(self):
        self.accounts = {f"task-{i}": f"account-{i}" for i in range(TASKS)}
        self.queue = dict.fromkeys(self.accounts, 0.0)  # when each task is due
        self.completed, self.polls, self.sent_back = [], 0, 0

    def take(self, count):
        now = time.monotonic()
        due = [task for task, at in self.queue.items() if at <= now][:count]
        for task in due:
            del self.queue[task]
        return [
            {
                "taskId": task,
                "taskDefName": "sync",
                "workflowInstanceId": "workflow-1",
                "inputData": {"account": self.accounts[task]},
            }
            for task in due
        ]

    async def poll(self, request):
        self.polls += 1
        return web.json_response(self.take(int(request.query["count"])))

    async def update(self, request):
        result = await request.json()
        if result["status"] == "IN_PROGRESS":
            self.sent_back += 1
            self.queue[result["taskId"]] = time.monotonic() + result["callbackAfterSeconds"]
        elif result["status"] == "COMPLETED":
            self.completed.append(time.monotonic())
        # The answer to a result is the next task.
        following = self.take(1)
        return web.json_response(following[0]) if following else web.Response(status=204)

    async def serve(self, started):
        app = web.Application()
        app.router.add_get("/api/tasks/poll/batch/sync", self.poll)
        app.router.add_post("/api/tasks/update-v2", self.update)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        started.put(runner.addresses[0][1])
        await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        erp.peek()
    except UnavailableError as error:
        sys.exit(f"This program needs a Redis, see PADDLEGATE_URL: {error}")
    server, started = Conductor(), queue.SimpleQueue()
    threading.Thread(target=asyncio.run, args=[server.serve(started)], daemon=True).start()
    configuration = Configuration(server_api_url=f"http://127.0.0.1:{started.get()}/api")
    with TaskHandler(configuration=configuration) as handler:
        gated(handler.workers)
        began = time.monotonic()
        handler.start_processes()
        while len(server.completed) < TASKS:
            if time.monotonic() > began + 50:
                sys.exit(f"only {len(server.completed)} of {TASKS} tasks are done")
            time.sleep(0.05)
    took = server.completed[-1] - began
    print(f"{TASKS} tasks in {took:.1f} s, {server.sent_back} sent back, {server.polls} polls")
    assert not server.queue
    assert took >= 2, "ten a second"
