"""Asks the engines about two pictures, and compares what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from answers.changes import Changes
from answers.errors import InputError, UnreadError
from answers.picture import Picture
from api.fates import Change, Fate, changes, still_unknown
from api.progress import Progress, silent
from nodes.answers.fates import node_fates
from quota.answers.fates import quota_fates
from quota.search.decision import Options
from quota.state.amounts import QuotaError

__all__ = ["DiffAnswer", "diff"]


@dataclass(frozen=True, slots=True)
class DiffAnswer:
    """Whose fate changes."""

    changed: Sequence[tuple[str, str, bool]]
    """The changed objects: kind, [NAMESPACE/]NAME, and whether the cluster has it already."""
    changes: Sequence[Change]
    unknown: Sequence[Change]
    """Whose fate is not known now, nor then: by what is modelled, it is the same."""
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
            "unknown": [
                {
                    "plane": each.known.plane,
                    "kind": each.known.kind,
                    "names": list(each.names),
                    "sentence": each.known.sentence,
                }
                for each in self.unknown
            ],
            "unchanged": self.same,
            "createdAnew": self.renewed,
        }


def diff(
    now: Picture, then: Picture, changed: Changes, options: Options, progress: Progress = silent
) -> DiffAnswer:
    """What becomes of all that waits and runs, as the planes say that look at the changed objects.

    Raises InputError, and UnreadError if objects that decide could not be read.
    """
    before, after = dict[str, Fate](), dict[str, Fate]()
    for picture, fates in ((now, before), (then, after)):
        if changed.nodes:
            _demand(now.without_nodes)
            fates |= node_fates(picture.nodes.snapshot, progress)
        if changed.quota:
            _demand(now.without_quota)
            fates |= _quota(picture, options, progress)
    found = changes(before, after)
    unknown = still_unknown(before, after)
    differ = sum(len(each.names) for each in (*found, *unknown))
    return DiffAnswer(tuple(changed.things), found, unknown, _objects(after) - differ, changed.renewed)


def _demand(unread: str) -> None:
    if unread:
        raise UnreadError(unread)


def _quota(picture: Picture, options: Options, progress: Progress) -> dict[str, Fate]:
    try:
        return quota_fates(picture.quota, picture.moment, options, picture.namespaces, progress)
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
        "podSets": [each.plain() for each in fate.pod_sets],
    }
