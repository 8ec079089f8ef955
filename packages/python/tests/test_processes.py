"""Import, fork and exit."""

import os

import pytest

# What a process does at its end is a matter of chance: more than a third of them crashed once.
RUNS = min(int(os.environ.get("PADDLEGATE_CASES", "6")), 40)

IMPORT = """
import os, sys, threading

def state():
    links = [os.readlink(f"/proc/self/fd/{fd}") for fd in (0, 1, 2)]
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), links

import asyncio  # asyncio belongs to Python; what it does is not ours
before = state()
import paddlegate
store = paddlegate.Paddlegate("redis://192.0.2.1")
limiter = store.limiter("x", window=(5, 60), throttle=1)
limiter.within_limit()
store.concurrent("x", 1)
assert state() == before, (state(), before)
"""

# Each process has a limit of its own, so an answer to somebody else's question shows.
FORK = """
import asyncio, os, sys, threading
from paddlegate import Paddlegate

url, name, when, how = sys.argv[1:]
store = Paddlegate(url, timeout=20)

def use(who):
    limiter = store.window(f"{name}-{who}", 1000 + who, 60)
    for i in range(20):
        decision = limiter.try_acquire()
        assert (decision.limit, decision.remaining) == (1000 + who, 999 + who - i), decision

async def ause(who):
    limiter = store.window(f"{name}-a{who}", 1000 + who, 60)
    for i in range(20):
        decision = await limiter.atry_acquire()
        assert (decision.limit, decision.remaining) == (1000 + who, 999 + who - i), decision

def work(who):
    if how != "asyncio":
        use(who)
    if how != "sync":
        asyncio.run(ause(who))

if when == "after":
    work(0)
children = []
for who in range(1, 51):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work(who)
            status = 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    children.append(pid)
work(100)
assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 50
work(101)
"""

FORK_DURING_CALLS = """
import os, sys, threading
from paddlegate import Paddlegate

url, name, silent = sys.argv[1:]
store = Paddlegate(url, timeout=20)
hanging = Paddlegate(silent, timeout=1).window("x", 1, 60)
stop = threading.Event()

def hammer(who):
    limiter = store.bucket(f"{name}-{who}", 10**9, 60)
    while not stop.is_set():
        assert limiter.allow()

def hang():
    try:
        hanging.allow()
    except ConnectionError:
        pass

threads = [threading.Thread(target=hammer, args=(i,)) for i in range(3)]
threads.append(threading.Thread(target=hang))
for thread in threads:
    thread.start()
for who in range(40):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            assert store.window(f"{name}-child-{who}", 5, 60).try_acquire().remaining == 4
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
"""

FORK_IN_A_LOOP = """
import asyncio, os, sys
from paddlegate import Paddlegate

url, name = sys.argv[1:]
store = Paddlegate(url, timeout=20)
limiter = store.window(name, 1000, 60)
loop = asyncio.new_event_loop()
assert loop.run_until_complete(limiter.atry_acquire()).remaining == 999
pid = os.fork()
if pid == 0:
    status = 1
    try:
        # The child has inherited the loop and its link, and must not use either.
        call = limiter._acquire(True, None, None, None, None, None, None)
        assert not limiter._links.latest().native.takes(call)
        assert asyncio.run(limiter.aallow())
        assert asyncio.run(limiter.aallow())
        status = 0
    finally:
        os._exit(status)
assert os.waitpid(pid, 0)[1] == 0
for left in range(996, 900, -1):
    assert loop.run_until_complete(limiter.atry_acquire()).remaining == left
loop.run_until_complete(loop.shutdown_default_executor())
loop.close()
"""

POOL = """
import multiprocessing, sys
from paddlegate import Paddlegate

url, name = sys.argv[1:]
limiter = Paddlegate(url, timeout=20).window(name, 50, 60)

def allow(_):
    return limiter.allow()

if __name__ == "__main__":
    assert limiter.allow()
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert sum(pool.map(allow, range(200))) == 49
    assert not limiter.allow()
"""

