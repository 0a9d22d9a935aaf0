"""Why a PodGroup waits: from its status and the stored plan where they tell, from the search where they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np

from api.core import Pod
from api.groups import SCHEDULED, SCHEDULING_GATE, PodGroup
from api.meta import Condition
from api.plans import PreemptionPlan, PreemptionPlanSpec
from api.stored_plans import ACTIVE, current_plan, phase_of
from api.waits import Source, Wait
from api.words import counted, listed
from nodes.answers.asking import decide_group
from nodes.answers.plan_words import places_of, said_of, victims_of, would_help
from nodes.answers.verdicts import doubts, plain, verdict
from nodes.groups.forms import may_ask
from nodes.groups.keys import is_foreign, short_name
from nodes.search.preemptors.gangs import minimum_of
from nodes.search.preemptors.preemptor import DecisionError, not_tried
from nodes.state.columns.flags import GATED, TERMINATING
from nodes.state.snapshot import Snapshot

__all__ = ["GATHERS", "why_group_waits"]

GATHERS: Final = ("Gathering", "SchedulingGated")
"""States in which members are missing."""
NO_PLAN: Final = (*GATHERS, "Ungating", "Queued")
"""States in which a decision, if there is one, is about something else."""
NOWHERE: Final = ("Unschedulable", "Blocked", "Observed")
"""Phases of plans that say why nothing is evicted, or what another mode would evict."""
ENDED: Final = ("Succeeded", "Failed")
FROM_PLAN: Final = {
    "Planned": "ConfirmationPending",
    "Confirmed": "FreeingRoom",
    "Evicting": "FreeingRoom",
    "Ready": "Ready",
}
"""The state by the phase of a plan that is carried out."""
ATTEMPT_PENDING: Final = "AttemptPending"
"""The state with a planned one by which kube-scheduler evicts: its own attempt takes the place of a confirmation."""
NO_STATUS: Final = "The PodGroup has no status: nothing shows that reprieve runs here."
CHANGES: Final = (
    "When something could help it: room on a node that takes a member, or a plan or nomination that ends. "
    "Time alone does not bring it back."
)
AGAIN: Final = {
    "Gathering": "When a member is created.",
    "SchedulingGated": "When a member is created, or loses its scheduling gates.",
    "Ungating": "At once: reprieve removes its gate from all members.",
    "Queued": "In its turn: by priority, then creation, then name.",
    ATTEMPT_PENDING: "By kube-scheduler, when its backoff is over.",
    "ConfirmationPending": "When its scheduler has tried every member, or when the plan's deadline has passed.",
    "FreeingRoom": "When the pods are gone.",
    "ReleasingMembers": "When the pods are gone.",
    "QuotaWithdrawn": "When its Workload has quota again.",
    "Ready": "At once: its scheduler binds the planned members.",
    "BackingOff": "At the time that the sentence names. It may take free room earlier.",
    "Paused": "When the pause is over. It may take free room earlier.",
    "EvictionLimitReached": "At the time that the sentence names, or when fewer pods count. "
    "It may take free room earlier.",
    "EvictionLimit": "When it needs fewer evictions, or when planning.limits is changed.",
    "Observing": "By its scheduler. reprieve holds none of its pods back.",
    "Blocked": "When its pods change, or when it fits without evictions.",
    "Fits": "At once: its scheduler has to try the members again.",
    "Preempts": "Where reprieve runs, in its turn. It evicts once the scheduler has confirmed every member.",
    "Unknown": "Where reprieve runs, in its turn.",
    "NotAsked": "That is not known.",
    "Misconfigured": "When the object that is named changes.",
}


@dataclass(frozen=True, slots=True)
class Members:
    """The pods of a group, counted."""

    exist: int
    required: int
    bound: int
    gated: int
    """Pods with a scheduling gate of another program. They do not count as existing."""
    gates: tuple[str, ...]
    """Those gates."""
    ours: int
    """Pods with our scheduling gate."""
    terminating: int
    ended: int

    def numbers(self, minimum: int | None) -> dict[str, int | str]:
        """By the names of docs/why.md."""
        counts = {
            "minCount": minimum,
            "members": self.exist,
            "requiredMembers": self.required,
            "boundMembers": self.bound,
            "gatedPods": self.gated,
            "podsWithOurGate": self.ours,
            "terminatingPods": self.terminating,
            "endedPods": self.ended,
        }
        return {name: count for name, count in counts.items() if count is not None}


def why_group_waits(
    snapshot: Snapshot,
    key: tuple[str, str],
    pods: Sequence[Pod],
    plans: Sequence[PreemptionPlan],
    unread: str = "",
) -> Wait:
    """The answer for the group of this key (`nodes.groups.keys`). `pods`: all of the group, also those that ended.

    `plans`: stored ones of its namespace. A group that does not exist waits, if pods name it. `unread`: why the search
    cannot be asked; empty if it can.
    """
    row = snapshot.group_keys.index(key) if key in snapshot.group_keys else -1
    group = snapshot.groups[row] if row >= 0 else None
    name = f"{key[0]}/{short_name(key[1])}"
    members = _count(snapshot, row, group, pods)
    if group is None:
        says = f"There is no PodGroup {name}. {counted(len(pods), 'pod')} with its label wait for it."
        return Wait(
            "PodGroup", name, bool(pods), "NotFound", says,
            numbers=members.numbers(None), would_help=(f"A PodGroup {name}.",),
            tried_again="When it is created.",
        )  # fmt: skip
    gang = group.spec.scheduling_policy.gang
    if is_foreign(key[1]) and (gang is None or not may_ask(key[1], snapshot.preempting)):
        return _foreign(name, members, pods)
    if gang is None:
        return _basic(name, members, pods)
    numbers = members.numbers(gang.min_count)
    if over := _over(group, members, name, numbers):
        return over
    return _waiting(Asking(snapshot, group, plans, unread), members, numbers)


# ---- who is there


def _count(snapshot: Snapshot, row: int, group: PodGroup | None, pods: Sequence[Pod]) -> Members:
    live = snapshot.pod_live & (snapshot.pod_group == row) if row >= 0 else np.zeros(0, np.bool_)
    flags = snapshot.pod_flags[live] if row >= 0 else np.zeros(0, np.uint8)
    is_member = flags & (TERMINATING | GATED) == 0
    bound = int((snapshot.pod_node[live][is_member] >= 0).sum()) if row >= 0 else 0
    exist = int(is_member.sum())
    succeeded = snapshot.group_succeeded[row] if row >= 0 else 0
    waiting = [
        pod for pod in pods if pod.status.phase not in ENDED and pod.metadata.deletion_timestamp is None
    ]
    gates = [gate.name for pod in waiting for gate in pod.spec.scheduling_gates or ()]
    return Members(
        exist=exist,
        required=(minimum_of(group, exist, succeeded) or 0) if group is not None else 0,
        bound=bound,
        gated=int((flags & (TERMINATING | GATED) == GATED).sum()),
        gates=tuple(sorted({gate for gate in gates if gate != SCHEDULING_GATE})),
        ours=gates.count(SCHEDULING_GATE),
        terminating=int((flags & TERMINATING != 0).sum()),
        ended=sum(pod.status.phase in ENDED for pod in pods),
    )


def _over(group: PodGroup, members: Members, name: str, numbers: dict[str, int | str]) -> Wait | None:
    """For a gang that does not wait."""
    since = _since(group)
    if group.metadata.deletion_timestamp is not None:
        says = "It does not wait: it is being deleted."
        return Wait("PodGroup", name, False, "Terminating", says, numbers=numbers)
    if not members.required:
        says = "It does not wait: its members have succeeded, and none has to run any longer."
        return Wait("PodGroup", name, False, "Ended", says, since=since, numbers=numbers)
    if members.bound >= members.required:
        says = f"It does not wait: {counted(members.bound, 'member')} have a node, and {members.required} must run."
        if later := members.exist - members.bound:
            says += (
                f" {counted(later, 'later member')} without a node: nothing is evicted for them as a gang."
            )
        return Wait("PodGroup", name, False, "Scheduled", says, since=since, numbers=numbers)
    return None


def _foreign(name: str, members: Members, pods: Sequence[Pod]) -> Wait:
    """A group of another kind. Somebody else decides how its pods are scheduled."""
    waiting = members.exist + members.gated - members.bound
    schedulers = listed(sorted({pod.spec.scheduler_name or "default-scheduler" for pod in pods}))
    numbers = members.numbers(None)
    if not waiting:
        says = f"It does not wait: all of its {counted(members.exist, 'pod')} have a node."
        return Wait("PodGroup", name, False, "Scheduled", says, numbers=numbers)
    says = (
        f"It waits: {waiting} of {counted(members.exist + members.gated, 'pod')} have no node. It is no gang of "
        f"reprieve. {schedulers} places its pods."
    )
    return Wait(
        "PodGroup", name, True, "OfAnotherKind", says, numbers=numbers, tried_again=f"By {schedulers}."
    )


def _basic(name: str, members: Members, pods: Sequence[Pod]) -> Wait:
    """A group that is no gang: its pods are scheduled one by one."""
    waiting = members.exist + members.gated - members.bound
    says = f"{waiting} of {counted(members.exist + members.gated, 'pod')} have no node"
    says = f"It waits: {says}." if waiting else "It does not wait: all of its pods have a node."
    says += " It is no gang (policy basic): its pods are scheduled one by one."
    return Wait("PodGroup", name, bool(waiting), "Basic", says, numbers=members.numbers(None))


# ---- why it waits


@dataclass(frozen=True, slots=True)
class Found:
    """Why the gang waits, and the decision that says so, if one does."""

    state: str
    sentence: str
    source: Source
    spec: PreemptionPlanSpec | None = None
    plan: PreemptionPlan | None = None
    """The stored object of the decision."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A gang, and what may be known of it."""

    snapshot: Snapshot
    group: PodGroup
    plans: Sequence[PreemptionPlan]
    unread: str


