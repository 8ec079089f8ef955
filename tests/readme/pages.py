"""Runs the programs of pages and the examples: `pages.py FOLDER PAGE_OR_PROGRAM...`.

FOLDER is where run.sh has installed the packages. Four programs run at a time, each on a database
of its own, which is empty before and has keys of ours afterwards, unless the program uses memory.
The last line says how many programs passed and failed.
"""

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from blocks import PROGRAMS, ROOT, PageError, expected, programs_of, write

SIDE_BY_SIDE = 4
TIMEOUT = 60
COMPILE = 600
LANGUAGES = {
    "py": "python",
    "mjs": "node",
    "mts": "ts",
    "rb": "ruby",
    "c": "c",
    "rs": "rust",
    "go": "go",
    "kt": "kotlin",
    "java": "java",
}
# Programs that keep nothing in Redis, and texts that are no programs.
APART = {"wasm", "sh", "json"}
# A program that names one of these need not leave anything in Redis.
ELSEWHERE = ["memory://", '127.0.0.1:1"']
KEYS = "return redis.call('keys', 'pg2:*')"
FORGET = f"for _, key in ipairs(redis.call('keys', 'pg2:*')) do redis.call('del', key) end {KEYS}"
LOAD = """import sys
from paddlegate import Paddlegate
assert Paddlegate("memory://").load(sys.argv[1])
"""

folder = Path(sys.argv[1])


class TestError(Exception):
    """A program that does not do what its page says."""


def main(names):
    urls = [database(number) for number in range(1, SIDE_BY_SIDE + 1)]
    passed = failed = 0
    found, faults = find(names)
    for name, fault in faults:
        print(fault, f"{name}: failed in 0 ms", sep="\n")
    failed += len(faults)
    # Those that need no compiler run meanwhile.
    found.sort(key=lambda program: program[1] in COMPILED)
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        compiling = {language: pool.submit(compile_all, language, found) for language in COMPILED}
        for name, fault, took in pool.map(lambda program: run(*program, urls, compiling), found):
            if fault:
                print(fault)
            print(f"{name}: {'failed' if fault else 'passed'} in {took} ms", flush=True)
            failed, passed = (failed + 1, passed) if fault else (failed, passed + 1)
    print(f"pages: {passed} passed, {failed} failed")
    return failed


def compile_all(language, found):
    began = time.monotonic()
    if of_language := [program for program in found if program[1] == language]:
        COMPILED[language](of_language)
        print(f"{len(of_language)} programs compiled: {language} in {since(began)} ms")


def find(names):
    """Give the programs, and the pages that cannot be tested."""
    found, faults = [], []
    for path in map(Path, names):
        name = str(Path(os.path.relpath(path, ROOT)).with_suffix("")).removesuffix("/README")
        if path.suffix != ".md":
            found.append((name, LANGUAGES[path.suffix[1:]], path.read_text(), []))
            continue
        try:
            of_page = [
                (f"{name}-{language}-{number}", language, text, beside)
                for language, number, text, beside in programs_of(path)
            ]
        except PageError as error:
            faults.append((name, error))
        else:
            found += of_page
    return found, faults


def since(began):
    return round((time.monotonic() - began) * 1000)


def run(name, language, text, _beside, urls, compiling):
    """Run one program; give its name, what is wrong, and the milliseconds that it took."""
    if language in compiling:
        compiling[language].result()
    began = time.monotonic()
    url = urls.pop()
    try:
        check(name, language, text, url)
        fault = None
    except (PageError, TestError) as error:
        fault = error
    finally:
        urls.append(url)
    return name, fault, since(began)


def check(name, language, text, url):
    # Below the packages, where Node looks for them.
    path = folder / "project" / "pages" / name.replace("/", "_")
    if language not in COMPILED:
        file = write(path, language, text, url)
    redis(url, FORGET)
    environment = {**os.environ, "PADDLEGATE_URL": url, "GEM_HOME": str(folder / "gems")}
    # The command, which `make test-readme` has built.
    environment["PATH"] = f"{ROOT / 'target/release'}:{os.environ['PATH']}"
    # Two programs may write a file of one name at a time.
    place = path.with_name(f"{path.name}.work")
    place.mkdir(parents=True, exist_ok=True)
    if language == "c":
        printed = command(["bash", "-euc", c(file)], environment, place)
    elif language in COMPILED:
        printed = command(PROGRAM[language](module_of(name)), environment, place)
    else:
        printed = command(interpreter(language, file), environment, place)
    lines = expected(text)
    told = [line for line in printed.splitlines() if line in lines]
    if told != lines:
        raise TestError(f"{printed}{name} should print {lines}, not {told}")
    is_apart = language in APART or any(elsewhere in text for elsewhere in ELSEWHERE)
    if not is_apart and not redis(url, KEYS).strip():
        raise TestError(f"{name} has left nothing in Redis")


