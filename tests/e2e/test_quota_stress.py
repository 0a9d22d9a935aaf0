"""Random load on queues for some seconds, with faults. `python -m tests.e2e.stress_quota` takes longer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.gang_load import OPTIONS as GANGS
from tests.e2e.gang_load import GangLoad
from tests.e2e.stress_quota import OPTIONS, stress
from tests.kit.often import SELDOM

SECONDS: Final = 6.0
FIRST: Final = 1
SEEDS: Final = (FIRST, pytest.param(2, marks=SELDOM), pytest.param(3, marks=SELDOM))


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """Each run gives back what it takes away."""
    return start_plane(Options(**OPTIONS))


@pytest.mark.parametrize("seed", SEEDS)
def test_some_seconds_of_random_load_with_faults(plane: ControlPlane, seed: int) -> None:
    """A seed does not decide how many steps there are, and when: a fault that is found need not show again."""
    result = stress(plane, seed, SECONDS, restarts=seed == FIRST)
    print(result)
    assert result.violations == [], str(result)
    assert result.evictions > 0, "a run in which nobody is evicted proves nothing"


@pytest.fixture(scope="module")
def busy_plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """Gangs on its nodes have short lives."""
    return start_plane(Options(**GANGS))


@pytest.mark.parametrize("seed", SEEDS)
def test_some_seconds_of_random_load_on_jobs_and_gangs_with_faults(
    busy_plane: ControlPlane, seed: int
) -> None:
    """With the real Job controller, on both planes. No Job runs for good without quota, none waits for nothing, and no
    gang leaves in pieces."""
    result = stress(busy_plane, seed, SECONDS, restarts=False, load_of=GangLoad)
    print(result)
    assert result.violations == [], str(result)
