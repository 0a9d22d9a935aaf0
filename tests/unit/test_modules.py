"""Modules stay short enough to be read at one sitting."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
MOST_LINES: Final = 500
"""Most modules are shorter. Nothing is cut only to get below a number."""
ROOMS: Final = (
    *(
        "api",
        "native",
        "nodes",
        "quota",
        "schema",
        "kube",
        "serving",
        "runtime",
        "controllers",
        "extender",
        "webhooks",
    ),
    *("answers", "web", "cli", "hack", "bench"),
)


def test_no_module_is_too_long() -> None:
    paths = [
        path
        for room in ROOMS
        for ending in ("py", "pyx", "pxd")
        for path in (ROOT / room).rglob(f"*.{ending}")
    ]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in paths}
    assert lengths
    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}