def _waiting(asking: Asking, members: Members, numbers: dict[str, int | str]) -> Wait:
    group, snapshot = asking.group, asking.snapshot
    found = _from_status(asking, members) or _from_plan(asking) or _not_tried(asking)
    if found is None or (found.source == "Plan" and members.exist < members.required):
        found = _gathering(members) or _from_engine(asking)
    speaks = _scheduled(group) is not None or is_foreign(group.metadata.name)
    silent = "" if speaks else f" {NO_STATUS}"
    spec, plan = found.spec, found.plan
    return Wait(
        kind="PodGroup",
        name=f"{group.metadata.namespace}/{short_name(group.metadata.name)}",
        waits=True,
        state=found.state,
        sentence=found.sentence + silent,
        source=found.source,
        since=_since(group),
        numbers=numbers,
        places=places_of(spec) if spec is not None else (),
        waits_for=victims_of(spec, _gone(snapshot, spec)) if spec is not None else (),
        would_help=(*_members_would_help(members), *(would_help(spec) if spec is not None else ())),
        tried_again=AGAIN.get(found.state, CHANGES),
        not_modelled=doubts(spec) if spec is not None and plan is None else (),
        plan=f"{plan.metadata.namespace}/{plan.metadata.name}" if plan is not None else "",
        decision=_decision(spec, plan),
    )


