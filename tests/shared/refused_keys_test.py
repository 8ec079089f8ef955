"""The most refused keys of a keyed limiter are those of the programs of all languages together."""

import json
import subprocess
import sys
from pathlib import Path

from fleet import RUBY_LIBRARY

ROOT = Path(__file__).parents[2]
COMMAND = ROOT / "target/release/paddlegate"
PYTHON = """
import sys
from paddlegate import Paddlegate

url, name, key, calls = sys.argv[1:]
with Paddlegate(url, timeout=5) as store:
    api = store.bucket(name, 2, "day", keyed=True)
    print(sum(not api.try_acquire(key=key) for _ in range(int(calls))))
"""
RUBY = """
require "paddlegate"

url, name, key, calls = ARGV
store = Paddlegate::Store.new(url, timeout: 5)
api = store.bucket(name, 2, :day, keyed: true)
puts Array.new(Integer(calls)) { api.try_acquire(key: key) }.count { |decision| !decision.allowed? }
store.close
"""
NODE = """
import { Paddlegate } from "./packages/node/index.mjs";

const [url, name, key, calls] = process.argv.slice(1);
const store = new Paddlegate(url, { timeoutMs: 5000 });
const api = store.bucket(name, 2, "day", { keyed: true });
let refused = 0;
for (let i = 0; i < Number(calls); i++) refused += !(await api.tryAcquire({ key })).allowed;
console.log(refused);
await store.close();
"""
PROGRAMS = {
    "python": [sys.executable, "-c", PYTHON],
    "ruby": ["ruby", "-I", RUBY_LIBRARY, "-e", RUBY],
    "node": ["node", "--input-type=module", "-e", NODE],
}


def test_programs_of_all_languages_count_the_keys_they_refuse(url, name):
    calls = {"ada": (40, 3, 5), "bob": (1, 9, 9), "cyd": (2, 0, 0)}
    refused = dict.fromkeys(calls, 0)
    for i, program in enumerate(PROGRAMS.values()):
        for key in calls:
            words = [*program, url, name, key, str(calls[key][i])]
            done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
            refused[key] += int(done.stdout)
    # Two units a day for each key.
    assert refused == {"ada": 46, "bob": 17, "cyd": 0}
    words = [COMMAND, "inspect", name, "--json", "--redis", url]
    found = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    assert found["most_refused"] == [
        {"key": "ada", "refused": 46},
        {"key": "bob", "refused": 17},
    ]
    assert found["statistics"]["refused"] == 46 + 17
