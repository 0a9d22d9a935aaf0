"""What the rule about gangs in pieces asks of one gang. It is read at that moment, from the mirror and the API server.

The rule is `controllers.gangs.lifecycle.partial`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from api.clock import Clock
from api.core import Pod
from api.groups import INITIALLY_SCHEDULED
from api.meta import Condition
from controllers.gangs.gangs import Gang
from controllers.gangs.lifecycle.job_limits import why_job_stays
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.lifecycle.partial import Pieces
from controllers.gangs.lifecycle.settings import PiecesRule
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.mirror.mirror import Mirror
from controllers.gangs.planning.pieces_facts import (
    WAITS,
    budget_in_the_way,
    index_failures,
    is_leaving,
    member_of,
    remaining,
    seconds_of,
)
from controllers.gangs.planning.reading import Reader, ReadGroup
from controllers.gangs.scheduler.callers import Callers
from controllers.gangs.writing.stored import StoredPlans
from kube.conditions import field_manager
from nodes.state.pods.pod_facts import controller_of

__all__ = ["Found", "Inquiry"]


class Found(NamedTuple):
    """What there is of a gang in pieces."""

    pieces: Pieces
    bound: list[Pod]
    """Its members that are bound, and neither ended nor terminating."""


class Inquiry:
    """Made for one term: what was before is not known of every gang."""

    def __init__(
        self,
        reader: Reader,
        mirror: Mirror,
        stored: StoredPlans,
        evidence: Evidence,
        callers: Callers,
        rule: PiecesRule,
        clock: Clock,
    ) -> None:
        self._reader, self._roster, self._tables = reader, mirror.roster, mirror.tables
        self._pauses = mirror.pauses
        self._stored, self._evidence, self._callers = stored, evidence, callers
        self._rule, self._clock, self._began = rule, clock, clock.wall()

    async def about(self, gang: Gang) -> Found | None:
        """What there is of the gang; None if it is gone, or another one. Raises ApiError."""
        group, pods = await self._reader.group(gang.key), await self._reader.pods(gang.key)
        if group is None or not self._is_current(gang, group):
            return None
        bound = [pod for pod in remaining(pods) if pod.spec.node_name]
        limit = await self._why_owners_stay(bound)
        return Found(self._pieces(gang, group, pods, limit), bound)

    def _is_current(self, gang: Gang, group: ReadGroup) -> bool:
        there = self._roster.group(gang.key)
        return there is not None and there.metadata.uid == group.metadata.uid

    def _pieces(self, gang: Gang, group: ReadGroup, pods: list[Pod], limit: str) -> Pieces:
        now, since = self._clock.monotonic(), gang.life.partial_since
        policy, plan = group.spec.scheduling_policy.gang, gang.life.plan
        there = remaining(pods)
        bound = [pod for pod in there if pod.spec.node_name]
        released = self._released(gang.key, group.metadata.uid)
        return Pieces(
            minimum=policy.min_count if policy is not None else 0,
            members=tuple(member_of(pod) for pod in there),
            ended=sum(is_leaving(pod) or pod.status.phase == "Failed" for pod in pods),
            succeeded=sum(pod.status.phase == "Succeeded" for pod in pods),
            has_run=gang.life.has_run or _has_run(group),
            held_since=_held_since(group),
            known_since=self._began,
            makes_room=plan is not None and plan.makes_room,
            seconds=now - since if since is not None else 0.0,
            patience=self._rule.seconds,
            setting=self._rule.setting,
            released=self._clock.wall() - released if released else None,
            budget=budget_in_the_way(self._tables.budgets, gang.key[0], bound),
            limit=limit,
            called=self._has_called(gang.key, there),
            paused=self._pauses.why(gang.key[0]),
        )

    def _released(self, key: GroupKey, uid: str) -> float:
        """When members were last released, in seconds since the epoch; 0 if they never were."""
        plans = self._stored.of(("PodGroup", *key))
        return max((plan.evicting for plan in plans if plan.releases and plan.preemptor == uid), default=0.0)

    async def _why_owners_stay(self, bound: list[Pod]) -> str:
        failures: dict[tuple[str, str, str], list[int]] = {}
        for pod in bound:
            owner = controller_of(pod)
            if owner is not None and owner.kind == "Job" and owner.api_version.startswith("batch/"):
                known = (pod.metadata.namespace, owner.name, owner.uid)
                failures.setdefault(known, []).append(index_failures(pod))
        for (namespace, name, uid), counts in sorted(failures.items()):
            job = await self._reader.job(namespace, name)
            if job is None or job.metadata.uid != uid:
                return f"Job {name} is gone"
            if why := why_job_stays(job, counts):
                return why
        return ""

    def _has_called(self, key: GroupKey, there: list[Pod]) -> bool:
        schedulers = {pod.spec.scheduler_name for pod in there}
        return all(map(self._callers.has_called, schedulers)) or self._evidence.is_presented(key)


def _has_run(group: ReadGroup) -> bool:
    """Whether anybody has written that it ran whole."""
    return any((each.type, each.status) == (INITIALLY_SCHEDULED, "True") for each in _conditions(group))


def _conditions(group: ReadGroup) -> Sequence[Condition]:
    return (group.status.conditions if group.status is not None else None) or ()


def _held_since(group: ReadGroup) -> float | None:
    """Since when the PodGroup says that the gang waits, if we wrote that."""
    said = (
        seconds_of(each.last_transition_time)
        for each in _conditions(group)
        if each.type in WAITS and each.status == "False" and _is_ours(group, each.type)
    )
    return min((at for at in said if at is not None), default=None)


def _is_ours(group: ReadGroup, type_: str) -> bool:
    """Whether our field manager owns the status of the condition. It is the only one that applies it."""
    field = f'k:{{"type":"{type_}"}}'
    for entry in group.metadata.managed_fields or ():
        if entry.manager != field_manager(type_) or entry.operation != "Apply":
            continue
        conditions = ((entry.fields or {}).get("f:status") or {}).get("f:conditions") or {}
        if "f:status" in (conditions.get(field) or {}):
            return True
    return False
