"""The interleaved case of `python -m bench gang` where nothing is enforced: a gang comes to full nodes.

Its scheduler preempts for the first members before the last one exists.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from api.compression import expand
from api.plans import PreemptionPlan, PreemptionPlanSpec
from bench.gang import Interleaved, Size
from bench.place import REPRIEVE, Place
from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.support import wait_for

__all__ = ["Observed", "observe"]

NAMESPACE: Final = "interleaved"
BOUND_SECONDS: Final = 600.0
"""How long a gang of a hundred may take on a busy machine."""


class Observed(NamedTuple):
    """What became of the gang, and what is said of it."""

    groups: int
    """That lost pods."""
    broken: int
    """Those that have lost a part only."""
    pods: int
    """That the scheduler evicted."""
    plan: Json
    """It says what the scheduler did instead."""

    @property
    def ours(self) -> PreemptionPlanSpec:
        """Our decision. A large one is stored in a shorter form."""
        return expand(msgspec.convert(self.plan, PreemptionPlan).spec)

    @property
    def instead(self) -> Json:
        """What the plan says of that."""
        return said(self.plan)


def observe(plane: ControlPlane, size: Size, group_api: str = REPRIEVE) -> Observed:
    """The case, until its gang is bound and the account of it is closed.

    A scheduler that places pods one by one has evicted some before the second half of the gang is created.
    """
    place = Place(plane.client, NAMESPACE)
    case = Interleaved(place, size, group_api, plans=False)
    case.fill()
    before = pods(place)
    case.create_group()
    members, half = case.members, size.members // 2
    case.create(members[:half])
    if group_api == REPRIEVE:
        wait_for(lambda: not before <= pods(place), what="the scheduler evicts nobody")
    case.create(members[half:])

    def concluded() -> list[Json]:
        return [each for each in plans(place, case.preemptor) if said(each).get("concluded")]

    wait_for(  # lists of thousands of pods would keep the API server busy
        lambda: bool(concluded()),
        BOUND_SECONDS,
        what=lambda: f"{[each['status'] for each in plans(place, case.preemptor)]}",
    )
    (plan,) = concluded()
    gone = before - pods(place)
    place.remove()
    groups, stay = groups_of(gone), groups_of(before - gone)
    return Observed(len(groups), len(groups & stay), len(gone), plan)


def groups_of(names: set[str]) -> set[str]:
    return {name.rpartition("-")[0] for name in names}


def pods(place: Place) -> set[str]:
    return {pod["metadata"]["name"] for pod in place.pods()}


def plans(place: Place, preemptor: str) -> list[Json]:
    """The observed plans of the gang."""
    found = place.client.list(REPRIEVE, "PreemptionPlan", place.namespace)
    return [each for each in found if each["spec"]["preemptor"]["name"] == preemptor]


def said(plan: Json) -> Json:
    """What a plan says of the scheduler."""
    found: Json = (plan.get("status") or {}).get("instead") or {}
    return found
