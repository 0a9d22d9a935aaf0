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
from api.stored_plans import PreemptorKey, carried_out, holds_room, is_observed, preemptor_key
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
        self._of: dict[PreemptorKey, dict[str, _Kept]] = {}
        """Those that may hold room, by preemptor and name."""
        self._held: dict[PreemptorKey, PlanRoom] = {}
        self._rooms: Sequence[PlanRoom] = ()

    def shared(self) -> Mapping[str, StoredPlans]:
        """The plans by namespace. Later events do not change them."""
        for namespace, plans in self._plans.items():
            if namespace not in self._shared:
                self._shared[namespace] = StoredPlans([each.plan for each in plans.values()])
        return dict(self._shared)

    def rooms(self) -> Sequence[PlanRoom]:
        """What the plans of all namespaces hold now: the same object while nothing of that has changed."""
        return self._rooms

    def upsert(self, item: PreemptionPlan) -> bool:
        """See `Store`."""
        packed, room = _packed(item.spec), None
        if holds_room(item) or is_observed(item):
            item.spec = expand(item.spec)
        if holds_room(item):
            room = room_of(item.spec)
        self._set(item.metadata.namespace, item.metadata.name, _Kept(self._stored(item, packed), room))
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        if name not in self._plans.get(namespace, ()):
            return False
        self._set(namespace, name, None)
        return True

    def _set(self, namespace: str, name: str, now: _Kept | None) -> None:
        """The plan is this now; None: it is gone. Only the plans of the same preemptor are looked at."""
        plans = self._plans.setdefault(namespace, {})
        before = plans.pop(name, None) if now is None else plans.get(name)
        old, new = (preemptor_key(each.plan.brief) if each is not None else None for each in (before, now))
        if old is not None:
            del self._of[old][name]
        if now is not None:
            plans[name] = now
            if new is not None:
                self._of.setdefault(new, {})[name] = now
        self._shared.pop(namespace, None)
        changed = [self._hold(key) for key in dict.fromkeys((old, new)) if key is not None]
        if any(changed):
            self._rooms = tuple(self._held.values())

    def _hold(self, key: PreemptorKey) -> bool:
        """Find what the plans of this preemptor hold. Returns whether it is not as before."""
        its, before = self._of[key].values(), self._held.get(key)
        rooms = {id(each.plan.brief): each.room for each in its}
        room = next((rooms[id(plan)] for plan in carried_out(each.plan.brief for each in its)), None)
        if not its:
            del self._of[key]
        if room == before:
            return False
        if room is None:
            del self._held[key]
        else:
            self._held[key] = room
        return True

    def _stored(self, plan: PreemptionPlan, packed: bytes) -> StoredPlan:
        return stored(plan, partial(self._read, packed))

    def _read(self, packed: bytes, brief: PreemptionPlan) -> PreemptionPlan:
        """All of the plan. One whose long lists are damaged has none."""
        try:
            spec = self._whole.of(brief) or _spec(packed)
        except ValueError:
            return brief
        return msgspec.structs.replace(brief, spec=spec)
