"""Calls that no Redis decided are counted once, whatever the language, and sent when it is back."""

import subprocess
import sys
import time

import pytest
from fleet import LANGUAGES, RUBY_LIBRARY, UNAVAILABLE, WorkerError
from paddlegate import Paddlegate
from servers import Redis, free_port

PYTHON = """
import os, sys
from paddlegate import Paddlegate

store = Paddlegate(sys.argv[1], timeout=5)
api = store.bucket(sys.argv[2], 10**6, "day", on_unavailable="fail_open")
while line := sys.stdin.readline():
    match line.split():
        case ["call", count]:
            print(sum(api.try_acquire().degraded for _ in range(int(count))), flush=True)
        case ["stats"]:
            stats = api.stats()
            print(stats.granted, stats.degraded, stats.errors, flush=True)
        case ["fork"]:
            child = os.fork()
            if child:
                os.waitpid(child, 0)
            print("parent" if child else "child", flush=True)
        case _:
            store.close()
            sys.stdout.flush()
            os._exit(0)
"""
RUBY = """
require "paddlegate"

store = Paddlegate::Store.new(ARGV[0], timeout: 5)
api = store.bucket(ARGV[1], 10**6, :day, on_unavailable: :fail_open)
$stdout.sync = true
while (line = $stdin.gets)
  word, count = line.split
  case word
  when "call" then puts Array.new(Integer(count)) { api.try_acquire }.count(&:degraded?)
  when "stats" then puts api.stats.to_h.values_at(:granted, :degraded, :errors).join(" ")
  when "fork"
    child = fork
    Process.wait(child) if child
    puts child ? "parent" : "child"
  else
    store.close
    exit!(0)
  end
end
"""
PROGRAMS = {
    "python": [sys.executable, "-c", PYTHON],
    "ruby": ["ruby", "-I", RUBY_LIBRARY, "-e", RUBY],
}


def eventually(what, is_done):
    deadline = time.monotonic() + 60
    while not is_done():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.mark.parametrize("language", PROGRAMS)
def test_degraded_calls_of_a_process_and_of_its_fork_are_counted(language, name):
    port = free_port()
    url, server = f"redis://127.0.0.1:{port}", Redis(port)
    program = subprocess.Popen(
        [*PROGRAMS[language], url, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    granted = degraded = 0

    def ask(line):
        print(line, file=program.stdin, flush=True)
        return program.stdout.readline().strip()

    def call(count):
        nonlocal granted, degraded
        answer = int(ask(f"call {count}"))
        granted, degraded = granted + count - answer, degraded + answer
        return answer

    try:
        assert call(3) == 0
        # It sends what it has counted before it reads.
        assert ask("stats") == "3 0 0"
        server.end()
        server = None
        assert call(7) == 7
        assert ask("fork") == "child"
        assert call(5) == 5
        server = Redis(port)
        # The Redis is a new one, which has forgotten the first three.
        granted = 0
        eventually("the child uses it again", lambda: call(1) == 0)
        # The child closes its store and ends, and its parent goes on.
        assert ask("end") == "parent"
        eventually("the parent uses it again", lambda: call(1) == 0)
        assert ask("stats") == f"{granted} {degraded} 0"
        print("end", file=program.stdin, flush=True)
        assert program.wait(60) == 0
        found = Paddlegate(url, timeout=5).bucket(name, 10**6, "day").stats()
        assert (found.granted, found.degraded, found.errors) == (granted, degraded, 0)
    finally:
        program.kill()
        program.wait()
        if server:
            server.end()


@pytest.mark.parametrize("language", LANGUAGES)
def test_calls_that_failed_are_counted(fleet, language, name):
    port = free_port()
    url, worker, failed = f"redis://127.0.0.1:{port}", fleet[language], 0
    worker.ask("open", url=url, timeout=5)
    worker.ask("limiter", **{"as": "it"}, name=name, limits=[("bucket", 10**6, 86400)])
    for call in ("try_acquire", "allow", "try_acquire"):
        with pytest.raises(WorkerError) as raised:
            worker.ask(call, on="it", cost=1)
        assert raised.value.name == UNAVAILABLE[language]
        failed += 1
    server = Redis(port)
    try:
        limiter = Paddlegate(url, timeout=5).bucket(name, 10**6, "day")

        def is_counted():
            nonlocal failed
            try:
                worker.ask("try_acquire", on="it", cost=1)
            except WorkerError:
                failed += 1
            return limiter.stats().errors == failed

        eventually("the errors are counted", is_counted)
        assert limiter.stats().degraded == 0
    finally:
        server.end()
