"""Gangs in pieces, and what Enforce would do with them. The rule is `controllers.gangs.lifecycle.partial`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from api.core import Pod
from api.foreign_owners import OwningJob
from api.groups import INITIALLY_SCHEDULED, PodGroup
from api.meta import Condition, controller_reference
from controllers.gangs.lifecycle.partial import Keep, Pieces, Release, resolve
from controllers.gangs.lifecycle.settings import PiecesRule
from controllers.gangs.planning.pieces_facts import (
    WAITS,
    budget_in_the_way,
    is_leaving,
    member_of,
    remaining,
    seconds_of,
)
from nodes.answers.failing_jobs import why_it_fails
from nodes.groups.keys import is_foreign, short_name
from nodes.groups.registry import GroupKey
from nodes.state.groups.budgets import BudgetTable

__all__ = ["Fate", "InPieces", "in_pieces"]

Fate = Literal["Completes", "Release", "Keep"]
"""Completes: it gets room for its other members. Release: its bound members are evicted. Keep: they stay."""


class InPieces(NamedTuple):
    """A gang with some members bound, but fewer than minCount, that never ran whole."""

    namespace: str
    name: str
    bound: int
    min_count: int
    fate: Fate
    after_seconds: float | None
    """After how long its members are released; None if they are not."""
    reason: str
    """Why they stay; empty if they do not."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "namespace": self.namespace,
            "name": self.name,
            "bound": self.bound,
            "minCount": self.min_count,
            "fate": self.fate,
            "afterSeconds": self.after_seconds,
            "reason": self.reason or None,
        }


def in_pieces(
    groups: Mapping[GroupKey, tuple[PodGroup, Sequence[Pod]]],
    completed: Collection[GroupKey],
    budgets: BudgetTable,
    jobs: Mapping[tuple[str, str], OwningJob],
    rule: PiecesRule,
    now: float,
) -> Iterator[InPieces]:
    """What becomes of those that are in pieces. `groups`: gangs, each with its pods. `completed`: those that get room.

    `now`, in seconds since the epoch, is when Enforce begins: a gang in pieces counts from then on. It is supposed that
    their schedulers call reprieve.
    """
    for key, (group, pods) in sorted(groups.items()):
        found = _pieces(key, group, pods, budgets, rule, now)
        if found is None or not 0 < len(found.bound) < found.minimum or found.has_run:
            continue
        fate, why = _fate(key, replace(found, limit=_fails(pods, jobs)), completed)
        after = rule.seconds if fate == "Release" else None
        yield InPieces(key[0], short_name(key[1]), len(found.bound), found.minimum, fate, after, why)


def _fate(key: GroupKey, pieces: Pieces, completed: Collection[GroupKey]) -> tuple[Fate, str]:
    if key in completed:
        return "Completes", ""
    if is_foreign(key[1]):
        return "Keep", "it is no PodGroup of reprieve"
    match resolve(pieces):
        case Release():
            return "Release", ""
        case Keep(reason):
            return "Keep", reason
        case _:
            return "Keep", ""


def _pieces(
    key: GroupKey, group: PodGroup, pods: Sequence[Pod], budgets: BudgetTable, rule: PiecesRule, now: float
) -> Pieces | None:
    """What is known of the group, once it has been in pieces for as long as it may; None if it is no gang."""
    policy = group.spec.scheduling_policy.gang
    if policy is None:
        return None
    there = remaining(pods)
    conditions = (group.status.conditions if group.status is not None else None) or ()
    bound = [pod for pod in there if pod.spec.node_name]
    return Pieces(
        minimum=policy.min_count,
        members=tuple(map(member_of, there)),
        ended=sum(is_leaving(pod) or pod.status.phase == "Failed" for pod in pods),
        succeeded=sum(pod.status.phase == "Succeeded" for pod in pods),
        has_run=any((each.type, each.status) == (INITIALLY_SCHEDULED, "True") for each in conditions),
        held_since=_held_since(conditions),
        known_since=now,
        seconds=rule.seconds,
        patience=rule.seconds,
        setting=rule.setting,
        budget=budget_in_the_way(budgets, key[0], bound),
    )


def _held_since(conditions: Iterable[Condition]) -> float | None:
    said = (
        seconds_of(each.last_transition_time)
        for each in conditions
        if each.type in WAITS and each.status == "False"
    )
    return min((at for at in said if at is not None), default=None)


def _fails(pods: Sequence[Pod], jobs: Mapping[tuple[str, str], OwningJob]) -> str:
    """The first Job that would count the eviction of its bound pods as its failure, and why; empty if none would."""
    counts = Counter[tuple[str, str]]()
    for pod in remaining(pods):
        owner = controller_reference(pod.metadata)
        if pod.spec.node_name and owner is not None and owner.kind == "Job":
            counts[pod.metadata.namespace, owner.name] += 1
    for name, count in sorted(counts.items()):
        if (job := jobs.get(name)) is not None and (why := why_it_fails(job, count)):
            return f"Job {name[1]}: {why}"
    return ""
