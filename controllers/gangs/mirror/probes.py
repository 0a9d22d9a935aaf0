"""What the mirror says about probes: which members are alike, and whether those to be tried have lost our gate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from controllers.gangs.keys import GroupKey
from controllers.gangs.lifecycle.probing import Alike, Probing, to_open
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.roster import Roster
from nodes.state.columns.flags import NEVER

__all__ = ["NUMBERS", "Kind", "Probes", "kind_of"]

NUMBERS: Final = frozenset(
    {
        "batch.kubernetes.io/job-completion-index",
        "apps.kubernetes.io/pod-index",
        "statefulset.kubernetes.io/pod-name",
        "leaderworkerset.sigs.k8s.io/worker-index",
        "training.kubeflow.org/replica-index",
    }
)
"""Labels in which a controller writes the number of a pod: no two pods have the same. Filters read labels through
selectors only, and the search tells members apart that a selector tells apart."""


class Kind(NamedTuple):
    """Equal for members of one shape that no scheduler should tell apart."""

    pod_class: bytes
    labels: frozenset[tuple[str, str]]
    """All but NUMBERS."""
    priority: int
    """Its own, by which the scheduler goes."""
    scheduler: str
    is_never: bool
    """Its preemptionPolicy is Never."""


def kind_of(roster: Roster, uid: str) -> Kind | None:
    """The kind of a pod that waits for a node; None if it does not."""
    view = roster.candidate(uid)
    if view is None:
        return None
    is_never = bool(view.flags & NEVER)
    labels = frozenset(each for each in view.labels.items() if each[0] not in NUMBERS)
    return Kind(view.pod_class.key, labels, view.priority, view.scheduler, is_never)


class Probes:
    """Answers from the mirror as it is."""

    def __init__(self, gated: GatedPods, roster: Roster) -> None:
        self.gated, self._roster = gated, roster

    def by_kind(self, shapes: Iterable[Sequence[str]]) -> Alike:
        """The members (UIDs) of these shapes by kind. Members without an equal are left out."""
        found: dict[tuple[int, Kind], list[str]] = {}
        for number, members in enumerate(shapes):
            for uid in members:
                if (kind := kind_of(self._roster, uid)) is not None:
                    found.setdefault((number, kind), []).append(uid)
        return tuple(tuple(members) for members in found.values() if len(members) > 1)

    def to_open(self, group: GroupKey, probing: Probing) -> set[str]:
        """The members (UIDs) of the group whose gate is to be removed in this round."""
        return to_open(probing, self.gated, self._roster.gang_members(group).unbound)

    def may_be_tried(self, group: GroupKey, probing: Probing | None) -> bool:
        """Whether the members of this round have no gate, and the gates of the others can be removed later."""
        if probing is None or not self.gated.has(group):
            return True
        planned = {*probing.others, *(uid for members in probing.alike for uid in members)}
        return not (self.gated.any_shut(planned) or self.to_open(group, probing))
