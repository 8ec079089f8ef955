"""Makes programs of the code blocks of a page: `blocks.py PAGE FOLDER`.

A block that imports the package begins a program, FOLDER/LANGUAGE/N.EXTENSION, and so does a block
of JSON, which is a document with limits; blocks without an import belong to the program before
them. What a reader need not see is in fixtures/, and hidden.txt says after which block it goes; it
belongs to the program before it, or at the beginning of a page to the first one.

Programs in Go and Kotlin have a function main. A block of statements after it continues it: the
statements are put at its end, and imports before them where imports are.

In all programs `redis://localhost:6379/0` becomes the URL in PADDLEGATE_TEST_URL, and the time-out
of calls becomes ten seconds, so that a machine that stalls fails nothing. A number in
a comment after a statement that prints, as in `console.log(2); // 2` or `// 2: two`, is what the
program should print, and so is any text after an arrow, as in `print(d.reason)  # -> paused`;
N.expected holds them.

Exits with an error when a block is in a language that is not tested, when a language that has a
section of its own has no block there, when the page names a make target that is not there, and
when a program would use the server at localhost.
"""

import os
import re
import sys
from collections import Counter
from pathlib import Path
from textwrap import indent

ROOT = Path(__file__).parents[2]
ADDRESS = "redis://localhost:6379/0"
TEN_SECONDS = "Some(std::time::Duration::from_secs(10))"
KOTLIN_TIMEOUT = 'kotlin.time.Duration.parse("10s")'
RUBY_TIMEOUT = "Paddlegate.configure { |config| config.timeout = 10 }\n"
PROGRAMS = {
    "python": "py",
    "node": "mjs",
    "ts": "mts",
    "wasm": "mjs",
    "ruby": "rb",
    "c": "c",
    "rust": "rs",
    "go": "go",
    "kotlin": "kt",
    "java": "java",
    "json": "json",
    "sh": "sh",
}
# How a program of a language opens its store, and how with a time-out of ten seconds.
PATIENT = {
    "python": [
        (f'Paddlegate("{ADDRESS}")', f'Paddlegate("{ADDRESS}", timeout=10)'),
        ("Paddlegate()", "Paddlegate(timeout=10)"),
    ],
    "node": [
        (f'new Paddlegate("{ADDRESS}")', f'new Paddlegate("{ADDRESS}", {{ timeoutMs: 10_000 }})'),
        ("new Paddlegate()", f'new Paddlegate("{ADDRESS}", {{ timeoutMs: 10_000 }})'),
    ],
    "ts": [(f'url: "{ADDRESS}"', f'url: "{ADDRESS}", timeoutMs: 10_000')],
    "ruby": [
        (f'require "paddlegate{part}"\n', f'require "paddlegate{part}"\n{RUBY_TIMEOUT}')
        for part in ("", "/sidekiq", "/rack", "/rails")
    ],
    "c": [
        (f"pg_store_open({address}, 0,", f"pg_store_open({address}, 10000000,")
        for address in (f'"{ADDRESS}"', "NULL")
    ],
    "rust": [
        (f"open({address}, None)", f"open({address}, {TEN_SECONDS})")
        for address in (f'"{ADDRESS}"', "url")
    ],
    # In nanoseconds, since not every program has the package time.
    "go": [
        (
            f'paddlegate.Open("{ADDRESS}")',
            f'paddlegate.Open("{ADDRESS}", paddlegate.Timeout(10e9))',
        ),
    ],
    # By its whole name, since not every program imports it.
    "kotlin": [
        (f'Paddlegate("{ADDRESS}")', f'Paddlegate("{ADDRESS}", {KOTLIN_TIMEOUT})'),
        ("Paddlegate()", f"Paddlegate(timeout = {KOTLIN_TIMEOUT})"),
    ],
    "java": [
        (f'.open("{ADDRESS}")', f'.open("{ADDRESS}", java.time.Duration.ofSeconds(10))'),
    ],
}
# How a program finds the address of its server in the environment, in the place of the address.
OF_ENVIRONMENT = {
    "go": '""',
    "kotlin": 'System.getenv("PADDLEGATE_URL")',
    "rust": '&std::env::var("PADDLEGATE_URL").unwrap()',
}
# What a block has that begins a program, where that is not an import.
BEGINS = {
    "go": re.compile(r"^package main$", re.MULTILINE),
    "kotlin": re.compile(r"^(?:suspend )?fun main\(", re.MULTILINE),
}
# Where main begins, and a line of a block that is not of main.
MAIN = {
    "go": re.compile(r"^func main\(\) \{$", re.MULTILINE),
    "kotlin": re.compile(r"^(?:suspend )?fun main\(.*\) \{$", re.MULTILINE),
}
DECLARES = {
    "go": re.compile(r"^(?:package|func) ", re.MULTILINE),
    "kotlin": re.compile(
        r"^(?:private val|(?:(?:private|suspend|data|sealed) )*(?:fun|class|object)) ",
        re.MULTILINE,
    ),
}
# Files of these stay files of their own.
BESIDE = {".go", ".kt"}
GO = "package main\n"
IMPORTS = re.compile(r"((?:import [^\n]*\n)*)\n?(.*)", re.DOTALL)
# What is only to be looked at.
SHOWN = {"", "html", "text", "xml"}
SHELL = {"", "sh"}
HEADING = re.compile(r"^(#+) (.*)")
# In Go a package stands alone on its line of the import.
IMPORT = re.compile(
    r"^\s*(?:(?:from|import|require|use|#include)\b.*paddlegate|\"paddlegate\"$)", re.MULTILINE
)
PRINTED = re.compile(
    r"\b(?:console\.log|print|puts|println!?|printf|Println)\b.*\s(?://|#) (?:-> (.*)|(\d[^:\n]*))"
)
TARGET = re.compile(r"make ([a-z-]+)")