def _decision(spec: PreemptionPlanSpec | None, plan: PreemptionPlan | None) -> dict[str, Any] | None:
    """For programs. A stored plan is as it is stored."""
    if spec is None:
        return None
    return msgspec.to_builtins(spec) if plan is not None else plain(spec)


def _from_status(asking: Asking, members: Members) -> Found | None:
    """What its condition says, if the status counts what there is. The lists may be of different moments."""
    group = asking.group
    condition, status = _scheduled(group), group.status
    if condition is None or status is None or condition.status != "False":
        return None
    if (status.members, status.bound_members) != (members.exist, members.bound):
        return None
    state, says = condition.reason, f"It waits: {_sentence(condition.message)}"
    plan = current_plan(asking.plans, "PodGroup", group.metadata.uid)
    if state in NO_PLAN or (plan is not None and phase_of(plan) not in (*ACTIVE, *NOWHERE)):
        plan = None
    if plan is not None or state in NO_PLAN:
        return Found(state, says, "Status", plan.spec if plan is not None else None, plan)
    return Found(state, says, "Status", _from_engine(asking).spec)


def _from_plan(asking: Asking) -> Found | None:
    """A plan that is being carried out."""
    plan = current_plan(asking.plans, "PodGroup", asking.group.metadata.uid, active=True)
    if plan is None:
        return None
    phase, stands = phase_of(plan), f"is {phase_of(plan)}"
    state = FROM_PLAN[phase]
    if phase == "Planned" and plan.spec.evicted_by == "Scheduler":
        state, stands = ATTEMPT_PENDING, f"waits for kube-scheduler's next attempt{_due(plan)}"
    says = f"It waits: its plan {plan.metadata.name} {stands}. {said_of(plan.spec, stored=True)}"
    return Found(state, says, "Plan", plan.spec, plan)


