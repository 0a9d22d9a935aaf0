"""Reads stored plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from answers.reading.documents import Kind, Reader
from answers.scheduler_marks import PREEMPTED, Mark, PreemptedEvent, marks_of
from api.compression import expand
from api.core import Pod
from api.groups import API_VERSION
from api.plan_names import whole_plan_name
from api.plans import ClusterPreemptionPlan, PreemptionPlan, PreemptionPlanSpec
from api.reports import PreemptionReport

__all__ = ["Evicted", "Plans", "Reported"]

EVENT: Final = ("v1", "Event")
POD: Final = ("v1", "Pod")
REPORT: Final = (API_VERSION, "PreemptionReport")


class Plans(Reader):
    """PreemptionPlans, and those that name what they withhold."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        (API_VERSION, "PreemptionPlan"): Kind(PreemptionPlan, True),
        (API_VERSION, "ClusterPreemptionPlan"): Kind(ClusterPreemptionPlan, False),
    }
    matter: ClassVar[str] = "evictions"

    def __init__(self) -> None:
        super().__init__()
        self._plans: list[PreemptionPlan] = []
        self._whole: dict[str, PreemptionPlanSpec] = {}

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`. Raises ValueError for damaged compressed victims."""
        thing.spec = expand(thing.spec)
        if isinstance(thing, ClusterPreemptionPlan):
            self._whole[thing.metadata.name] = thing.spec
        else:
            self._plans.append(thing)

    def plans(self) -> Sequence[PreemptionPlan]:
        """With the names that their namespaces may not read, if they were read. Call it after the last object was
        read."""
        return _with_whole_names(self._plans, self._whole)


class Reported(Plans):
    """The same, and the reports of single days."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {**Plans.kinds, REPORT: Kind(PreemptionReport, False)}

    def __init__(self) -> None:
        super().__init__()
        self.reports: list[PreemptionReport] = []

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """See `Reader`. Plans tell what they can."""
        if kind == REPORT:
            self.notes.append(f"Not read: {problem}")
            return True
        return super().do_without(kind, problem)

    def keep(self, thing: Any, place: str) -> None:
        """See `Plans`."""
        if isinstance(thing, PreemptionReport):
            self.reports.append(thing)
        else:
            super().keep(thing, place)


class Evicted(Plans):
    """The same, and what kube-scheduler says of one pod that it has evicted."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **Plans.kinds,
        EVENT: Kind(PreemptedEvent, True),
        POD: Kind(Pod, True),
    }

    def __init__(self, namespace: str, name: str) -> None:
        """The name of the pod. Other pods, and events on them, do not count."""
        super().__init__()
        self._namespace, self._name = namespace, name
        self._pods: list[Pod] = []
        self._events: list[PreemptedEvent] = []

    def selector(self, kind: tuple[str, str]) -> str:
        """See `Reader`."""
        if kind == EVENT:
            where = f"involvedObject.namespace={self._namespace},involvedObject.name={self._name}"
            return f"reason={PREEMPTED},{where}"
        if kind == POD:
            return f"metadata.namespace={self._namespace},metadata.name={self._name}"
        return super().selector(kind)

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """See `Reader`. Plans tell most of it."""
        if kind in (EVENT, POD):
            self.notes.append(f"Not read: {problem}")
            return True
        return super().do_without(kind, problem)

    def keep(self, thing: Any, place: str) -> None:
        """See `Plans`."""
        match thing:
            case PreemptedEvent(involved_object=victim):
                it = "Pod", self._namespace, self._name
                self._events += [thing] if (victim.kind, victim.namespace, victim.name) == it else []
            case Pod(metadata=meta):
                self._pods += [thing] if (meta.namespace, meta.name) == (self._namespace, self._name) else []
            case _:
                super().keep(thing, place)

    def marks(self) -> Sequence[Mark]:
        """What the scheduler says. Call it after the last object was read."""
        return marks_of(self._pods, self._events)


def _with_whole_names(
    plans: Sequence[PreemptionPlan], whole: Mapping[str, PreemptionPlanSpec]
) -> Sequence[PreemptionPlan]:
    """The plans, with the names that their namespaces may not read. `whole`: by the name of ClusterPreemptionPlans."""
    for plan in plans:
        name = whole_plan_name(plan.metadata.namespace, plan.metadata.name)
        plan.spec = whole.get(name, plan.spec)
    return plans
