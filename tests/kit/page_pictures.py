"""The pictures of docs/page.md: which views they show, and what each was made of."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from zlib import crc32

__all__ = [
    "FILES",
    "FOLDER",
    "HEIGHT",
    "MOST_BYTES",
    "NOW",
    "OVERLAY",
    "ROOT",
    "SUBMITTED",
    "VIEWS",
    "WIDTH",
    "View",
    "alike",
    "chunks",
    "made_of",
    "marked",
    "read",
    "text_of",
]

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "pictures" / "page"
FILES: Final = ("examples/training-cluster.yaml", "examples/quota-teams.yaml")
OVERLAY: Final = "examples/page/plans.yaml"
SUBMITTED: Final = "examples/what-if/train.yaml"
"""What is submitted in the view What if."""
NOW: Final = "2026-03-02T12:00:00Z"
WIDTH: Final = 1440
HEIGHT: Final = 900
"""Of the window, in pixels."""
MOST_BYTES: Final = 80_000
"""Of a picture."""
SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
MARK: Final = b"made-of\x00"
"""The keyword of the text in a picture that has the hash of what it was made of."""


@dataclass(frozen=True, slots=True)
class View:
    """A view, and how one knows that all of it is there."""

    name: str
    """Of the files."""
    address: str
    text: str
    """What it shows at last."""


VIEWS: Final = (
    View("map", "#/map?gang=research%2Fllama-train", "Show all"),
    View("waiting", "#/waiting", "llama-train"),
    View("gang", "#/gang/research/llama-train", "rack-b"),
    View("plans", "#/plans", "llama-train-e79b24e2fe"),
    View("plan", "#/plan/research/llama-train-e79b24e2fe", "serving/embed-0"),
    View("queues", "#/queues", "a-standard"),
    View("queue", "#/queue/a-standard", "Who waits"),
    View("what-if", "#/what-if", "Paste them, or drop files here."),
    View("history", "#/history", "Victims in time"),
    View("evicted", "#/evicted/batch/features-2", "It was evicted by one plan"),
    View("report", "#/report", "the scheduler preempted 16 pods"),
    View("doctor", "#/doctor", "DefinitionMissing"),
)


def text_of(made: Mapping[str, Any]) -> str:
    """What a picture was made of, as its file has it: lists of plain values stand on one line."""
    return _lines(made, "") + "\n"


def _lines(value: Any, indent: str) -> str:
    inner = indent + " "
    if isinstance(value, dict) and value:
        each = [f"{inner}{json.dumps(key)}: {_lines(part, inner)}" for key, part in value.items()]
        return "{\n" + ",\n".join(each) + f"\n{indent}}}"
    if isinstance(value, list) and any(
        isinstance(part, (dict, list)) or len(str(part)) > 20 for part in value
    ):
        return "[\n" + ",\n".join(inner + _lines(part, inner) for part in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False)


def read(view: View) -> dict[str, Any]:
    """What the committed picture was made of."""
    found: dict[str, Any] = json.loads((FOLDER / f"{view.name}.json").read_text(encoding="utf-8"))
    return found


def alike(value: Any) -> Any:
    """Without what differs from one machine to another: the measured time of a search, and the address of the page."""
    if isinstance(value, dict):
        return {key: alike(part) for key, part in value.items() if key != "version"}
    if isinstance(value, list):
        return [alike(part) for part in value]
    return re.sub(r"http://127\.0\.0\.1:\d+/", "", value) if isinstance(value, str) else value


# ---- files of PNG (W3C, Portable Network Graphics)


def chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    """(kind, content) of each part. Raises ValueError if it is no PNG."""
    if not picture.startswith(SIGNATURE):
        raise ValueError("no PNG")
    at = len(SIGNATURE)
    while at < len(picture):
        (length,) = struct.unpack_from(">I", picture, at)
        kind, content = picture[at + 4 : at + 8], picture[at + 8 : at + 8 + length]
        if struct.unpack_from(">I", picture, at + 8 + length) != (crc32(kind + content),):
            raise ValueError(f"the part {kind!r} is broken")
        yield kind, content
        at += 12 + length


def marked(parts: Iterable[tuple[bytes, bytes]], text: str) -> bytes:
    """The picture of these parts, with the hash of what it was made of."""
    head, *others = parts
    mark = b"tEXt", MARK + sha256(text.encode()).hexdigest().encode()
    return SIGNATURE + b"".join(_chunk(*each) for each in (head, mark, *others))


def made_of(picture: bytes) -> str:
    """The hash of what the picture was made of; empty if it has none."""
    found = (content for kind, content in chunks(picture) if kind == b"tEXt" and content.startswith(MARK))
    return next(found, MARK).removeprefix(MARK).decode()


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", crc32(kind + content))
