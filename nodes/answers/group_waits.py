"""Why a PodGroup waits: from its status and the stored plan where they tell, from the search where they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from api.core import Pod
from api.groups import SCHEDULED, PodGroup
from api.meta import Condition
from api.plans import PreemptionPlan, PreemptionPlanSpec
from api.stored_plans import ACTIVE, current_plan, phase_of
from api.waits import Source, Wait
from api.words import counted, listed
from nodes.answers.asking import decide_group
from nodes.answers.group_counts import GroupCounts
from nodes.answers.members import Members, count_members
from nodes.answers.plan_words import Readable, places_of, said_of, victims_of, whole, would_help
from nodes.answers.verdicts import doubts, plain, verdict
from nodes.groups.forms import may_ask
from nodes.groups.keys import is_foreign, is_native_name, short_name
from nodes.search.preemptors.preemptor import DecisionError, not_tried
from nodes.state.snapshot import Snapshot

__all__ = ["GATHERS", "OPEN_IT", "why_group_waits"]

GATHERS: Final = ("Gathering", "SchedulingGated")
"""States in which members are missing."""
NO_PLAN: Final = (*GATHERS, "Ungating", "Queued")
"""States in which a decision, if there is one, is about something else."""
NOWHERE: Final = ("Unschedulable", "Blocked", "Observed")
"""Phases of plans that say why nothing is evicted, or what another mode would evict."""
FROM_PLAN: Final = {
    "Planned": "ConfirmationPending",
    "Confirmed": "FreeingRoom",
    "Evicting": "FreeingRoom",
    "Ready": "Ready",
}
"""The state by the phase of a plan that is carried out."""
ATTEMPT_PENDING: Final = "AttemptPending"
"""The state with a planned one by which kube-scheduler evicts: its own attempt takes the place of a confirmation."""
NOT_SEARCHED: Final = "NotSearched"
"""The state where only the search could say, and nobody asked it."""
OPEN_IT: Final = "Nothing was searched for this list: open it to ask."
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


def why_group_waits(
    snapshot: Snapshot,
    key: tuple[str, str],
    pods: Sequence[Pod],
    plans: Sequence[PreemptionPlan],
    unread: str = "",
    readable: Readable = whole,
    counts: GroupCounts | None = None,
    *,
    searches: bool = True,
) -> Wait:
    """The answer for the group of this key (`nodes.groups.keys`). `pods`: all of the group, also those that ended.

    `plans`: stored ones of its namespace. A group that does not exist waits, if pods name it. `unread`: why the search
    cannot be asked; empty if it can. `readable`: what the reader may know of a decision. `counts`: of the snapshot, for
    a caller with many groups. `searches`: False for a caller that needs only what can be said without the search.
    """
    counts = counts or GroupCounts(snapshot)
    row = counts.row(key)
    group = snapshot.groups[row] if row >= 0 else None
    name = f"{key[0]}/{short_name(key[1])}"
    members = count_members(counts, row, group, pods)
    if group is None:
        there = len(counts.pods(row)) if row >= 0 else 0
        says = f"There is no PodGroup {name}. {counted(there, 'pod')} with its label wait for it."
        return Wait(
            "PodGroup", name, bool(there), "NotFound", says,
            numbers=members.numbers(None), would_help=(f"A PodGroup {name}.",),
            tried_again="When it is created.",
        )  # fmt: skip
    gang = group.spec.scheduling_policy.gang
    if is_foreign(key[1]) and (gang is None or not may_ask(key[1], snapshot.preempting)):
        return _foreign(name, members, _schedulers(counts, row))
    if gang is None:
        return _basic(name, members)
    numbers = members.numbers(gang.min_count)
    if over := _over(group, members, name, numbers):
        return over
    return _waiting(Asking(counts, row, group, plans, unread, readable, searches), members, numbers)


# ---- who does not wait, and who is no gang


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


def _schedulers(counts: GroupCounts, row: int) -> str:
    """Who schedules the pods of the group."""
    snapshot, rows = counts.snapshot, counts.pods(row)
    return listed(sorted({snapshot.schedulers[each] for each in snapshot.pod_scheduler[rows].tolist()}))


def _foreign(name: str, members: Members, schedulers: str) -> Wait:
    """A group of another kind. Somebody else decides how its pods are scheduled."""
    waiting = members.exist + members.gated - members.bound
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


def _basic(name: str, members: Members) -> Wait:
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
    """A gang, and what may be known of it. See `why_group_waits`."""

    counts: GroupCounts
    row: int
    group: PodGroup
    plans: Sequence[PreemptionPlan]
    unread: str
    readable: Readable
    searches: bool

    @property
    def snapshot(self) -> Snapshot:
        """What is asked about."""
        return self.counts.snapshot


def _waiting(asking: Asking, members: Members, numbers: dict[str, int | str]) -> Wait:
    group, snapshot = asking.group, asking.snapshot
    found = _from_status(asking, members) or _from_plan(asking) or _not_tried(asking)
    if found is None or (found.source == "Plan" and members.exist < members.required):
        found = _gathering(members) or _from_engine(asking)
    speaks = _scheduled(group) is not None or is_foreign(group.metadata.name)
    silent = "" if speaks else f" {NO_STATUS}"
    spec, plan = found.spec, found.plan
    left = _left(snapshot, spec) if spec is not None else None
    shown, left = (asking.readable(each) if each is not None else None for each in (spec, left))
    return Wait(
        kind="PodGroup",
        name=f"{group.metadata.namespace}/{short_name(group.metadata.name)}",
        waits=True,
        state=found.state,
        sentence=found.sentence + silent,
        source=found.source,
        since=_since(group),
        numbers=numbers,
        places=places_of(shown) if shown is not None else (),
        waits_for=victims_of(left) if left is not None else (),
        would_help=(*_members_would_help(members), *(would_help(shown) if shown is not None else ())),
        tried_again=AGAIN.get(found.state, CHANGES),
        not_modelled=doubts(shown) if shown is not None and plan is None else (),
        plan=f"{plan.metadata.namespace}/{plan.metadata.name}" if plan is not None else "",
        decision=_decision(shown, plan),
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
    says = f"It waits: its plan {plan.metadata.name} {stands}. {said_of(asking.readable(plan.spec), stored=True)}"
    return Found(state, says, "Plan", plan.spec, plan)


def _due(plan: PreemptionPlan) -> str:
    """When the next attempt is, as far as the plan says it."""
    status = plan.status
    if status is None or not status.next_attempt:
        return ""
    return f", which is due at {status.next_attempt}{'' if status.next_attempt_known else ' at the latest'}"


def _not_tried(asking: Asking) -> Found | None:
    """For a gang that its scheduler does not try: nothing is planned for it."""
    if not is_native_name(asking.group.metadata.name):
        return None
    try:
        why = not_tried(asking.snapshot, asking.row, asking.counts.pods(asking.row))
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
    if not asking.searches:
        return Found(NOT_SEARCHED, f"It waits. {OPEN_IT}", "Engine")
    meta = asking.group.metadata
    try:
        spec = decide_group(asking.snapshot, meta.namespace, meta.name, strict=False)
    except DecisionError as error:
        return Found("Misconfigured", f"It waits, and cannot be planned: {error}.", "Engine")
    return Found(verdict(spec), f"It waits. {said_of(asking.readable(spec))}", "Engine", spec)


def _members_would_help(members: Members) -> tuple[str, ...]:
    found = list[str]()
    if (short := members.required - members.exist) > 0:
        found.append(f"{counted(short, 'more member')}.")
    if members.gates:
        found.append(f"The removal of scheduling gates: {listed(members.gates)}.")
    return tuple(found)


def _left(snapshot: Snapshot, spec: PreemptionPlanSpec) -> PreemptionPlanSpec:
    """The decision with the victims that still have a pod."""
    left = [
        each
        for each in spec.victims
        if not each.pods or any(pod.uid in snapshot.pod_rows for pod in each.pods)
    ]
    return replace(spec, victims=left)


def _scheduled(group: PodGroup) -> Condition | None:
    conditions = (group.status.conditions if group.status is not None else None) or ()
    return next((each for each in conditions if each.type == SCHEDULED), None)


def _since(group: PodGroup) -> str:
    condition = _scheduled(group)
    return (condition.last_transition_time or "") if condition is not None else ""


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
