"""Stored plans as bytes: an answer about one object needs few of them whole.

The process that acts forgets the specs of plans that have ended. A reader may ask about any plan, so all of them are
kept, without their long lists. The lists are read again when somebody asks for them.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from answers.stored_plans import StoredPlan, StoredPlans, stored
from api.compression import expand
from api.plan_names import whole_plan_name
from api.plans import ClusterPreemptionPlan, PreemptionPlan, PreemptionPlanSpec
from api.stored_plans import carried_out, holds_room, is_observed
from nodes.answers.picture import room_of
from nodes.state.snapshot import PlanRoom

__all__ = ["KeptPlans", "WholeSpecs"]

LEVEL: Final = 1
"""Of zlib: most of what it saves, in the least time."""

_decoder: Final = msgspec.msgpack.Decoder(PreemptionPlanSpec)


def _packed(spec: PreemptionPlanSpec) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(spec), LEVEL)


def _spec(packed: bytes) -> PreemptionPlanSpec:
    """The plain form. Raises ValueError for a damaged compressed field."""
    return expand(_decoder.decode(zlib.decompress(packed)))


class WholeSpecs:
    """A store of ClusterPreemptionPlans (`runtime.mirror.view.Store`)."""

    def __init__(self) -> None:
        self._packed: dict[str, bytes] = {}
        """By name."""

    def of(self, plan: PreemptionPlan) -> PreemptionPlanSpec | None:
        """The decision of the plan with all names; None if it is not stored, or damaged."""
        packed = self._packed.get(whole_plan_name(plan.metadata.namespace, plan.metadata.name))
        try:
            return _spec(packed) if packed is not None else None
        except ValueError:
            return None

    def upsert(self, item: ClusterPreemptionPlan) -> bool:
        """See `Store`."""
        self._packed[item.metadata.name] = _packed(item.spec)
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        del namespace
        return self._packed.pop(name, None) is not None


@dataclass(frozen=True, slots=True)
class _Kept:
    plan: StoredPlan
    room: PlanRoom | None
    """What it holds while it is carried out; None if it holds none."""


class KeptPlans:
    """A store of PreemptionPlans (`runtime.mirror.view.Store`)."""

    def __init__(self, whole: WholeSpecs) -> None:
        """`whole`: with the names that a plan withholds."""
        self._whole = whole
        self._plans: dict[str, dict[str, _Kept]] = {}
        """By namespace and name."""
        self._shared: dict[str, StoredPlans] = {}
        """By namespace, as long as nothing has changed."""
        self._rooms: Sequence[PlanRoom] | None = None

    def shared(self) -> Mapping[str, StoredPlans]:
        """The plans by namespace. Later events do not change them."""
        for namespace, plans in self._plans.items():
            if namespace not in self._shared:
                self._shared[namespace] = StoredPlans([each.plan for each in plans.values()])
        return dict(self._shared)

    def rooms(self) -> Sequence[PlanRoom]:
        """What the plans of all namespaces hold now: the same object while nothing has changed."""
        if self._rooms is None:
            self._rooms = self._held()
        return self._rooms

    def _held(self) -> Sequence[PlanRoom]:
        kept = [each for plans in self._plans.values() for each in plans.values()]
        held = {id(each.plan.brief): each.room for each in kept}
        rooms = (held[id(plan)] for plan in carried_out(each.plan.brief for each in kept))
        return tuple(room for room in rooms if room is not None)

    def upsert(self, item: PreemptionPlan) -> bool:
        """See `Store`."""
        packed, room = _packed(item.spec), None
        if holds_room(item) or is_observed(item):
            item.spec = expand(item.spec)
        if holds_room(item):
            room = room_of(item.spec)
        kept = _Kept(stored(item, partial(self._read, packed)), room)
        self._plans.setdefault(item.metadata.namespace, {})[item.metadata.name] = kept
        self._shared.pop(item.metadata.namespace, None)
        self._rooms = None
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        plans = self._plans.get(namespace)
        if plans is None or plans.pop(name, None) is None:
            return False
        self._shared.pop(namespace, None)
        self._rooms = None
        return True

    def _read(self, packed: bytes, brief: PreemptionPlan) -> PreemptionPlan:
        """All of the plan. One whose long lists are damaged has none."""
        try:
            spec = self._whole.of(brief) or _spec(packed)
        except ValueError:
            return brief
        return msgspec.structs.replace(brief, spec=spec)
