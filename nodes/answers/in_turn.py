"""The decisions for gangs that wait, one after the other as the planner makes them: each finds the room promised that
those before it would hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from api.plans import PreemptionPlanSpec
from api.progress import Progress, going_through, silent
from nodes.answers.group_counts import GroupCounts
from nodes.answers.picture import room_of
from nodes.answers.waiting import Searches, gangs_that_wait
from nodes.groups.registry import GroupKey
from nodes.search.preemptors.preemptor import asks_with
from nodes.state.snapshot import Snapshot

__all__ = ["Turn", "in_turn", "rank"]

LAST: Final = 2**31
"""The rank of a gang whose priority is not known."""


class Turn(NamedTuple):
    """A gang, and the decision for it."""

    key: GroupKey
    decided: PreemptionPlanSpec | str | None
    """The decision, or why there is none. It may be that for a gang that is alike, with its name. None: nobody looked,
    because there were too many searches before."""


def in_turn(
    snapshot: Snapshot,
    wanted: Callable[[GroupKey], bool],
    commits: Callable[[GroupKey, PreemptionPlanSpec], bool],
    most: int,
    progress: Progress = silent,
) -> Iterator[Turn]:
    """The gangs that wait and are wanted, by priority, creation and name.

    `commits`: whether the decision would be carried out, so that it holds room from then on. `most`: the number of
    searches. Gangs that ask for the same share one, as long as no plan comes in between.
    """
    groups = (row for row in gangs_that_wait(snapshot) if wanted(snapshot.group_keys[row]))
    searches, made = Searches(snapshot), 0
    for row in going_through(_ranked(snapshot, groups), "looking at gangs", progress):
        key = snapshot.group_keys[row]
        if made + searches.made >= most:
            yield Turn(key, None)
            continue
        decided = searches.gang(row).decided
        yield Turn(key, decided)
        if not isinstance(decided, str) and commits(key, decided):
            snapshot = replace(snapshot, plans=(*snapshot.plans, room_of(decided)))
            searches, made = Searches(snapshot), made + searches.made


def _ranked(snapshot: Snapshot, groups: Iterable[int]) -> list[int]:
    """In the order in which they may take room."""

    counts = GroupCounts(snapshot)
    return sorted(groups, key=lambda row: rank(counts, row))


def rank(counts: GroupCounts, row: int) -> tuple[int, str, GroupKey]:
    """Sorts gangs in the order in which they may take room: priority, creation, name. `row`: of the gang."""
    snapshot = counts.snapshot
    key, group = snapshot.group_keys[row], snapshot.groups[row]
    created = (group.metadata.creation_timestamp if group is not None else None) or ""
    priority = asks_with(snapshot, row, counts.pods(row))
    return -priority if priority is not None else LAST, created, key
