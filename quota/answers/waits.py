"""Why a Workload waits: its status where that decides, else the queue, the checks, or the decision about its quota."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from api.may_name import OTHER_NAMESPACE
from api.plans import PreemptionPlan
from api.stored_plans import current_plan, phase_of
from api.unmodelled import UNKNOWN, doubted
from api.waits import Wait
from api.words import counted
from api.workloads import EVICTED, QUOTA_RESERVED, Workload
from quota.answers.decision_words import places_of, said_of, stays_of, targets_of, would_help
from quota.answers.gated import with_cost
from quota.answers.picture import QuotaPicture
from quota.answers.places import Places
from quota.answers.pod_counts import counts_of
from quota.answers.selected import taking
from quota.answers.status_waits import NEXT, check_text, said_by_status
from quota.answers.told import EVERYTHING, Told
from quota.answers.verdicts import doubts, gets_quota
from quota.cycle.admissible import admissible_in
from quota.cycle.entries import Entry
from quota.cycle.queues import backs_off, is_queued
from quota.search.decision import Decision, Options, decide
from quota.state.amounts import QuotaError
from quota.state.snapshot import Queue, QuotaSnapshot
from quota.state.workloads import effective_priority, holds_quota, key_of, true_condition

__all__ = ["Around", "Outcome", "outcome_of", "why_workload_waits"]

FREED: Final = (
    "When quota of its cohort tree is freed, or when it, its queues or its ClusterQueue change. "
    "Time alone does not bring it back."
)
STRICT: Final = "In every cycle: its ClusterQueue is StrictFIFO, and no Workload behind it passes."
IN_TURN: Final = "In its turn: by priority, then by the time since which it is queued."
UNTIL_CHANGED: Final = "When what is named changes."
NOT_SEARCHED: Final = "NotSearched"
"""The state where only a decision could say, and nobody asked for it."""
OPEN_IT: Final = "Nothing was decided for this list: open it to ask."


@dataclass(frozen=True, slots=True)
class Around:
    """What an answer depends on besides the Workload."""

    quota: QuotaPicture
    now: int
    """In microseconds since 1970."""
    plans: Sequence[PreemptionPlan] = ()
    """Stored ones of its namespace."""
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The labels of namespaces."""
    options: Options = field(default_factory=Options)
    unread: str = ""
    """Why the decision cannot be asked for; empty if it can."""
    told: Told = EVERYTHING
    """What the reader may know."""
    known: QuotaSnapshot | None = None
    """A snapshot of `quota`, for a caller with many Workloads; None: one is taken for each."""
    places: Places | None = None
    """The places of all that wait; None: they are looked up for each."""
    searches: bool = True
    """False for a caller that needs only what can be said without a decision."""

    def snapshot(self) -> QuotaSnapshot:
        """What is asked about. Raises QuotaError if the usage is too much to be counted."""
        return self.known if self.known is not None else self.quota.snapshot()