class PageError(Exception):
    """A page that cannot be tested as it stands."""


def programs_of(page):
    """Give the programs of a page: language, number, text, and files beside it."""
    text = Path(page).read_text()
    programs = {}
    hidden = hidden_of(page)
    commands = re.findall(r"`(make [^`]*)`", text)
    for title, blocks in sections(text, hidden):
        if title and not blocks:
            raise PageError(f"{page}: no block for {title}")
        for marker, block, file in blocks:
            if marker in SHELL:
                commands += block.splitlines()
            if marker in SHOWN:
                continue
            language = marker
            if marker == "js":
                language = "wasm" if "paddlegate-wasm" in block else "node"
            if language not in PROGRAMS:
                raise PageError(f"{page}: blocks in {marker} are not tested")
            begun = programs.setdefault(language, [])
            follows = file or (begun and not begun[-1]["seen"])
            begins = not follows and BEGINS.get(language, IMPORT).search(block)
            if not begun or language == "json" or begins:
                begun.append({"text": "", "seen": False, "beside": []})
            if file and file.suffix in BESIDE:
                begun[-1]["beside"].append(file)
            else:
                begun[-1]["text"] = joined(begun[-1]["text"], block, language)
            begun[-1]["seen"] |= not file
    if hidden:
        raise PageError(f"{page}: has no such blocks: {[*hidden]}")
    for command in commands:
        if (target := TARGET.match(command)) and target[1] not in targets():
            raise PageError(f"{page}: there is no make {target[1]}")
    return [
        (language, number, program["text"], program["beside"])
        for language, begun in programs.items()
        for number, program in enumerate(begun, 1)
    ]


def joined(program, block, language):
    """Add a block to a program: statements after a whole main continue it."""
    main = MAIN[language].search(program) if language in MAIN else None
    if not main or not program.endswith("\n}\n") or DECLARES[language].search(block):
        return program + block
    end = program.index("\n}\n", main.end()) + 1
    imports, statements = IMPORTS.match(block).groups()
    program = program[:end] + indent(statements, "    ") + program[end:]
    of_go, head = program.startswith(GO), program[: len(GO)]
    return head + imports + program[len(GO) :] if of_go else imports + program


def hidden_of(page):
    """Give the files that go after a block of a page, by its language and its number."""
    hidden = {}
    for line in (ROOT / "tests/readme/hidden.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, language, number, file = line.split()
            if (ROOT / name).resolve() == Path(page).resolve():
                file = ROOT / "tests/readme/fixtures" / file
                hidden.setdefault((language, int(number)), []).append(file)
    return hidden


def sections(text, hidden):
    """Give the blocks between headings, with the heading if that must have a block.

    A block has its language, its text, and the file that it is in if a reader does not see it. They
    are taken out of `hidden`.
    """

    def files(language, number):
        found = hidden.pop((language, number), [])
        return [(language, file.read_text(), file) for file in found]

    title, blocks, marker, lines, languages = None, [], None, [], False
    numbers = Counter()
    for language, number in [*hidden]:
        if number == 0:
            blocks += files(language, number)
    for line in text.splitlines():
        if marker is not None:
            if line == "```":
                block = "".join(f"{line}\n" for line in lines)
                numbers[marker] += 1
                blocks += [(marker, block, None), *files(marker, numbers[marker])]
                marker = None
            else:
                lines.append(line)
        elif line.startswith("```"):
            marker, lines = line[3:], []
        elif heading := HEADING.match(line):
            yield title, blocks
            level, blocks = len(heading[1]), []
            languages = languages if level > 2 else "language" in heading[2]
            title = heading[2] if level > 2 and languages else None
    yield title, blocks


def patient(program, language):
    for opened, patiently in PATIENT.get(language, []):
        program = program.replace(opened, patiently)
    return program


def write(path, language, program, url):
    """Write a program and what it should print; give the path of the former.

    Without an address the program finds it in the environment.
    """
    program = patient(program, language)
    if url is None:
        program = program.replace(f'"{ADDRESS}"', OF_ENVIRONMENT[language])
    else:
        program = program.replace(ADDRESS, url)
    if "localhost:6379" in program:
        raise PageError(
            f"write {ADDRESS}, which becomes the address of the server for tests: {path}"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.with_suffix(f".{PROGRAMS[language]}")
    file.write_text(program)
    if printed := expected(program):
        path.with_suffix(".expected").write_text("".join(f"{line}\n" for line in printed))
    return file


def expected(program):
    """Give the lines that a program says it prints."""
    return [(text or number).strip() for text, number in PRINTED.findall(program)]


def targets():
    makefile = ROOT / "Makefile"
    return set(re.findall(r"^([a-z-]+):", makefile.read_text(), re.MULTILINE))


if __name__ == "__main__":
    try:
        for language, number, program, beside in programs_of(sys.argv[1]):
            path = Path(sys.argv[2], language, str(number))
            write(path, language, program, os.environ["PADDLEGATE_TEST_URL"])
            for file in beside:
                path.with_name(file.name).write_text(file.read_text())
    except PageError as error:
        sys.exit(str(error))