def interpreter(language, file):
    return {
        "python": [folder / "venv/bin/python", file],
        "node": ["node", file],
        "ts": ["bash", "-euc", ts(file)],
        "wasm": ["node", file],
        "ruby": ["ruby", "-w", file],
        "sh": ["bash", "-n", file],
        # Java compiles a single file by itself.
        "java": ["java", "-cp", classpath(), file],
        "json": [folder / "venv/bin/python", "-c", LOAD, file],
    }[language]


def classpath():
    found = folder / "jvm/classpath"
    return found.read_text() if found.exists() else ""


def ts(file):
    """Compile with the options that a project of NestJS has, and run what comes of it."""
    options = (
        "--target es2022 --lib es2022,dom --module nodenext --strict --skipLibCheck --types node"
    )
    decorators = "--experimentalDecorators --emitDecoratorMetadata"
    tsc = ROOT / "node_modules/.bin/tsc"
    return f"""
        {tsc} {options} {decorators} --rootDir {file.parent} --outDir {file}.d {file}
        node {file}.d/{file.stem}.mjs"""


def c(file):
    """Compile with the command of the page of the C library; nothing else helps the loader."""
    page = (ROOT / "bindings/c/README.md").read_text().splitlines()
    compiler = next(line for line in page if line.startswith("cc worker.c ") and "-rpath" in line)
    prefix = folder / "prefix"
    return f"""
        export PREFIX={prefix} PKG_CONFIG_PATH={prefix}/lib/pkgconfig
        mkdir -p {file}.d; cd {file}.d; cp {file} worker.c; {compiler}; ./worker"""


def go(programs):
    """Compile all as programs of the module that run.sh has made."""
    module = folder / "reader"
    for name, language, text, beside in programs:
        path = module / "pages" / module_of(name) / "main"
        write(path, language, text, None)
        for file in beside:
            path.with_name(file.name).write_text(file.read_text())
    # To link without symbols takes two thirds of the time.
    compiled(["go", "build", "-ldflags=-s -w", "-o", "bin/", "./pages/..."], module)


def rust(programs):
    """Compile all as programs of the crate that run.sh has made."""
    crate = folder / "reader"
    for name, language, text, _ in programs:
        # What an earlier run has compiled must not stand for it.
        built_by_cargo(module_of(name)).unlink(missing_ok=True)
        write(crate / "src/bin" / module_of(name), language, text, None)
    cargo = ["cargo", "build", "--release", "--quiet", "--offline", "--bins", "--keep-going"]
    compiled(["env", f"CARGO_TARGET_DIR={ROOT}/target", *cargo], crate)


def kotlin(programs):
    """Compile all in the project that run.sh has made, each in a package of its own."""
    project = folder / "jvm"
    for name, language, text, beside in programs:
        path = project / "src" / module_of(name) / "Main"
        texts = [write(path, language, text, None)]
        for file in beside:
            texts.append(path.with_name(file.name))
            texts[-1].write_text(file.read_text())
        for file in texts:
            file.write_text(f"package {module_of(name)}\n\n{file.read_text()}")
    compiled(["./maven", "compile"], project)


def compiled(words, place):
    """Run a compiler. A program that it did not compile fails when it is to run."""
    done = subprocess.run(words, cwd=place, stdin=subprocess.DEVNULL, timeout=COMPILE)
    if done.returncode:
        print(f"{words[0]}: status {done.returncode}", flush=True)


def module_of(name):
    return "page_" + re.sub(r"\W", "_", name).lower()


def go_program(module):
    program = folder / "reader/bin" / module
    if not program.exists():
        raise TestError("it did not compile: see above")
    return [program]


def kotlin_program(module):
    project = folder / "jvm"
    if not (project / "target/classes" / module / "MainKt.class").exists():
        raise TestError("it did not compile: see above")
    return ["java", "-cp", f"{project}/target/classes:{classpath()}", f"{module}.MainKt"]


def built_by_cargo(module):
    return ROOT / "target/release" / module


def rust_program(module):
    program = built_by_cargo(module)
    if not program.exists():
        raise TestError("it did not compile: see above")
    return [program]


def command(words, environment, place):
    try:
        done = subprocess.run(
            list(map(str, words)),
            env=environment,
            cwd=place,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired as error:
        raise TestError(f"{error}\n{error.output}") from None
    if done.returncode:
        raise TestError(f"{done.stdout}status {done.returncode}")
    return done.stdout


def redis(url, script):
    return command(["redis-cli", "-u", url, "eval", script, "0"], os.environ, folder)


def database(number):
    parts = urlsplit(os.environ["PADDLEGATE_TEST_URL"])
    return urlunsplit(parts._replace(path=f"/{number}"))


# In these languages all programs are compiled at once.
COMPILED = {"go": go, "kotlin": kotlin, "rust": rust}
PROGRAM = {"go": go_program, "kotlin": kotlin_program, "rust": rust_program}
assert set(LANGUAGES.values()) < set(PROGRAMS)
sys.exit(main(sys.argv[2:]) > 0)
