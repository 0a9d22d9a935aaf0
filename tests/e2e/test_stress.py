"""A minute of random load. `make stress` takes longer."""

from __future__ import annotations

import random
from typing import Any
from unittest.mock import create_autospec

from hack.controlplane.client import Client
from hack.controlplane.plane import ControlPlane
from hack.controlplane.processes import Process
from tests.e2e.stress.cluster import Cluster
from tests.e2e.stress.run import OPTIONS, stress, take_step
from tests.e2e.support import PlaneFactory


def requests(seed: int) -> list[Any]:
    """What a load of 300 steps does, on no cluster at all."""
    plane = create_autospec(ControlPlane, instance=True)
    plane.client = create_autospec(Client, instance=True)
    plane.reprieve = create_autospec(Process, instance=True)
    cluster = Cluster(plane, random.Random(seed))
    cluster.prepare()
    for _ in range(300):
        take_step(cluster)
    return [*plane.client.mock_calls, *plane.reprieve.mock_calls]


def test_the_seed_decides_what_is_done() -> None:
    assert requests(1) == requests(1)
    assert requests(1) != requests(2)


def test_a_minute_of_random_load(planes: PlaneFactory) -> None:
    result = stress(planes(**OPTIONS), seed=1, seconds=60)
    print(result)
    assert result.violations == [], str(result)
    assert result.deletions > 0, "a run in which nobody is evicted proves nothing"
