"""What the API server's own parsers answer: a process of hack/binaries/parsers, asked as often as one likes."""

from __future__ import annotations

import json
import select
import struct
import subprocess
from functools import cache
from typing import Any, Final, Literal

from hack.controlplane.binaries import binaries

__all__ = ["FAR", "Question", "ask"]

Question = Literal["quantity", "json", "number", "sum", "duration"]
LETTERS: Final[dict[Question, bytes]] = {
    "quantity": b"q",
    "json": b"j",
    "number": b"n",
    "sum": b"s",
    "duration": b"d",
}
HANG_SECONDS: Final = 15.0
FAR: Final = "far"
"""The answer to an exponent so large that apimachinery would take minutes and gigabytes."""


def ask(question: Question, text: bytes) -> Any:
    """A list of numbers (main.go says which), None where the text is refused, or FAR."""
    process = _process()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(LETTERS[question] + struct.pack(">I", len(text)) + text)
    process.stdin.flush()
    if not select.select([process.stdout], [], [], HANG_SECONDS)[0]:
        process.kill()
        _process.cache_clear()
    line = process.stdout.readline()
    assert line, f"the API server's parser has no answer to {text[:200]!r}"
    return json.loads(line)


@cache
def _process() -> subprocess.Popen[bytes]:
    """It ends with this process, whose end closes its stdin."""
    return subprocess.Popen([binaries(["parsers"])["parsers"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
