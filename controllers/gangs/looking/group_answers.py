"""What kube-scheduler says of a group of its own kind, in a condition of the PodGroup."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from api.groups import INITIALLY_SCHEDULED
from controllers.gangs.keys import GroupKey
from controllers.gangs.lifecycle.observations import GroupAnswered
from controllers.gangs.mirror.roster import Roster
from nodes.groups.keys import is_native

__all__ = ["GroupAnswers"]

PREEMPTS: Final = "found a placement for podgroup, preempting"
"""Part of the condition's message if the scheduler preempts for the group. Tried on 1.37.1."""


class GroupAnswers:
    """The condition is not written again while it stays the same."""

    def __init__(self, roster: Roster, report: Callable[[GroupKey, GroupAnswered], object]) -> None:
        self._roster, self._report = roster, report
        self._said: dict[GroupKey, str] = {}

    def follow(self, key: GroupKey) -> None:
        """The group has changed, or a member of it has."""
        if not is_native(key[1]):
            return
        if self._roster.group(key) is None:
            self._said.pop(key, None)
            return
        said = self._of(key)
        before, self._said[key] = self._said.get(key), said
        if said and before is not None and said != before:
            self._report(key, GroupAnswered(PREEMPTS in said))

    def _of(self, key: GroupKey) -> str:
        group = self._roster.group(key)
        conditions = (
            group.status.conditions if group is not None and group.status is not None else None
        ) or ()
        return next((each.message for each in conditions if each.type == INITIALLY_SCHEDULED), "")