def _due(plan: PreemptionPlan) -> str:
    """When the next attempt is, as far as the plan says it."""
    status = plan.status
    if status is None or not status.next_attempt:
        return ""
    return f", which is due at {status.next_attempt}{'' if status.next_attempt_known else ' at the latest'}"


def _not_tried(asking: Asking) -> Found | None:
    """For a gang that its scheduler does not try: nothing is planned for it."""
    meta = asking.group.metadata
    try:
        why = not_tried(asking.snapshot, meta.namespace, meta.name)
    except DecisionError:
        return None
    return Found(why.reason, f"It waits: {_sentence(why.message)}", "Engine") if why is not None else None


def _gathering(members: Members) -> Found | None:
    """For a gang that has too few members."""
    if members.exist >= members.required:
        return None
    says = f"It waits for members: {members.exist} of {members.required} exist"
    if not members.gated:
        return Found("Gathering", f"{says}.", "Engine")
    gated = (
        f"{counted(members.gated, 'pod')} with scheduling gates of another program: {listed(members.gates)}"
    )
    return Found(
        "SchedulingGated", f"{says}. There {'is' if members.gated == 1 else 'are'} {gated}.", "Engine"
    )


def _from_engine(asking: Asking) -> Found:
    if asking.unread:
        return Found("NotAsked", f"It waits. The search was not asked: {asking.unread}.", "Engine")
    meta = asking.group.metadata
    try:
        spec = decide_group(asking.snapshot, meta.namespace, meta.name, strict=False)
    except DecisionError as error:
        return Found("Misconfigured", f"It waits, and cannot be planned: {error}.", "Engine")
    return Found(verdict(spec), f"It waits. {said_of(spec)}", "Engine", spec)


def _members_would_help(members: Members) -> tuple[str, ...]:
    found = list[str]()
    if (short := members.required - members.exist) > 0:
        found.append(f"{counted(short, 'more member')}.")
    if members.gates:
        found.append(f"The removal of scheduling gates: {listed(members.gates)}.")
    return tuple(found)


def _gone(snapshot: Snapshot, spec: PreemptionPlanSpec) -> frozenset[str]:
    """UIDs of the plan's victims that do not exist any longer."""
    pods = (pod.uid for victim in spec.victims for pod in victim.pods)
    return frozenset(uid for uid in pods if uid not in snapshot.pod_rows)


def _scheduled(group: PodGroup) -> Condition | None:
    conditions = (group.status.conditions if group.status is not None else None) or ()
    return next((each for each in conditions if each.type == SCHEDULED), None)


def _since(group: PodGroup) -> str:
    condition = _scheduled(group)
    return (condition.last_transition_time or "") if condition is not None else ""


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
