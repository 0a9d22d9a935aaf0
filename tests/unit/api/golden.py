"""Recorded answers of Go libraries: a JSON array [input, answer] a line, null where Go refuses the input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any


def golden(name: str) -> list[tuple[Any, Any]]:
    """The pairs of one recording beside this file."""
    with gzip.open(Path(__file__).with_name(f"{name}_golden.jsonl.gz"), "rt", encoding="utf-8") as lines:
        return [(recorded, answer) for recorded, answer in map(json.loads, lines)]
