"""Asks the engines about both worlds, and compares what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from answers.errors import InputError
from answers.reading.planes import QUOTA_KINDS, Planes
from api.fates import Change, Fate, changes
from cli.common.cluster import ClusterError
from cli.diff.objects import Changed, Worlds
from nodes.answers.fates import node_fates
from quota.answers.fates import quota_fates
from quota.answers.picture import QuotaPicture
from quota.search.decision import Options
from quota.state.amounts import QuotaError

__all__ = ["Answer", "compared"]


@dataclass(frozen=True, slots=True)
class Answer:
    """Whose fate changes."""

    changed: list[tuple[str, str, bool]]
    """The objects in the files: kind, [NAMESPACE/]NAME, and whether the cluster has it already."""
    changes: list[Change]
    same: int
    """How many keep their fate: running units, gangs and pods that wait, and Workloads."""
    renewed: int
    """How many objects count as created anew, because their class changes."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "changed": [{"kind": kind, "name": name, "exists": there} for kind, name, there in self.changed],
            "fates": [
                {
                    "plane": each.known.plane,
                    "kind": each.known.kind,
                    "names": list(each.names),
                    "now": _plain(each.now),
                    "then": _plain(each.then),
                }
                for each in self.changes
            ],
            "unchanged": self.same,
            "createdAnew": self.renewed,
        }


def compared(worlds: Worlds, changed: Changed, options: Options) -> Answer:
    """The answer, of the planes that look at the changed objects. Raises InputError and ClusterError."""
    now, then = dict[str, Fate](), dict[str, Fate]()
    for world, fates in ((worlds.now, now), (worlds.then, then)):
        if changed.nodes:
            _demand(worlds.now.unread())
            fates |= node_fates(world.snapshot)
        if changed.quota:
            _demand(worlds.now.unread(QUOTA_KINDS))
            fates |= _quota(world, options)
    found = changes(now, then)
    differ = sum(len(each.names) for each in found)
    return Answer(worlds.changes(), found, _objects(then) - differ, worlds.renewed)


def _demand(unread: str) -> None:
    if unread:
        raise ClusterError(unread)


def _quota(world: Planes, options: Options) -> dict[str, Fate]:
    try:
        return quota_fates(QuotaPicture(world.quota), world.now, options, world.namespaces)
    except QuotaError as error:
        raise InputError(str(error)) from None


def _objects(fates: dict[str, Fate]) -> int:
    """How many objects these are. The pods of a unit are one."""
    return len({(each.plane, each.kind, each.name) for each in fates.values()})


def _plain(fate: Fate | None) -> dict[str, Any] | None:
    if fate is None:
        return None
    return {
        "state": fate.state,
        "reason": fate.reason,
        "sentence": fate.sentence,
        "because": list(fate.because),
    }
