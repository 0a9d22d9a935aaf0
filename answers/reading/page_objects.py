"""Reads what the page shows of files: what `why` needs, and what `report` and `doctor` look at besides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from answers.doctor.kinds import Deployment, SeenPod
from answers.doctor.seen import Seen
from answers.reading.documents import Kind
from answers.reading.posted import SubmittableObjects
from answers.reading.published import LEASE, PublishedLease
from answers.reading.seen import PartlySeen
from answers.reports.decisions import Account, decisions_of
from api.foreign_owners import OwningStatefulSet, ScaledDeployment, ScaleSpec
from api.groups import API_VERSION
from api.lease import Lease
from api.owner_annotations import ByOwner
from api.plans import PreemptionPlan
from api.reports import PreemptionReport
from nodes.answers.creators import StatefulSet

__all__ = ["PageObjects"]

POD: Final = ("v1", "Pod")
DEPLOYMENT: Final = ("apps/v1", "Deployment")
REPORT: Final = (API_VERSION, "PreemptionReport")


class PageObjects(SubmittableObjects):
    """Every object is read once, in the form of whoever needs most of it."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **PartlySeen.kinds,
        **SubmittableObjects.kinds,
        POD: SubmittableObjects.kinds[POD]._replace(struct=SeenPod),
        DEPLOYMENT: SubmittableObjects.kinds[DEPLOYMENT]._replace(struct=Deployment),
        LEASE: SubmittableObjects.kinds[LEASE]._replace(struct=Lease),
        REPORT: Kind(PreemptionReport, False),
    }

    def __init__(self, now: int, by_owner: ByOwner | None = None) -> None:
        """`now`, `by_owner`: see `Planes`."""
        super().__init__(now, by_owner)
        self._seen, self._reports = PartlySeen(), list[PreemptionReport]()
        self._plans = list[PreemptionPlan]()

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """See `Reader`. Only an answer that needs the kind names what is missing."""
        if kind in PartlySeen.kinds:
            self._seen.do_without(kind, problem)
        return super().do_without(kind, problem) if kind in SubmittableObjects.kinds else True

    def keep(self, thing: Any, place: str) -> None:
        """See `SubmittableObjects`."""
        if isinstance(thing, SeenPod):
            self.keep_pod(thing, place)
            return
        if isinstance(thing, PreemptionReport):
            self._reports.append(thing)
            return
        if type(thing) in IN_PART:
            self._seen.keep(thing, place)
        if type(thing) in FOR_DOCTOR:
            return
        match thing:
            case StatefulSet():
                scaled = ScaleSpec(thing.spec.replicas if thing.spec is not None else None)
                self._seen.keep(OwningStatefulSet(metadata=thing.metadata, spec=scaled), place)
                super().keep(thing, place)
            case Deployment():
                super().keep(
                    ScaledDeployment(metadata=thing.metadata, spec=ScaleSpec(thing.spec.replicas)), place
                )
            case Lease():
                super().keep(PublishedLease(metadata=thing.metadata), place)
            case PreemptionPlan():
                super().keep(thing, place)
                self._plans.append(thing)
            case _:
                super().keep(thing, place)

    def account(self) -> Account:
        """What reports of preemption are made from. Call it after the last object was read."""
        return Account(tuple(decisions_of(self._plans)), tuple(self._reports))

    def seen(self) -> Seen:
        """What the checks of `doctor` look at. Call it after the last object was read."""
        return self._seen.seen([pod for pod in self.whole_pods() if isinstance(pod, SeenPod)])


IN_PART: Final = frozenset(kind.struct for kind in PartlySeen.kinds.values()) - {OwningStatefulSet}
FOR_DOCTOR: Final = frozenset(
    kind.struct for key, kind in PartlySeen.kinds.items() if key not in SubmittableObjects.kinds
)
"""What nobody else reads."""
