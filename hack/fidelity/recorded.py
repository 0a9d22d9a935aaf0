"""Answers of the scheduler for machines without Go: `python -m hack.fidelity.recorded` writes them anew."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from hack.fidelity.probe import Answer, Probe
from hack.fidelity.world import World
from hack.fidelity.worlds import FAMILIES, random_world

__all__ = ["Recorded", "recorded"]

FILE: Final = Path(__file__).parent / "answers.json.gz"
KEPT: Final = 95
"""Cases of each family."""


class Recorded(msgspec.Struct):
    """A cluster, and the scheduler's answer."""

    world: World
    answer: Answer


def recorded() -> list[Recorded]:
    """All that is kept."""
    return msgspec.json.decode(gzip.decompress(FILE.read_bytes()), type=list[Recorded])


def main() -> None:
    """Ask about the cases, and keep the answers."""
    pairs = [(seed, family) for family in [*FAMILIES, "all"] for seed in range(KEPT)]
    worlds = [random_world(Random(seed), family) for seed, family in pairs]  # noqa: S311 - no secret
    with Probe() as probe:
        answers = probe.ask([world.case for world in worlds])
    kept = [Recorded(world, answer) for world, answer in zip(worlds, answers, strict=True)]
    FILE.write_bytes(gzip.compress(msgspec.json.encode(kept), mtime=0))


if __name__ == "__main__":
    main()
