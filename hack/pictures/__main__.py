"""`python -m hack.pictures [NAME]...`: draws the pictures, or these. RECORD=1 records them before."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection

from hack.pictures.drawn import NAMES, files_of
from hack.pictures.recordings import FOLDER

__all__ = ["main"]


def main(names: Collection[str]) -> int:
    """Returns the exit status."""
    if unknown := set(names) - set(NAMES):
        sys.stderr.write(f"no picture has the name {min(unknown)}\n")
        return 1
    for name in NAMES:
        if names and name not in names:
            continue
        if os.environ.get("RECORD") == "1":
            from hack.pictures.record import record  # noqa: PLC0415 - it imports the control plane

            record(name)
        for file, text in files_of(name).items():
            (FOLDER / file).write_text(text, encoding="utf-8")
            print(f"docs/pictures/{file}: {len(text.encode())} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
