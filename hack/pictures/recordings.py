"""What is recorded, as its file has it."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeVar

import msgspec

__all__ = ["FOLDER", "GangRecording", "GridRecording", "GridWay", "ReportRecording", "Side", "read", "write"]

T = TypeVar("T", bound=msgspec.Struct)
FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "pictures"


class Side(msgspec.Struct, forbid_unknown_fields=True):
    """One of two control planes with the same pods."""

    before: dict[str, str]
    """The node of each pod before the gang came."""
    pods: dict[str, str | None]
    """The node of each pod that is left. None: it waits."""
    evicted: list[str]
    seconds: float | None = None
    """From the last member's creation to the last member that was bound. None: not all were bound."""
    why: str = ""
    """What the PodGroup says. Empty without reprieve."""


class GangRecording(msgspec.Struct, forbid_unknown_fields=True):
    """A gang that came to full nodes, with the scheduler alone and with reprieve."""

    date: str
    kubernetes: str
    members: int
    alone: Side
    ours: Side


class GridWay(msgspec.Struct, forbid_unknown_fields=True):
    """One way of preempting in the interleaved case."""

    evicted: str
    """For each group, in order, the number of its pods that were evicted: 0 to 9, and x for all ten."""
    bound: int
    """Members of the gang."""


class GridRecording(msgspec.Struct, forbid_unknown_fields=True):
    """The interleaved case of `python -m bench gang`."""

    date: str
    kubernetes: str
    nodes: int
    members: int
    ways: dict[str, GridWay]


class ReportRecording(msgspec.Struct, forbid_unknown_fields=True):
    """What `reprieve report` says of an observer's plane."""

    date: str
    kubernetes: str
    report: dict[str, object]
    """As `-o json` prints it."""


def read(name: str, kind: type[T]) -> T:
    """A recording. Raises msgspec.ValidationError if the file has other fields, and OSError."""
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=kind)


def write(name: str, recording: msgspec.Struct) -> None:
    """Store a recording under this name."""
    text = msgspec.json.format(msgspec.json.encode(recording), indent=2)
    (FOLDER / f"{name}.json").write_bytes(text + b"\n")
