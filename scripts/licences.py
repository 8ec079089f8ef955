#!/usr/bin/env python3
"""Writes the licence texts of the Rust crates that each package contains in compiled form.

`make generate` runs it, and `make check-generated` fails if a committed file is not what it writes.
A package folder gets the project's own two licences and THIRD_PARTY_LICENSES.txt. The texts come
from the sources of the crates as cargo has them; where a crate offers a choice, MIT is taken. A
crate without a text of its licence, or with a licence that is not known here, is an error.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
OWN = ["LICENSE-APACHE", "LICENSE-MIT"]
NOTICES = "THIRD_PARTY_LICENSES.txt"
MPL = "MPL-2.0"

# The folder that is handed out, the crate that it contains in compiled form (none: sources only),
# and the features of that crate.
PACKAGES = [
    ("core", None, []),
    ("packages/python", "paddlegate-python", []),
    ("packages/node", None, []),
    ("packages/node/npm/linux-x64-gnu", "paddlegate-node", []),
    ("bindings/c", "paddlegate-c", []),
    ("packages/wasm", "paddlegate-wasm", ["full"]),
    ("packages/kotlin", "paddlegate-uniffi", []),
]

# Licences that ask for no more than their text, the preferred one first; MPL-2.0 asks to say where
# the source is.
KNOWN = ["MIT", "ISC", "BSD-3-Clause", "Unicode-3.0", "Apache-2.0", MPL]
# How the texts are told apart.
MARKS = {
    "MIT": "permission is hereby granted, free of charge",
    "ISC": "permission to use, copy, modify, and/or distribute this software",
    "BSD-3-Clause": "redistribution and use in source and binary forms",
    "Unicode-3.0": "unicode license v3",
    "Apache-2.0": "apache license",
}


def wanted(expression: str) -> list[str]:
    """The licences to show for an SPDX expression: one of each choice, all of a conjunction."""
    parts = expression.replace("/", " OR ").replace("(", "").replace(")", "").split(" AND ")
    chosen = []
    for part in parts:
        choices = [choice.strip() for choice in part.split(" OR ")]
        known = [licence for licence in KNOWN if licence in choices]
        if not known:
            raise SystemExit(f"licences: add a known licence to KNOWN: expression={expression!r}")
        chosen.append(known[0])
    return chosen


def crates(package: str, features: list[str]) -> list[tuple[str, str]]:
    """Name and version of what is linked into a crate, without our own."""
    options = "--locked --edges normal,no-proc-macro --prefix none --format {p}"
    command = ["cargo", "tree", "--package", package, *options.split()]
    if package.endswith("-wasm"):
        command += ["--target", "wasm32-unknown-unknown"]
    if features:
        command += ["--features", ",".join(features)]
    tree = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found = {tuple(line.split()[:2]) for line in tree.splitlines() if line and "(/" not in line}
    return sorted((name, version.removeprefix("v")) for name, version in found)


def texts(folder: pathlib.Path, licences: list[str]) -> list[str]:
    """The licence texts in the sources of a crate."""
    names = ("LICENSE", "LICENCE", "COPYING", "NOTICE")
    files = sorted(file for file in folder.iterdir() if file.name.upper().startswith(names))
    read = {file.name: file.read_text(encoding="utf-8") for file in files if file.is_file()}
    read = {name: text.replace("\r\n", "\n").strip() for name, text in read.items()}
    shown = []
    for licence in licences:
        mark = MARKS[licence]
        matching = [text for text in read.values() if mark in " ".join(text.lower().split())]
        if matching:
            shown.append(min(matching, key=len))
    return shown + [text for name, text in read.items() if name.upper().startswith("NOTICE")]


def notices(package: str, features: list[str], metadata: dict[tuple[str, str], Any]) -> str:
    """What THIRD_PARTY_LICENSES.txt says for a crate of ours."""
    users: dict[str, list[str]] = {}
    for name, version in crates(package, features):
        entry = metadata[name, version]
        licences = wanted(entry["license"])
        if licences == [MPL]:
            source = f"https://crates.io/crates/{name}/{version}"
            found = [
                "This Source Code Form is subject to the terms of the Mozilla Public License,\n"
                "v. 2.0, of which a copy is at https://mozilla.org/MPL/2.0/. It is used as\n"
                f"it is at {source}"
            ]
        else:
            found = texts(pathlib.Path(entry["manifest_path"]).parent, licences)
        if not found:
            # Published without its text: the standard one, with the authors that the crate names.
            if licences != ["MIT"]:
                raise SystemExit(f"licences: no licence text: crate={name} licences={licences}")
            holders = ", ".join(entry["authors"]) or f"the authors of {name}"
            standard = (ROOT / "LICENSE-MIT").read_text().strip().split("\n\n", 1)[1]
            found = [f"Copyright (c) {holders}\n\n{standard}"]
        for text in found:
            users.setdefault(text, []).append(f"{name} {version} ({entry['license']})")
    parts = ["The compiled part of this package contains these Rust crates, under these licences."]
    for text, names in sorted(users.items(), key=lambda item: item[1]):
        parts.append("=" * 80 + "\n" + "\n".join(names) + "\n" + "-" * 80 + "\n\n" + text)
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Writes every file."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    packages = json.loads(output)["packages"]
    metadata = {(crate["name"], crate["version"]): crate for crate in packages}
    for folder, package, features in PACKAGES:
        for name in OWN:
            shutil.copyfile(ROOT / name, ROOT / folder / name)
        if package:
            (ROOT / folder / NOTICES).write_text(notices(package, features, metadata))


if __name__ == "__main__":
    main()
