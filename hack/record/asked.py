"""Questions that the tests of the commands ask."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from hack.record.cases import Case

__all__ = ["ASKED", "asked"]

ASKED: Final = Path(__file__).parent / "asked.jsonl.xz"


def asked() -> Iterator[Case]:
    """As hack/record/listening.py wrote them down."""
    if not ASKED.exists():
        return
    decoder = msgspec.json.Decoder(Case)
    with lzma.open(ASKED) as lines:
        for line in lines:
            yield decoder.decode(line)
