"""The leader goes in the middle of twenty preemptions: every victim is evicted once, and the preemptor is admitted.

One that is paused is left to `make test-e2e`: one that is cut off lives on, too.
`python -m tests.e2e.stress_quota --leaders N` keeps it away for longer.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.quota_leaders import OPTIONS, WAYS, TwentyVictims, Way, killed
from tests.kit.often import SELDOM


@pytest.fixture(scope="module")
def replicas(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """Two processes. Each test gives back what it takes away."""
    return start_plane(Options(**OPTIONS))


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=SELDOM) if way is not killed else way for way in WAYS]
)
def test_the_leader_goes_in_the_middle_of_twenty_preemptions(replicas: ControlPlane, way: Way) -> None:
    TwentyVictims(replicas, way).run()
