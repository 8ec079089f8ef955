"""Calls of users and teams of one organisation, and its jobs: charged to all limits, or to none.

Guide: docs/src/guides/organisation-team-user.md
"""

import threading
import time

from paddlegate import OverLimit, Paddlegate, Points, Window

pg = Paddlegate()  # PADDLEGATE_URL, or this process
ORG = pg.limiter("org-acme", rpm=Window(100, "minute"), tpm=Points(50_000, 60), group="acme")
QUEUE = pg.concurrent("queue", 2, group="acme")


def caller(team, user):
    of_team = pg.points(f"team-{team}", 20_000, 60, group="acme")
    of_user = pg.window(f"user-{user}", 5, "minute", group="acme")
    return pg.together(ORG, of_team, of_user, wait_timeout=0)


def estimate(team, tokens):
    """The user's limiter counts the call, and so does `rpm` of the organisation."""
    return {"tpm": tokens, f"team-{team}": tokens}


def call(team, user, tokens):
    with caller(team, user).within_limit(estimate=estimate(team, tokens)) as permit:
        permit.correct(estimate(team, tokens - 500))  # the model has written less


def refusal(team, user, tokens):
    try:
        call(team, user, tokens)
    except OverLimit as over:
        return f"{over.decision.limiter} refuses: {over.reason}"


for _ in range(5):
    call("red", "ada", 2_000)
print(refusal("red", "ada", 2_000))  # -> user-ada refuses: window
print(refusal("red", "bob", 18_000))  # -> team-red refuses: points
call("blue", "eve", 18_000)
print(ORG.peek().remaining)  # 94: the refused calls have taken nothing


# Jobs: two at a time, and one of each customer. None blocks the jobs of other customers.
running, most, lock = [], {"all": 0, "of a customer": 0}, threading.Lock()


def run(customer):
    of_customer = pg.concurrent(f"customer-{customer}", 1, group="acme")
    with pg.together(QUEUE, of_customer, wait_timeout=30).within_limit():
        with lock:
            running.append(customer)
            most["all"] = max(most["all"], len(running))
            most["of a customer"] = max(most["of a customer"], running.count(customer))
        time.sleep(0.03)  # the work
        with lock:
            running.remove(customer)


jobs = [threading.Thread(target=run, args=[customer]) for customer in "AAAABBC"]
for job in jobs:
    job.start()
for job in jobs:
    job.join()
print(most["all"] <= 2, most["of a customer"])  # -> True 1
print(QUEUE.stats().granted, "jobs")  # -> 7 jobs
