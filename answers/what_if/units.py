"""What is looked at together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from answers.submission import Submission, Submitted
from api.core import Pod
from api.groups import PodGroup
from api.integration import QUEUE_NAME_LABEL
from api.meta import ObjectMeta
from nodes.answers.picture import NodesPicture
from nodes.groups.keys import is_foreign, is_owned, short_name
from nodes.groups.kinds.kind import Held, Kind, Queueing
from nodes.groups.made_pods import MadePods, Written
from nodes.groups.registry import GroupKey

__all__ = ["Unit", "units_of"]


@dataclass
class Unit:
    """An object, or a gang with all pods of it that are submitted."""

    kind: str
    meta: ObjectMeta
    api_version: str
    row: Kind | None = None
    """What is known of its kind; None for a gang that is no owner's."""
    sets: list[MadePods] = field(default_factory=list)
    gang: PodGroup | None = None
    makers: list[Unit] = field(default_factory=list)
    """The objects that make the members of a gang that is no owner's."""
    written: Written | None = None
    """None for a gang that is no owner's."""
    held: Held | None = None
    """See `Submitted`."""
    priority_class: str = ""
    """See `Submitted`."""
    problem: tuple[str, str] | None = None
    """See `Submitted`."""

    @property
    def name(self) -> str:
        """NAMESPACE/NAME."""
        return f"{self.meta.namespace}/{short_name(self.meta.name)}"

    @property
    def queue(self) -> str:
        """The LocalQueue that its label names; empty if the label counts for nothing, or names none."""
        is_foreigner = self.gang is not None and is_foreign(self.meta.name)
        if is_foreigner or (self.row is not None and self.row.queueing is Queueing.NONE):
            return ""
        return (self.meta.labels or {}).get(QUEUE_NAME_LABEL, "")

    @property
    def pods(self) -> int:
        """How many there are at once."""
        return sum(each.count for each in self.sets if each.after is None or not each.after.gone)


def units_of(nodes: NodesPicture, submission: Submission) -> list[Unit]:
    """The objects first, then the gangs. `nodes`: with the PodGroups and the owners that are submitted."""
    gangs: dict[GroupKey, Unit] = {}
    for form in submission.groups:
        if form.spec.scheduling_policy.gang is not None:
            gangs[form.metadata.namespace, form.metadata.name] = _gang(form)
    units = list[Unit]()
    for each in submission.objects:
        if each.held is not None and not (each.held.resumed and QUEUE_NAME_LABEL in (each.labels or {})):
            units.append(_unit(each, each.sets))
            continue
        forms = [_gang_of(nodes, pods.pod) for pods in each.sets]
        if (whole := _owned(forms)) is not None:
            units.append(_unit(each, each.sets, whole))
            continue
        own = list[MadePods]()
        for pods, gang in zip(each.sets, forms, strict=True):
            # The replicas of an owner in a queue get quota together.
            if gang is None or (is_owned(gang.metadata.name) and QUEUE_NAME_LABEL in (each.labels or {})):
                own.append(pods)
            else:
                key = gang.metadata.namespace, gang.metadata.name
                _join(gangs.setdefault(key, _gang(gang)), each, pods)
        if own or not each.sets or each.kind == "Workload":
            units.append(_unit(each, own))
    return [*units, *gangs.values()]


def _gang_of(nodes: NodesPicture, pod: Pod) -> PodGroup | None:
    """The gang of the pod, as the tables would have it; None if it is in none."""
    key = nodes.owners.unit_of(pod)
    if key is None:
        return None
    known = nodes.owners.form(*key) if is_owned(key[1]) else nodes.group(key)
    return known if known is not None and known.spec.scheduling_policy.gang is not None else None


def _owned(forms: Sequence[PodGroup | None]) -> PodGroup | None:
    """The gang of all pods of an owner. None if they belong to no gang, or to several."""
    first = forms[0] if forms else None
    if first is None or not is_owned(first.metadata.name):
        return None
    names = {each.metadata.name if each is not None else "" for each in forms}
    return first if len(names) == 1 else None


def _gang(group: PodGroup) -> Unit:
    return Unit("PodGroup", group.metadata, group.api_version, gang=group)


def _join(gang: Unit, each: Submitted, pods: MadePods) -> None:
    """These pods of the object are members of the gang."""
    gang.sets.append(pods)
    last = gang.makers[-1] if gang.makers else None
    if last is not None and last.written is each.written:
        last.sets.append(pods)
    else:
        gang.makers.append(_unit(each, [pods]))


def _unit(each: Submitted, sets: Sequence[MadePods], gang: PodGroup | None = None) -> Unit:
    its = each.written
    return Unit(
        kind=each.kind,
        meta=msgspec.structs.replace(its.metadata, labels=each.labels),
        api_version=its.api_version,
        row=each.row,
        sets=[*sets],
        gang=gang,
        written=its,
        held=each.held,
        priority_class=each.priority_class,
        problem=each.problem,
    )
