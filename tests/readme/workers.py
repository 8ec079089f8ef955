"""Programs that share a limit, each of an installed package: `workers.py FOLDER`.

FOLDER is where run.sh has installed the packages, each in a project of its own. Every program asks
until it was granted and refused thirty times; the outside checker of tests/shared judges what all
were told.
"""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "shared"))

from checker import Grant, History, Refusal, rules, violations  # noqa: E402

LIMITS = rules([("window", 20, 500_000)])
folder = Path(sys.argv[1]).resolve()


def main():
    commands = {
        "python": [folder / "venv/bin/python", HERE / "workers/worker.py"],
        "node": ["node", project("node", "worker.mjs") / "worker.mjs"],
        "ruby": ["ruby", HERE / "workers/worker.rb"],
        "go": [go()],
        "kotlin": kotlin(),
    }
    name = f"readme-{uuid.uuid4().hex}"
    processes = {
        language: subprocess.Popen(
            [*map(str, command), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "GEM_HOME": str(folder / "gems")},
        )
        for language, command in commands.items()
    }
    for process in processes.values():
        process.stdin.write("\n")
        process.stdin.flush()
    histories = {language: heard(language, process) for language, process in processes.items()}
    for language, history in histories.items():
        counts = f"{len(history.grants)} granted, {len(history.refusals)} refused"
        print(f"{language}: {counts}")
    together = History.joined(histories.values())
    assert list(violations(LIMITS, together)) == []
    # The checker sees one grant too many.
    for history in histories.values():
        refusal = history.refusals[0]
        one_more = [*together.grants, Grant(refusal.at, refusal.units)]
        assert list(violations(LIMITS, History(one_more, [])))


def heard(language, process):
    """Return what a program was told."""
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 0, language
    told = list(map(json.loads, printed.splitlines()))
    grants = [Grant(it["at"], 1) for it in told if it["retry"] is None]
    refusals = [Refusal(it["at"], 1, it["retry"]) for it in told if it["retry"] is not None]
    assert min(len(grants), len(refusals)) >= 30, language
    return History(grants, refusals)


def project(language, file):
    """Return a place below the packages of Node with a copy of the program."""
    place = folder / "project" / f"worker-{language}"
    place.mkdir()
    (place / file).write_text((HERE / "workers" / file).read_text())
    return place


def go():
    place = folder / "worker-go"
    place.mkdir()
    (place / "main.go").write_text((HERE / "workers/worker.go").read_text())
    (place / "go.mod").write_text((folder / "reader/go.mod").read_text())
    subprocess.run(["go", "build", "-o", "worker", "."], cwd=place, check=True)
    return place / "worker"


def kotlin():
    place = folder / "worker-kotlin"
    subprocess.run(["cp", "-r", folder / "jvm", place], check=True)
    (place / "src/Main.kt").write_text((HERE / "workers/worker.kt").read_text())
    subprocess.run(["./maven", "compile"], cwd=place, check=True)
    classpath = (place / "classpath").read_text()
    return ["java", "-cp", f"{place}/target/classes:{classpath}", "MainKt"]


main()
