"""While `paddlegate record` runs, the decisions of all languages are recorded; a replay agrees."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from fleet import LANGUAGES, Fleet

COMMAND = Path(__file__).parents[2] / "target/release/paddlegate"
RECORDED = ("python", "node", "ruby")
LIMITS = [("window", 300, 3600), ("points", 400, 3600)]
DEFINED = {
    "window": {"window": {"limit": 300, "per": "1h"}},
    "points": {"points": {"limit": 400, "refill": "1h"}},
}
ROUNDS = 40


def lines(path):
    """Give the whole lines of a record."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def shown(at_us, is_granted, units):
    return at_us, "granted" if is_granted else "refused", units


@pytest.fixture(scope="module")
def workers():
    """Give a worker of each language."""
    with Fleet({language: LANGUAGES[language] for language in RECORDED}) as fleet:
        yield list(fleet.values())


@pytest.fixture
def limits(tmp_path, name):
    """Give a document with the limits of the programs."""
    path = tmp_path / "limits.json"
    path.write_text(json.dumps({"limiters": {name: {"limits": DEFINED}}}))
    return path


def test_all_languages_are_recorded_and_replayed(workers, url, name, limits, tmp_path):
    path = tmp_path / "record.jsonl"
    for worker in workers:
        worker.ask("open", url=url, timeout=5)
        worker.ask("limiter", **{"as": "it"}, name=name, limits=LIMITS)
    words = ["--limits", limits, "--for", "1h", "--out", path, "--redis", url]
    recorder = subprocess.Popen([COMMAND, "record", name, *words])
    try:
        deadline = time.monotonic() + 60
        # The first line is written when the recording has begun.
        while not lines(path):
            assert recorder.poll() is None, "the recorder has ended"
            assert time.monotonic() < deadline, "nothing is recorded"
            time.sleep(0.02)
        expected = []
        for number in range(ROUNDS):
            cost = 1 + number % 7
            for worker in workers:
                worker.send("try_acquire", on="it", cost=cost)
            for worker in workers:
                decision = worker.receive()
                expected.append(shown(decision["at_us"], decision["allowed"], cost))
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(60) == 0
    finally:
        recorder.kill()
        recorder.wait()
    head, *found, end = lines(path)
    assert head["limiter"] == name
    assert end == {"end": "stopped", "decisions": ROUNDS * len(RECORDED), "may_lack": False}
    assert {line["verb"] for line in found} == {"acquire"}
    for line in found:
        assert line["units"]["window"] == line["units"]["points"]
    recorded = [(line["at_us"], line["outcome"], line["units"]["points"]) for line in found]
    assert sorted(recorded) == sorted(expected)
    times = [at for at, *_ in recorded]
    assert times == sorted(times)

    granted = sum(outcome == "granted" for _, outcome, _ in expected)
    assert 0 < granted < len(expected)
    words = ["--record", path, "--candidate", limits, "--json"]
    plan = subprocess.run([COMMAND, "plan", *words], check=True, stdout=subprocess.PIPE, text=True)
    told = json.loads(plan.stdout)
    counts = {"granted": granted, "refused": len(expected) - granted, "waited": 0}
    assert told["recorded"] == counts
    differences = ("unlike_the_record", "newly_refused", "newly_granted")
    assert [told[count] for count in differences] == [0, 0, 0]
    assert told["may_lack"] is False
