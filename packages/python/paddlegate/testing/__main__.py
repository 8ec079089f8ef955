"""A process of a host: `python -m paddlegate.testing MODULE:FUNCTION URL RUN PORT FOLDER`."""

import importlib
import sys
from pathlib import Path

from paddlegate.testing import Kit


def main(serve: str, url: str, run: str, port: str, folder: str) -> None:
    """Run the host until it ends."""
    module, _, function = serve.partition(":")
    getattr(importlib.import_module(module), function)(Kit(int(port), url, run, Path(folder)))


if __name__ == "__main__":
    main(*sys.argv[1:])
