#!/usr/bin/env python3
"""Prints a digest of what UniFFI has written about the interface of a built library into it.

    scripts/uniffi-digest.py LIBRARY

The code that `make generate` writes for Kotlin has the digest at its head. A library with another
one needs new code. The check sums that UniFFI's code compares when it loads the library do not
cover the fields of records.
"""

import hashlib
import pathlib
import struct
import subprocess
import sys

library = pathlib.Path(sys.argv[1]).read_bytes()
if library[:6] != b"\x7fELF\x02\x01":
    raise SystemExit(f"uniffi-digest: expected a 64-bit little-endian ELF file: {sys.argv[1]}")

# Address, place in the file and size of each section.
(table,) = struct.unpack_from("<Q", library, 0x28)
length, count = struct.unpack_from("<HH", library, 0x3A)
sections = [struct.unpack_from("<QQQ", library, table + at * length + 0x10) for at in range(count)]

listed = subprocess.run(
    ["nm", "--defined-only", "--print-size", sys.argv[1]],
    check=True,
    capture_output=True,
    text=True,
).stdout
symbols = [line.split() for line in listed.splitlines() if " UNIFFI_META_" in line]
if not symbols:
    raise SystemExit(
        f"uniffi-digest: no metadata of UniFFI; build it with its symbols: {sys.argv[1]}"
    )

digest = hashlib.sha256()
for address, size, _, name in sorted(symbols, key=lambda symbol: symbol[3]):
    where, wide = int(address, 16), int(size, 16)
    [start] = [at + where - base for base, at, of in sections if base and base <= where < base + of]
    digest.update(f"{name}\n".encode() + library[start : start + wide])
print(digest.hexdigest())