def why_workload_waits(workload: Workload, around: Around) -> Wait:
    """The answer for the Workload. One that is not there in `around.quota` has no place in a queue."""
    known = _known(workload)
    return _undecided(workload, known, around) or _queued(workload, known, around)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the decision is now. Later changes of the quota do not change it."""

    decision: Decision | None
    """Without an explanation; None if none can be made."""
    not_modelled: tuple[str, ...]
    wait: Callable[[], Wait]
    """Makes the answer: what `why_workload_waits` would have said."""

    @property
    def gets_quota(self) -> bool:
        """Whether it gets its quota, perhaps once others are gone. Closed gates keep it from those of others."""
        return self.decision is not None and gets_quota(self.decision) and not _is_gated(self.decision)

    @property
    def preempts(self) -> bool:
        """Whether it is known that others lose their quota for it."""
        return self.gets_quota and bool(self.decision and self.decision.targets) and not self.not_modelled


def outcome_of(workload: Workload, around: Around) -> Outcome:
    """The decision for the Workload: for a caller with many of them, who needs words for few. `around.plans` say
    nothing of it."""
    known = _known(workload)
    try:
        around = replace(around, known=around.snapshot())
        if (said := _undecided(workload, known, around)) is None:
            asked = _asked(workload, around, explain=False)
            wait = partial(_explained, workload, known, asked, around)
            return Outcome(asked.decision, asked.not_modelled, wait)
    except QuotaError as error:
        said = _wrong(known, "Misconfigured", _said(error, workload, around))
    return Outcome(None, said.not_modelled, partial(replace, said))


def _is_gated(decision: Decision) -> bool:
    return decision.gated and bool(decision.targets)


def _known(workload: Workload) -> Wait:
    """What is said of every Workload."""
    numbers: dict[str, int | str] = {"priority": effective_priority(workload)}
    numbers["localQueue"] = workload.spec.queue_name
    return Wait("Workload", key_of(workload), waits=True, state="", sentence="", numbers=numbers)


def _undecided(workload: Workload, known: Wait, around: Around) -> Wait | None:
    """The answer, if no decision about its quota is needed."""
    return said_by_status(workload, known) or _not_asked(known, around) or _kept_out(workload, known, around)


# ---- what keeps it out of its queue


def _not_asked(known: Wait, around: Around) -> Wait | None:
    if not around.unread:
        return None
    says = f"It waits for quota. The decision was not asked for: {around.unread}."
    return replace(known, state="NotAsked", sentence=says, tried_again="That is not known.")


def _kept_out(workload: Workload, known: Wait, around: Around) -> Wait | None:
    """For one that is in no queue for now, or whose queue admits nobody."""
    if not is_queued(workload):
        says = "It waits because admission is gated (an annotation of the Workload)."
        return replace(known, state="AdmissionGated", sentence=says, tried_again=UNTIL_CHANGED)
    try:
        if backs_off(workload, around.now):
            return _backs_off(workload, known)
        world = _taking(workload, around)
        found = admissible_in(world, workload, around.now, around.namespaces)
    except QuotaError as error:
        return _wrong(known, "Misconfigured", _said(error, workload, around))
    if isinstance(found, Entry):
        return _wrong(known, found.quota_reserved_reason, found.message)
    return None


def _taking(workload: Workload, around: Around) -> QuotaSnapshot:
    """See `taking`. A Workload without a queue is refused later."""
    snapshot = around.snapshot()
    try:
        queue = snapshot.queue_of(workload)
    except QuotaError:
        return snapshot
    return taking(snapshot, queue, workload.metadata.namespace, around.namespaces)[0]


def _backs_off(workload: Workload, known: Wait) -> Wait:
    state = workload.status.requeue_state
    evicted = true_condition(workload, EVICTED)
    why = f" ({evicted.reason}: {evicted.message})" if evicted is not None else ""
    checks = [each for each in workload.status.admission_checks or () if each.state == "Retry"]
    until = state.requeue_at if state is not None else None
    again = f"Not before {until}." if until else "When its condition Requeued becomes True."
    tries = (
        f", queued again {counted(state.count, 'time')} so far" if state is not None and state.count else ""
    )
    return replace(
        known,
        state="BackingOff",
        sentence=f"It was evicted{why}, and is in no queue for a while{tries}.",
        waits_for=tuple(map(check_text, checks)),
        tried_again=again,
    )


def _wrong(known: Wait, state: str, problem: str) -> Wait:
    return replace(
        known,
        state=state,
        sentence=f"It waits, and may not be admitted: {problem}.",
        source="Engine",
        would_help=(f"{problem}: this would have to change.",),
        tried_again=UNTIL_CHANGED,
    )


# ---- its place in the queue, and its quota


def _queued(workload: Workload, known: Wait, around: Around) -> Wait:
    snapshot = around.snapshot()
    queue = snapshot.queue_of(workload)
    plan = current_plan(around.plans, "Workload", workload.metadata.uid, active=True)
    if not around.searches:
        known = replace(known, since=_waits_since(workload))
        if plan is not None:
            return _preempting(known, plan, around)
        return _not_decided(workload, known, queue, snapshot, around)
    try:
        asked = _asked(workload, around, explain=True)
    except QuotaError as error:
        return _wrong(known, "Misconfigured", _said(error, workload, around))
    if plan is not None:
        return _preempting(_with_numbers(workload, known, asked, around), plan, around)
    return _decided(workload, known, asked, around)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A decision, and what it was made from."""

    snapshot: QuotaSnapshot
    queue: Queue
    place: int
    """In its ClusterQueue, from 1."""
    length: int
    """How many wait there."""
    decision: Decision
    not_modelled: tuple[str, ...]


def _asked(workload: Workload, around: Around, *, explain: bool) -> _Asked:
    """Raises QuotaError if nothing can be decided."""
    snapshot = around.snapshot()
    queue = snapshot.queue_of(workload)
    place, length = _place(workload, queue, snapshot, around)
    decision = decide(snapshot, workload, around.now, around.options, explain=explain)
    if _is_gated(decision):  # it waits, whatever else is true
        return _Asked(snapshot, queue, place, length, decision, ())
    unknown = doubts(workload, decision, snapshot)
    if gets_quota(decision):
        unknown += taking(snapshot, queue, workload.metadata.namespace, around.namespaces)[1]
    return _Asked(snapshot, queue, place, length, decision, unknown)


def _explained(workload: Workload, known: Wait, asked: _Asked, around: Around) -> Wait:
    """The answer to what was asked without an explanation. It is decided again: to explain all would take longer."""
    decision = decide(asked.snapshot, workload, around.now, around.options, explain=True)
    return _decided(workload, known, replace(asked, decision=decision), around)


def _with_numbers(workload: Workload, known: Wait, asked: _Asked, around: Around) -> Wait:
    snapshot, queue = asked.snapshot, asked.queue
    numbers: dict[str, int | str] = {**known.numbers, "clusterQueue": queue.name}
    numbers |= {"path": snapshot.path(queue.node)} if around.told.knows_queues() else {}
    numbers |= {"position": asked.place, "waitingInClusterQueue": asked.length}
    since = _waits_since(workload)
    return replace(known, numbers=numbers, since=since, source="Engine", pod_sets=counts_of(asked.decision))


