"""Which pods get their quota together: the Workloads that Kueue or reprieve would make of an object.

Source: pkg/controller/jobs of Kueue. The pods of a Deployment get quota one by one, the replicas of a LeaderWorkerSet
replica by replica, and pods that name one pod group together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from answers.what_if.units import Unit
from api.integration import QUEUE_NAME_LABEL
from api.meta import ObjectMeta
from nodes.groups.kinds.kind import Queueing
from nodes.groups.made_pods import MadePods

__all__ = ["Claim", "claims_of", "is_resumed"]


@dataclass(frozen=True, slots=True)
class Claim:
    """Pods that get their quota together, or not at all."""

    of: Unit
    """The object that makes them."""
    kind: str
    """Of the owner of their Workload."""
    meta: ObjectMeta
    """The owner's, with the label that names the queue."""
    sets: Sequence[MadePods]
    alike: str = ""
    """What claims have in common that differ only in names; empty if there are no others."""


def is_resumed(unit: Unit) -> bool:
    """Whether an object that is held makes its pods when it gets its quota."""
    return bool(unit.queue) and unit.held is not None and unit.held.resumed


def claims_of(unit: Unit) -> Iterator[Claim]:
    """The claims of the object, in order; none if no label names a queue.

    A gang that is in no queue itself has those of the objects that make its members.
    """
    rule = unit.row.queueing if unit.row is not None else Queueing.WHOLE
    if unit.kind == "Workload" or (unit.queue and rule is Queueing.WHOLE):
        several = unit.row is None and unit.kind != "Workload"
        yield Claim(unit, unit.kind, unit.meta, _by_role(unit.sets) if several else unit.sets)
    elif unit.queue and rule is Queueing.COPIES:
        for copy in sorted({each.copy for each in unit.sets}):
            sets = [each for each in unit.sets if each.copy == copy]
            yield Claim(unit, unit.kind, _named(unit.meta, f"{unit.meta.name}-{copy}"), sets, unit.name)
    elif unit.gang is None:
        for each in unit.sets:
            if labels := _labels(unit, each):
                yield from _one_by_one(unit, each, labels)
    else:
        for maker in unit.makers:
            yield from claims_of(maker)


def _by_role(sets: Sequence[MadePods]) -> list[MadePods]:
    """Pods of several objects, with a pod set for those that ask for the same."""
    roles, found = dict[bytes, str](), list[MadePods]()
    for each in sets:
        role = roles.setdefault(msgspec.json.encode(each.pod.spec, order="sorted"), f"role-{len(roles)}")
        found.append(replace(each, pod_set=role))
    return found


def _labels(unit: Unit, pods: MadePods) -> dict[str, str]:
    """Those of each of the pods, if one names a queue. A controller adds the labels of its object that do."""
    own = {**(pods.pod.metadata.labels or {})}
    if unit.queue:
        own |= {
            name: said
            for name, said in (unit.meta.labels or {}).items()
            if name.startswith("kueue.x-k8s.io/")
        }
    return own if own.get(QUEUE_NAME_LABEL) else {}


def _one_by_one(unit: Unit, pods: MadePods, labels: dict[str, str]) -> Iterator[Claim]:
    for number in range(pods.count):
        name = pods.name if unit.kind == "Pod" else f"{pods.name}-{number}"
        meta = msgspec.structs.replace(_named(unit.meta, name), labels=labels)
        yield Claim(unit, "Pod", meta, [replace(pods, count=1)], f"{unit.name}/{pods.pod_set}/{pods.copy}")


def _named(meta: ObjectMeta, name: str) -> ObjectMeta:
    return msgspec.structs.replace(
        meta, name=name, uid=meta.uid if name == meta.name else f"{meta.uid}/{name}"
    )
