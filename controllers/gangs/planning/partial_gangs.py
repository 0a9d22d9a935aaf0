"""Gangs in pieces: finds those that have waited long enough, and finds out whether their bound members go.

The rule is `controllers.gangs.lifecycle.partial`. What it asks is read at that moment, and the reducer hears the
answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from api.backoff import Backoff
from api.clock import Clock
from api.core import Pod
from api.groups import INITIALLY_SCHEDULED, SCHEDULED
from api.jobs import INDEX_FAILURES
from api.meta import Condition
from api.plan_names import plan_name
from api.plans import PreemptionPlanSpec, Preemptor, Victim, VictimPod
from api.times import parse_rfc3339
from controllers.gangs.gangs import Gang, Gangs
from controllers.gangs.lifecycle.job_limits import why_job_stays
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.lifecycle.observations import ToKeep, ToRelease
from controllers.gangs.lifecycle.partial import Keep, Member, Pieces, Release, resolve
from controllers.gangs.lifecycle.settings import PartialGangs as Setting
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.planning.reading import Reader, ReadGroup
from controllers.gangs.writing.stored import StoredPlans
from kube.client import ApiError
from kube.conditions import field_manager
from nodes.groups.keys import is_foreign
from nodes.state.pods.pod_facts import controller_of
from nodes.state.pods.pods import ENDED
from nodes.state.tables import Tables

__all__ = ["PartialGangs"]

log = structlog.get_logger(__name__)

WAITS: Final = (INITIALLY_SCHEDULED, SCHEDULED)
"""Conditions that say, if they are False, that the gang waits. The second one comes first: as soon as it gathers."""
AGAIN: Final = Backoff(5.0, 300.0, jitter=0.0)
"""How long a gang whose members stay waits for the next look. A look reads from the API server."""


class PartialGangs:
    """Made for one term. What it knows of looks ends with it."""

    def __init__(
        self,
        reader: Reader,
        gangs: Gangs,
        roster: Roster,
        tables: Tables,
        stored: StoredPlans,
        evidence: Evidence,
        setting: Setting,
        patience: float,
        clock: Clock,
        ask: Callable[[Gang, Sequence[str]], None],
    ) -> None:
        """`setting`: what becomes of such gangs. `patience`: how long they may take to complete, in seconds.
        `ask`: have the scheduler try these members (UIDs) of a gang."""
        self._reader, self._gangs, self._roster, self._tables = reader, gangs, roster, tables
        self._stored, self._evidence, self._setting, self._patience = stored, evidence, setting, patience
        self._clock, self._ask = clock, ask
        self._began = clock.wall()
        self._looks: dict[GroupKey, tuple[int, float]] = {}
        """By gang in pieces: how often it was looked at, and when it is looked at again (monotonic seconds)."""

    def __len__(self) -> int:
        """Gangs in pieces."""
        return len(self._gangs.partial)

    def due(self) -> list[Gang]:
        """The gangs in pieces that are to be looked at now, in the order of the queue."""
        now, partial = self._clock.monotonic(), self._gangs.partial
        self._looks = {key: look for key, look in self._looks.items() if key in partial}
        found = [gang for key in partial if (gang := self._gangs.get(key)) and self._is_due(gang, now)]
        for gang in found:
            looks = self._looks.get(gang.key, (0, 0.0))[0] + 1
            self._looks[gang.key] = looks, now + AGAIN.delay(looks)
        return sorted(found, key=lambda gang: self._roster.rank(gang.key))

    def _is_due(self, gang: Gang, now: float) -> bool:
        since = gang.life.partial_since
        waited = since is not None and now >= since + self._patience
        return waited and now >= self._looks.get(gang.key, (0, 0.0))[1]

    async def resolve(self, gang: Gang) -> None:
        """Look at the gang. Observed as ToRelease or ToKeep, or not at all."""
        if is_foreign(gang.key[1]):
            self._gangs.observe(gang, ToKeep("it is no PodGroup of reprieve"))
            return
        try:
            group, pods = await self._reader.group(gang.key), await self._reader.pods(gang.key)
            if group is None or not self._is_current(gang, group):
                return
            there = _remaining(pods)
            bound = [pod for pod in there if pod.spec.node_name]
            limit = await self._why_owners_stay(bound)
        except ApiError as error:
            log.warning("a gang in pieces is looked at later", group=gang.key, error=str(error))
            return
        self._observe(gang, self._pieces(gang, group, pods, limit), bound)

    def _observe(self, gang: Gang, pieces: Pieces, bound: list[Pod]) -> None:
        if not pieces.called:
            self._ask(gang, [each.uid for each in self._roster.members(gang.key) if each.node is None])
        verdict = resolve(pieces)
        if isinstance(verdict, Keep):
            self._gangs.observe(gang, ToKeep(verdict.reason))
        spec = self._plan(gang.key, pieces.minimum, bound) if isinstance(verdict, Release) else None
        if spec is not None:
            grace = self._roster.grace_seconds(pod.metadata.uid for pod in bound)
            self._gangs.observe(gang, ToRelease(plan_name(spec), spec, grace))

    def _is_current(self, gang: Gang, group: ReadGroup) -> bool:
        there = self._roster.group(gang.key)
        return there is not None and there.metadata.uid == group.metadata.uid

    # ---- what the rule asks

    def _pieces(self, gang: Gang, group: ReadGroup, pods: list[Pod], limit: str) -> Pieces:
        now, since = self._clock.monotonic(), gang.life.partial_since
        policy, plan = group.spec.scheduling_policy.gang, gang.life.plan
        there = _remaining(pods)
        bound = [pod for pod in there if pod.spec.node_name]
        released = self._released(gang.key, group.metadata.uid)
        return Pieces(
            minimum=policy.min_count if policy is not None else 0,
            members=tuple(_member(pod) for pod in there),
            ended=sum(_is_leaving(pod) or pod.status.phase == "Failed" for pod in pods),
            succeeded=sum(pod.status.phase == "Succeeded" for pod in pods),
            has_run=gang.life.has_run or _has_run(group),
            held_since=_held_since(group),
            known_since=self._began,
            phase=plan.phase if plan is not None else None,
            seconds=now - since if since is not None else 0.0,
            patience=self._patience,
            setting=self._setting,
            released=self._clock.wall() - released if released else None,
            budget=self._budget(gang.key[0], bound),
            limit=limit,
            called=self._has_called(gang.key, there),
        )

    def _released(self, key: GroupKey, uid: str) -> float:
        """When members were last released, in seconds since the epoch; 0 if they never were."""
        plans = self._stored.of(("PodGroup", *key))
        return max((plan.evicting for plan in plans if plan.releases and plan.preemptor == uid), default=0.0)

    def _budget(self, namespace: str, bound: list[Pod]) -> str:
        """The first budget that does not allow that all of them go; empty if all budgets do."""
        budgets = self._tables.budgets
        counts = Counter(
            row for pod in bound for row in budgets.selecting(namespace, pod.metadata.labels or {})
        )
        rows = ((budgets.rows[row], count) for row, count in counts.items())
        return min((row.name for row, count in rows if row is not None and count > row.allowed), default="")

    async def _why_owners_stay(self, bound: list[Pod]) -> str:
        failures: dict[tuple[str, str, str], list[int]] = {}
        for pod in bound:
            owner = controller_of(pod)
            if owner is not None and owner.kind == "Job" and owner.api_version.startswith("batch/"):
                known = (pod.metadata.namespace, owner.name, owner.uid)
                failures.setdefault(known, []).append(_index_failures(pod))
        for (namespace, name, uid), counts in sorted(failures.items()):
            job = await self._reader.job(namespace, name)
            if job is None or job.metadata.uid != uid:
                return f"Job {name} is gone"
            if why := why_job_stays(job, counts):
                return why
        return ""

    def _has_called(self, key: GroupKey, there: list[Pod]) -> bool:
        schedulers = {pod.spec.scheduler_name for pod in there}
        return all(map(self._evidence.has_called, schedulers)) or self._evidence.is_presented(key)

    # ---- the plan

    def _plan(self, key: GroupKey, minimum: int, bound: list[Pod]) -> PreemptionPlanSpec | None:
        """The decision that these members go, as one unit; None if the group has no known priority."""
        group, priority = self._roster.group(key), self._roster.group_priority(key)
        if group is None or priority is None:
            return None
        uid = group.metadata.uid
        pods = [
            VictimPod(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid, pod.spec.node_name)
            for pod in sorted(bound, key=lambda pod: pod.metadata.name)
        ]
        return PreemptionPlanSpec(
            preemptor=Preemptor("PodGroup", group.api_version, *key, uid, priority),
            outcome="Releases",
            reason=f"PodGroup {'/'.join(key)} never ran whole, and {len(pods)} of {minimum} members are bound: "
            "they are released, so that the gang waits as a whole",
            victims=[Victim("PodGroup", *key, uid, priority, False, pods)],
        )


def _remaining(pods: Sequence[Pod]) -> list[Pod]:
    """Those that have neither ended nor begun to terminate."""
    return [pod for pod in pods if not (pod.metadata.deletion_timestamp or _has_ended(pod))]


def _has_ended(pod: Pod) -> bool:
    return pod.status.phase in ENDED


def _is_leaving(pod: Pod) -> bool:
    """Whether the pod was bound and terminates."""
    return bool(pod.metadata.deletion_timestamp and pod.spec.node_name) and not _has_ended(pod)


def _index_failures(pod: Pod) -> int:
    text = (pod.metadata.annotations or {}).get(INDEX_FAILURES, "0")
    return int(text) if text.isdecimal() else 0


def _member(pod: Pod) -> Member:
    created = _seconds(pod.metadata.creation_timestamp) or 0.0
    scheduled = next((each for each in pod.status.conditions or () if each.type == "PodScheduled"), None)
    bound = _seconds(scheduled.last_transition_time) if scheduled is not None else None
    when = (bound or created) if pod.spec.node_name else None
    return Member(pod.metadata.name, created, when, controller_of(pod) is not None)


def _seconds(text: str | None) -> float | None:
    try:
        return parse_rfc3339(text) if text else None
    except ValueError:
        return None


def _has_run(group: ReadGroup) -> bool:
    """Whether anybody has written that it ran whole."""
    return any((each.type, each.status) == (INITIALLY_SCHEDULED, "True") for each in _conditions(group))


def _conditions(group: ReadGroup) -> Sequence[Condition]:
    return (group.status.conditions if group.status is not None else None) or ()


def _held_since(group: ReadGroup) -> float | None:
    """Since when the PodGroup says that the gang waits, if we wrote that."""
    said = (
        _seconds(each.last_transition_time)
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