def _place(workload: Workload, queue: Queue, snapshot: QuotaSnapshot, around: Around) -> tuple[int, int]:
    """Its place in the ClusterQueue, from 1, and how many wait there."""
    places = around.places or Places(snapshot, around.quota.workloads.values())
    return places.of(workload, queue.name)


def _not_decided(
    workload: Workload, known: Wait, queue: Queue, snapshot: QuotaSnapshot, around: Around
) -> Wait:
    """For one that nobody decides about now: its place, and what its status says."""
    try:
        place, length = _place(workload, queue, snapshot, around)
    except QuotaError as error:
        return _wrong(known, "Misconfigured", _said(error, workload, around))
    numbers = {
        **known.numbers,
        "clusterQueue": queue.name,
        "position": place,
        "waitingInClusterQueue": length,
    }
    says = f"It waits for quota. {OPEN_IT}{_ahead(place, queue)}{_status(workload)}"
    return replace(known, state=NOT_SEARCHED, sentence=says, source="Engine", numbers=numbers)


def _preempting(known: Wait, plan: PreemptionPlan, around: Around) -> Wait:
    """A plan makes others give back their quota."""
    told = around.told
    victims = [
        each
        for each in plan.spec.victims
        if not each.name or _holds(around.quota, f"{each.namespace}/{each.name}")
    ]
    left = [
        f"Workload {victim.namespace}/{victim.name}, priority {victim.priority}"
        if told.may_name("Workload", victim.namespace)
        else f"Workload {OTHER_NAMESPACE}"
        for victim in victims
    ]
    name = f"{plan.metadata.namespace}/{plan.metadata.name}"
    gone = len(plan.spec.victims) - len(left)
    says = f"It waits for those who were preempted for it: {gone} of {len(plan.spec.victims)} have left"
    return replace(
        known,
        state="WaitingForPreemptedWorkloads",
        sentence=f"{says} (plan {plan.metadata.name}, {phase_of(plan)}).",
        source="Plan",
        plan=name,
        waits_for=tuple(left),
        tried_again="When they have left. The quota is promised to it.",
    )


def _holds(quota: QuotaPicture, key: str) -> bool:
    workload = quota.workloads.get(key)
    return workload is not None and holds_quota(workload)


def _decided(workload: Workload, known: Wait, asked: _Asked, around: Around) -> Wait:
    known = replace(_with_numbers(workload, known, asked, around), not_modelled=asked.not_modelled)
    decision, queue, place = asked.decision, asked.queue, asked.place
    state, says = said_of(decision)
    again = _again(state, queue, place)
    if _is_gated(decision):
        known = with_cost(workload, known, decision, around.plans, around.now, around.told)
        says = known.sentence
    if known.not_modelled:
        state, says = UNKNOWN, doubted(says, known.not_modelled)
    priority, told = effective_priority(workload), around.told
    return replace(
        known,
        state=state,
        sentence=f"{says}{_ahead(place, queue)}{_status(workload)}",
        places=tuple(places_of(decision, queue)),
        waits_for=tuple(targets_of(decision, priority, queue, told)),
        would_help=tuple(would_help(workload, decision)),
        stays=tuple(stays_of(decision, priority, queue, told)),
        tried_again=again,
    )


def _ahead(place: int, queue: Queue) -> str:
    return "" if place == 1 else f" {counted(place - 1, 'Workload')} before it in ClusterQueue {queue.name}."


def _status(workload: Workload) -> str:
    reserved = next((c for c in workload.status.conditions or () if c.type == QUOTA_RESERVED), None)
    return f" Its status says: {reserved.message}" if reserved is not None and reserved.message else ""


def _said(error: QuotaError, workload: Workload, around: Around) -> str:
    """What is wrong. Another Workload is named only to a reader who may know its name."""
    kind, _, name = error.subject.partition(" ")
    mine = kind != "Workload" or name == key_of(workload)
    if mine or around.told.may_name("Workload", name.partition("/")[0]):
        return str(error)
    return f"a Workload {OTHER_NAMESPACE} cannot be counted"


def _again(state: str, queue: Queue, place: int) -> str:
    if state == "Fits" and place == 1:
        return NEXT
    if place > 1:
        return IN_TURN
    if state == "Preempts":
        return (
            "In the next cycle of the process that manages the quota. It gets its quota when they have left."
        )
    return STRICT if queue.spec.queueing_strategy == "StrictFIFO" else FREED


def _waits_since(workload: Workload) -> str:
    conditions = workload.status.conditions or ()
    reserved = next((each for each in conditions if each.type == QUOTA_RESERVED), None)
    return (reserved.last_transition_time if reserved is not None else None) or (
        workload.metadata.creation_timestamp or ""
    )
