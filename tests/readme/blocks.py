"""Makes programs of the code blocks of a page: `blocks.py PAGE FOLDER`.

A block that imports the package begins a program, FOLDER/LANGUAGE/N.EXTENSION, and so does a block
of JSON, which is a document with limits; blocks without an import go on with the program before
them. In all of them `redis://localhost:6379/0` becomes the URL in PADDLEGATE_TEST_URL. A number in
a comment after a statement that prints, as in `console.log(2); // 2` or `// 2: two`, is what the
program should print; N.expected holds them.

Exits with an error when a block is in a language that is not tested, when a language that has a
section of its own has no block there, when the page names a make target that is not there, and
when a program would use the server at localhost.
"""

import os
import re
import sys
from pathlib import Path

ADDRESS = "redis://localhost:6379/0"
PROGRAMS = {
    "python": "py",
    "node": "mjs",
    "wasm": "mjs",
    "ruby": "rb",
    "c": "c",
    "rust": "rs",
    "json": "json",
    "sh": "sh",
}
# What is only to be looked at.
SHOWN = {"", "html"}
SHELL = {"", "sh"}
HEADING = re.compile(r"^(#+) (.*)")
IMPORT = re.compile(r"^\s*(?:from|import|require|use|#include)\b.*paddlegate", re.MULTILINE)
PRINTED = re.compile(r"\b(?:console\.log|print|puts|println!)\b.*\s(?://|#) (\d[^:\n]*)")
TARGET = re.compile(r"make ([a-z-]+)")


def main(page, folder):
    text = Path(page).read_text()
    programs = {}
    commands = re.findall(r"`(make [^`]*)`", text)
    for title, blocks in sections(text):
        if title and not blocks:
            sys.exit(f"{page}: no block for {title}")
        for marker, block in blocks:
            if marker in SHELL:
                commands += block.splitlines()
            if marker in SHOWN:
                continue
            language = marker
            if marker == "js":
                language = "wasm" if "paddlegate-wasm" in block else "node"
            if language not in PROGRAMS:
                sys.exit(f"{page}: blocks in {marker} are not tested")
            begun = programs.setdefault(language, [])
            if not begun or language == "json" or IMPORT.search(block):
                begun.append("")
            begun[-1] += block
    for command in commands:
        if (target := TARGET.match(command)) and target[1] not in targets():
            sys.exit(f"{page}: there is no make {target[1]}")
    for language, begun in programs.items():
        for number, program in enumerate(begun, 1):
            write(Path(folder, language, str(number)), PROGRAMS[language], program)


def sections(text):
    """Give the blocks between headings, with the heading if that must have a block."""
    title, blocks, marker, lines, languages = None, [], None, [], False
    for line in text.splitlines():
        if marker is not None:
            if line == "```":
                blocks.append((marker, "".join(f"{line}\n" for line in lines)))
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


def write(path, extension, program):
    program = program.replace(ADDRESS, os.environ["PADDLEGATE_TEST_URL"])
    if "localhost:6379" in program:
        sys.exit(f"write {ADDRESS}, which becomes the address of the server for tests: {path}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(f".{extension}").write_text(program)
    if numbers := PRINTED.findall(program):
        expected = "".join(f"{number.strip()}\n" for number in numbers)
        path.with_suffix(".expected").write_text(expected)


def targets():
    makefile = Path(__file__).parents[2] / "Makefile"
    return set(re.findall(r"^([a-z-]+):", makefile.read_text(), re.MULTILINE))


main(*sys.argv[1:])