# Children enter one at a time, each with a token that nobody else has, while threads of the parent
# wait too. A watchdog ends everything that hangs.
FORK_AND_WAIT = """
import asyncio, faulthandler, os, sys, threading, time
from paddlegate import Paddlegate

url, name, when, how, path = sys.argv[1:]
faulthandler.dump_traceback_later(45, exit=True)
store = Paddlegate(url, timeout=20)
limiter = store.concurrent(name, 1, wait_timeout=40)

def enter(token):
    with limiter.within_limit():
        body(token)

async def aenter(token):
    async with limiter.within_limit():
        body(token)

def body(token):
    # Fails if somebody else is here.
    os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    with open(path + ".log", "a") as log:
        log.write(f"{token}\\n")
    os.unlink(path)

def work(token):
    if how == "asyncio":
        asyncio.run(aenter(token))
    else:
        enter(token)

def fork(token):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work(token)
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    return pid

threads = []
if when == "after":
    work("before")
if when == "waiting":
    holder = limiter.acquire()
    threads = [threading.Thread(target=work, args=(f"thread-{i}",)) for i in range(3)]
    for thread in threads:
        thread.start()
    while limiter.stats().tickets < 3:
        time.sleep(0.01)
expected = {"before"} if when == "after" else set()
for batch in range(10):
    children = [fork(f"child-{batch}-{i}") for i in range(5)]
    expected |= {f"child-{batch}-{i}" for i in range(5)}
    if threads and batch == 0:
        holder.release()
    work(f"parent-{batch}")
    expected.add(f"parent-{batch}")
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 5, batch
for thread in threads:
    thread.join()
expected |= {f"thread-{i}" for i in range(len(threads))}
with open(path + ".log") as log:
    tokens = log.read().split()
assert len(tokens) == len(set(tokens)) == len(expected)
assert set(tokens) == expected
stats = limiter.stats()
assert (stats.leases, stats.tickets) == (0, 0), stats
assert stats.granted == len(expected) + (when == "waiting")
"""

POOL_THAT_WAITS = """
import multiprocessing, sys
from paddlegate import Paddlegate

url, name = sys.argv[1:]
limiter = Paddlegate(url, timeout=20).concurrent(name, 2, wait_timeout=40)

def work(number):
    with limiter.within_limit() as permit:
        return permit.fencing_token

if __name__ == "__main__":
    work(0)
    with multiprocessing.get_context("fork").Pool(8) as pool:
        fences = pool.map(work, range(100), chunksize=1)
        # A pool that is left kills its processes, with the counts that they have not sent yet.
        pool.close()
        pool.join()
    assert len(set(fences)) == 100
    stats = limiter.stats()
    assert (stats.leases, stats.tickets, stats.granted) == (0, 0, 101), stats
"""

EXIT = """
import asyncio, sys
from paddlegate import Paddlegate

url, silent, how = sys.argv[1:]
live = Paddlegate(url, timeout=20).window("x", 10**5, 60)
hanging = Paddlegate(silent, timeout=30).window("x", 1, 60)
settling = []

async def main():
    await asyncio.gather(*(live.aallow() for _ in range(5)))
    settling.extend(asyncio.ensure_future(hanging.aallow()) for _ in range(5))
    await asyncio.sleep(0.05)
    await live.aallow()

if how == "run":
    asyncio.run(main())
elif how == "uvloop":
    import uvloop
    uvloop.run(main())
else:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    # Neither the tasks nor the loop are ended.
print("end")
"""


EXIT_WHILE_IT_CONNECTS = """
import asyncio, builtins, sys, time
from paddlegate import Paddlegate

encrypted, timeout = sys.argv[1].replace("redis", "rediss"), float(sys.argv[2])
limiter = Paddlegate(encrypted, timeout=timeout).window("x", 1, 60)

class Last:
    def __del__(self, sleep=time.sleep):
        sleep(0.5)

# So that connecting may end after Python has.
builtins.last = Last()

async def main():
    asyncio.ensure_future(limiter.aallow())
    await asyncio.sleep(0.05)

asyncio.run(main())
print("end")
"""


def test_nothing_happens_on_import(script):
    script(IMPORT)


@pytest.mark.parametrize("how", ["sync", "asyncio", "both"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_forks_never_get_the_answers_of_others(script, url, name, when, how):
    script(FORK, url, name, when, how)


def test_fork_while_other_threads_are_inside_calls(script, url, name, silent):
    script(FORK_DURING_CALLS, url, name, silent)


def test_fork_while_a_loop_has_a_link(script, url, name):
    script(FORK_IN_A_LOOP, url, name)


def test_multiprocessing(script, url, name):
    script(POOL, url, name)


@pytest.mark.parametrize("how", ["sync", "asyncio"])
@pytest.mark.parametrize("when", ["before", "after", "waiting"])
def test_forks_wait_their_turn(script, url, name, when, how, tmp_path):
    script(FORK_AND_WAIT, url, name, when, how, str(tmp_path / "body"))


def test_multiprocessing_waits_its_turn(script, url, name):
    script(POOL_THAT_WAITS, url, name)


@pytest.mark.parametrize("how", ["run", "uvloop"])
def test_processes_end_with_pending_calls(script, url, silent, how):
    for _ in range(RUNS):
        assert script(EXIT, url, silent, how).stdout == "end\n"


def test_processes_end_without_closing_the_loop(script, url, silent):
    for _ in range(RUNS):
        process = script(EXIT, url, silent, "abandoned", ok=False)
        # Python itself complains about the loop and the tasks.
        assert (process.returncode, process.stdout) == (0, "end\n"), process.stderr


@pytest.mark.parametrize("timeout", [60, 0.3], ids=["never", "meanwhile"])
def test_processes_end_before_a_loop_has_connected(script, silent, timeout):
    assert script(EXIT_WHILE_IT_CONNECTS, silent, str(timeout)).stdout == "end\n"
