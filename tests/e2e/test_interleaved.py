"""The interleaved case with a gang of a hundred, where reprieve observes. A smaller one is in test_observing.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from bench.gang import Size
from bench.place import NATIVE, REPRIEVE
from hack.controlplane.components import OBSERVER_FOLDERS
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.interleaved import observe
from tests.kit.often import SELDOM

SIZE: Final = Size(500, 100)
LEASE: Final = {"leaderElect": True, "retryPeriodSeconds": 0.2}


@SELDOM
@pytest.mark.parametrize("group_api", [REPRIEVE, NATIVE], ids=["stock", "GenericWorkload"])
def test_our_decision_stands_beside_the_schedulers(
    start_plane: Callable[[Options], ControlPlane], group_api: str
) -> None:
    """The scheduler breaks each group that it touches, or evicts far more of them whole."""
    native = group_api == NATIVE
    options = Options(
        reprieve=True,
        reprieve_settings={"planning": {"mode": "Observe"}, "leaderElection": LEASE},
        manifests=OBSERVER_FOLDERS,
        feature_gates={"GenericWorkload": True} if native else None,
        runtime_config={NATIVE: True} if native else None,
        scheduler_settings={"percentageOfNodesToScore": 100},
    )
    seen = observe(start_plane(options), SIZE, group_api)
    ours, instead = seen.ours, seen.instead
    pods = {pod.uid for victim in ours.victims for pod in victim.pods}
    assert (ours.outcome, len(ours.victims), len(pods)) == ("Preempts", 90, 900)
    assert (instead["state"], instead["bound"], instead["unattributed"]) == ("Same", True, 0)
    assert (instead["victims"]["pods"], instead["groupsBroken"]) == (seen.pods, seen.broken)
    print(
        f"the scheduler evicted {seen.pods} pods of {seen.groups} groups, and broke {instead['groupsBroken']}"
    )
    assert seen.groups > len(ours.victims)
