"""Plans: the store of PreemptionPlan objects, written before anything is done, and the plans being carried out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

import structlog

from api.compression import compress, expand
from api.meta import Condition, ObjectMeta
from api.plans import Phase, PreemptionPlan, PreemptionPlanSpec, PreemptionPlanStatus
from api.times import parse_rfc3339, rfc3339_now
from controllers.gangs.metrics import PLANS
from controllers.gangs.writer import Writer
from kube.client import ApiError
from nodes.search.naming import plan_name

__all__ = ["ACTIVE", "ActivePlan", "Member", "PlanNotStoredError", "PlanStore", "StoredPlan"]

log = structlog.get_logger(__name__)

ACTIVE: Final[frozenset[Phase]] = frozenset({"Planned", "Evicting", "Ready"})
"""Phases in which a plan holds a reservation and is resumed after a restart."""

COMPRESS_ABOVE_PODS: Final = 500
"""Victim pods above which the stored object holds its long lists compressed (etcd's limit is 1.5 MiB a request)."""


@dataclass(frozen=True, slots=True)
class Member:
    """A pod that a plan places: one of those that the gang needs to reach minCount."""

    uid: str
    name: str
    node: str
    requests: Mapping[str, int]


@dataclass(slots=True)
class ActivePlan:
    """A plan that is being carried out. `deadline` is of the monotonic clock."""

    name: str
    spec: PreemptionPlanSpec
    phase: Phase
    members: dict[str, Member]
    deadline: float
    evicted: bool = False
    """Every victim's deletion has been asked for."""
    offered: dict[str, tuple[float, str]] = field(default_factory=dict)
    """Members that filter offered their node: when first, and the PodScheduled message they had then."""
    begun: bool = False
    """The plan was checked right before its first eviction; from then on it is carried through."""
    changed: str = ""
    """What that check found."""
    refused: dict[str, str] = field(default_factory=dict)
    """Victims that the API server will not have deleted, by UID, and what it says."""
    turned_down: str = ""
    """Why the scheduler would not have a member where the plan puts it; empty while it has not said so."""
    missed: dict[str, float] = field(default_factory=dict)
    """Members whose node the scheduler did not have to offer although the plan is Ready: since when."""
    next_wake: float = 0.0
    wakes: int = 0

    @property
    def namespace(self) -> str:
        """Of the preemptor, its pods and the plan object."""
        return self.spec.preemptor.namespace

    @property
    def group(self) -> tuple[str, str]:
        """(namespace, name) of the preemptor."""
        return self.spec.preemptor.namespace, self.spec.preemptor.name

    @property
    def victims(self) -> frozenset[str]:
        """UIDs of the pods that go."""
        return frozenset(pod.uid for victim in self.spec.victims for pod in victim.pods)


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A plan that a former process was carrying out; `age` in seconds since its commit, `committed` since the epoch."""

    name: str
    spec: PreemptionPlanSpec
    phase: Phase
    committed: float
    age: float


class PlanNotStoredError(Exception):
    """The API server would not take a plan or its progress: it must not be acted on.

    `for_good`: the object is gone, or may not be written; another try would end the same.
    """

    def __init__(self, namespace: str, name: str, error: ApiError) -> None:
        super().__init__(f"{namespace}/{name}: {error}")
        self.for_good = not error.is_retriable and error.status != HTTPStatus.UNAUTHORIZED


class PlanStore:
    """PreemptionPlan objects: one per decision, in the preemptor's namespace, the last few per preemptor kept."""

    def __init__(self, writer: Writer, *, kept: int) -> None:
        self._writer = writer
        self._kept = kept
        self._status: dict[tuple[str, str], PreemptionPlanStatus] = {}
        self._recent: dict[tuple[str, str, str], list[str]] = {}

    async def load(self) -> list[StoredPlan]:
        """What there is; returns the plans to go on from: each preemptor's newest, if it has not ended."""
        active: dict[tuple[str, str, str], StoredPlan] = {}
        self._status.clear()
        self._recent.clear()
        plans = await self._writer.list_plans()
        for plan in sorted(plans, key=_last_touched):
            meta, preemptor = plan.metadata, plan.spec.preemptor
            owner = (preemptor.kind, meta.namespace, preemptor.name)
            status = plan.status or PreemptionPlanStatus()
            self._status[meta.namespace, meta.name] = status
            self._recent.setdefault(owner, []).append(meta.name)
            active.pop(owner, None)
            if (stored := _to_go_on_from(plan, status)) is not None:
                active[owner] = stored
        return list(active.values())

    async def record(self, spec: PreemptionPlanSpec, phase: Phase, message: str) -> str:
        """Write the decision, or only its status if it is the same as before; returns the object's name."""
        name = plan_name(spec)
        namespace = spec.preemptor.namespace
        plan = PreemptionPlan(
            metadata=ObjectMeta(name=name, namespace=namespace),
            spec=compress(spec, above_pods=COMPRESS_ABOVE_PODS),
        )
        try:
            await self._writer.create_plan(plan)
        except ApiError as error:
            raise PlanNotStoredError(namespace, name, error) from error
        await self._touch(namespace, name, phase, phase, message)
        await self._retire((spec.preemptor.kind, namespace, spec.preemptor.name), name)
        return name

    async def advance(self, plan: ActivePlan, phase: Phase) -> None:
        """The plan enters a phase."""
        await self._touch(plan.namespace, plan.name, phase, phase, "")

    async def end(self, plan: ActivePlan, phase: Phase, reason: str, message: str) -> None:
        """The plan is over."""
        await self._touch(plan.namespace, plan.name, phase, reason, message)

    async def _touch(self, namespace: str, name: str, phase: Phase, reason: str, message: str) -> None:
        before = self._status.get((namespace, name), PreemptionPlanStatus())
        conditions = [condition for condition in before.conditions or [] if condition.type != phase]
        if before.phase == phase and len(conditions) < len(before.conditions or []) and phase not in ACTIVE:
            return
        conditions.append(
            Condition(
                type=phase, status="True", reason=reason, message=message, last_transition_time=rfc3339_now()
            )
        )
        status = PreemptionPlanStatus(phase=phase, conditions=conditions)
        try:
            await self._writer.patch_plan_status(namespace, name, status)
        except ApiError as error:
            raise PlanNotStoredError(namespace, name, error) from error
        self._status[namespace, name] = status
        PLANS.labels(phase).inc()

    async def _retire(self, owner: tuple[str, str, str], newest: str) -> None:
        names = [name for name in self._recent.get(owner, []) if name != newest] + [newest]
        surplus, self._recent[owner] = names[: -self._kept], names[-self._kept :]
        for name in surplus:
            self._status.pop((owner[1], name), None)
            try:
                await self._writer.delete_plan(owner[1], name)
            except ApiError as error:
                log.warning(
                    "an old plan could not be deleted", namespace=owner[1], plan=name, error=str(error)
                )


def _to_go_on_from(plan: PreemptionPlan, status: PreemptionPlanStatus) -> StoredPlan | None:
    """The plan, unless it has ended, was none to act on, or cannot be read."""
    meta, spec = plan.metadata, plan.spec
    acts = spec.outcome == "Fits" or (spec.outcome == "Preempts" and not spec.not_modelled)
    phase = status.phase or "Planned"  # the process died before it wrote the first one
    if not acts or phase not in ACTIVE:
        return None
    if spec.preemptor.namespace != meta.namespace:
        log.warning("a plan for another namespace is none of ours", namespace=meta.namespace, plan=meta.name)
        return None
    # The same decision, made again, is the same object: it counts from when it was committed last.
    commits = [c.last_transition_time for c in status.conditions or [] if c.type == "Planned"]
    committed = parse_rfc3339(max(filter(None, commits), default=meta.creation_timestamp or rfc3339_now()))
    try:
        return StoredPlan(meta.name, expand(spec), phase, committed, age=max(0.0, time.time() - committed))
    except ValueError as error:
        log.warning("a plan cannot be read", namespace=meta.namespace, plan=meta.name, error=str(error))
        return None


def _last_touched(plan: PreemptionPlan) -> tuple[str, str]:
    conditions = (plan.status.conditions if plan.status else None) or []
    times = [condition.last_transition_time or "" for condition in conditions]
    return max([plan.metadata.creation_timestamp or "", *times]), plan.metadata.name
