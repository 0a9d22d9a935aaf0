"""Run all checks. The exit status is 1 if one of them finds a fault."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from hack.lint import constructors, idioms, printing, unused

ROOT: Final = Path(__file__).resolve().parents[2]
CHECKS: Final[tuple[Callable[[Path], Iterable[str]], ...]] = (
    constructors.faults,
    idioms.faults,
    printing.faults,
    unused.faults,
)
"""Each gets the root of the checkout, and gives one line for each fault: FILE:LINE: what is wrong."""


def main() -> int:
    """Print all faults. Returns the exit status."""
    faults = [fault for check in CHECKS for fault in check(ROOT)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    gc.disable()  # the trees of all files stay until the end: half of the time went into looking at them
    sys.exit(main())
