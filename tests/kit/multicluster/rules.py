"""What must hold at all times of Workloads that are dispatched to several clusters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from api.multikueue import DISPATCHED_BY, MULTIKUEUE_GATE, ORIGIN_LABEL
from api.times import parse_rfc3339
from tests.kit.multicluster.history import MANAGER, Bounds, Event, History, Json, Span

__all__ = [
    "RULES",
    "gates_without_plan",
    "is_true",
    "mark_of",
    "preempted_beside_an_open_gate",
    "ran_after_the_end",
    "ran_twice_at_once",
    "runs",
    "turns_that_overlap",
    "two_gates",
]

MENTIONED: Final = re.compile(r"accommodate a workload \(UID: ([^,]+),")
"""In the message of a victim's condition Preempted."""


# ---- the rules


def preempted_beside_an_open_gate(history: History) -> list[str]:
    """Preemptions for a Workload that began in one cluster while its gate was open in another, and neither is lost.

    What a lost cluster does, nobody can prevent.
    """
    return [
        f"{preemption} began at {moment.high:.3f} in {cluster}, while the gate is open in {other}"
        for cluster in history.workers
        for key, moment, preemption in _preemptions(history, cluster)
        for other, span in _open_gates(history, key)
        if other != cluster
        and span.surely_has(moment)
        and not _is_lost(history, other, moment)
        and not _is_lost(history, cluster, moment)
    ]


def two_gates(history: History) -> list[str]:
    """Gates of a Workload that opened while its gate was open in another cluster that is not lost."""
    wrong = []
    for key in sorted(_copy_keys(history)):
        spans = list(_open_gates(history, key))
        wrong += [
            f"the gate of {key} opened at {span.begin.high:.3f} in {cluster}, while it is open in {other}"
            for cluster, span in spans
            for other, earlier in spans
            if other != cluster
            and not _is_by_hand(history, span.event)
            and not _is_by_hand(history, earlier.event)
            and earlier.surely_has(span.begin)
            and not _is_lost(history, other, span.begin)
            and not _is_lost(history, cluster, span.begin)
        ]
    return wrong


def ran_twice_at_once(history: History) -> list[str]:
    """Jobs of one Workload that were not suspended in two clusters that could be reached."""
    wrong = []
    spans = {cluster: _running(history, cluster) for cluster in history.workers}
    for at, one in enumerate(history.workers):
        for other in history.workers[at + 1 :]:
            for key in sorted(spans[one].keys() & spans[other].keys()):
                wrong += [
                    f"{key} ran in {one} and {other} at {moment:.3f}"
                    for here in spans[one][key]
                    for there in spans[other][key]
                    if (moment := _together(history, one, here, other, there)) is not None
                ]
    return wrong


def ran_after_the_end(history: History) -> list[str]:
    """Jobs that were started in a cluster that could be reached, after the manager, or another such cluster, had seen
    the end."""
    ends: dict[str, Bounds] = {}
    for uid, moment in _ends(history):
        ends[uid] = min(moment, ends.get(uid, moment), key=lambda each: each.high)
    return [
        f"{uid} ended at {ends[uid].high:.3f}, and {key} was started in {cluster} at {span.begin.high:.3f}"
        for cluster in history.workers
        for key, spans in _running(history, cluster).items()
        for span in spans
        if (uid := _workload_uid(span.event.body)) in ends
        and ends[uid].high < span.begin.low
        and not _is_away(history, cluster, span.begin)
    ]


def gates_without_plan(history: History) -> list[str]:
    """Open gates that have no older DispatchPlan of the attempt for this cluster."""
    plans: dict[tuple[str, str, str], Bounds] = {}
    for event in history.of("DispatchPlan", MANAGER):
        spec = event.body["spec"]
        key = str(spec["workload"]["uid"]), str(spec["workload"]["attempt"]), str(spec["cluster"])
        plans.setdefault(key, history.bounds(event))
    wrong = []
    for cluster in history.workers:
        for spans in history.spans("Workload", cluster, _gate_is_open).values():
            for span in spans:
                if _is_by_hand(history, span.event):
                    continue
                _, uid, attempt = mark_of(span.event.body)
                plan = plans.get((uid, attempt, cluster))
                if plan is None or plan.low > span.begin.high:
                    wrong.append(f"the gate of {span.event.key} opened in {cluster} without a DispatchPlan")
    return wrong


def turns_that_overlap(history: History) -> list[str]:
    """Turns of an attempt that began before the one before them was over: somebody has forgotten its time."""
    turns: dict[tuple[str, str], dict[str, Json]] = {}
    for event in history.of("DispatchPlan", MANAGER):
        workload = event.body["spec"]["workload"]
        attempt = turns.setdefault((str(workload["uid"]), str(workload["attempt"])), {})
        attempt[str(event.meta["uid"])] = event.body
    wrong = []
    for found in turns.values():
        ordered = sorted(found.values(), key=lambda each: parse_rfc3339(each["spec"]["began"]))
        wrong += [
            f"turn {_name(later)} began at {later['spec']['began']}, and {_name(earlier)} lasts until "
            f"{earlier['spec']['until']}"
            for earlier, later in pairwise(ordered)
            if parse_rfc3339(later["spec"]["began"]) < parse_rfc3339(earlier["spec"]["until"])
        ]
    return wrong


RULES: Final[tuple[Callable[[History], list[str]], ...]] = (
    preempted_beside_an_open_gate,
    two_gates,
    ran_twice_at_once,
    ran_after_the_end,
    gates_without_plan,
    turns_that_overlap,
)


# ---- what they look at


def is_true(body: Json, kind: str) -> bool:
    """Whether a condition is True."""
    return any(
        each["type"] == kind and each["status"] == "True"
        for each in body.get("status", {}).get("conditions") or ()
    )


def runs(job: Json) -> bool:
    """Whether the Job is not suspended, and has not ended."""
    return not (job["spec"].get("suspend") or is_true(job, "Complete") or is_true(job, "Failed"))


def _name(body: Json) -> str:
    return str(body["metadata"]["name"])


def _is_copy(body: Json) -> bool:
    return ORIGIN_LABEL in (body["metadata"].get("labels") or {})


def _gate_is_open(body: Json) -> bool:
    """Whether it is a copy whose gate is open."""
    gates = body.get("status", {}).get("preemptionGates") or ()
    is_open = any(each["name"] == MULTIKUEUE_GATE and each["position"] == "Open" for each in gates)
    return is_open and _is_copy(body)


def mark_of(body: Json) -> tuple[str, str, str]:
    """Manager, UID of its Workload, and attempt, of a copy; empty where it has no mark."""
    text = (body["metadata"].get("annotations") or {}).get(DISPATCHED_BY, "")
    manager, _, rest = text.partition("/")
    uid, _, attempt = rest.partition("/")
    return manager, uid, attempt


def _workload_uid(body: Json) -> str:
    return mark_of(body)[1]


def _copy_keys(history: History) -> set[str]:
    return {each.key for each in history.of("Workload") if each.cluster != MANAGER and _is_copy(each.body)}


def _open_gates(history: History, key: str) -> Iterator[tuple[str, Span]]:
    """Cluster, and when the gate of a copy was open there."""
    for cluster in history.workers:
        for spans in history.spans("Workload", cluster, _gate_is_open).values():
            yield from ((cluster, span) for span in spans if span.event.key == key)


def _running(history: History, cluster: str) -> dict[str, list[Span]]:
    """By key: when the manager's Jobs ran in a cluster."""
    found: dict[str, list[Span]] = {}
    for spans in history.spans("Job", cluster, lambda job: _is_copy(job) and runs(job)).values():
        for span in spans:
            found.setdefault(span.event.key, []).append(span)
    return found


def _preemptions(history: History, cluster: str) -> Iterator[tuple[str, Bounds, str]]:
    """Key of the copy, the moment, and words, of each preemption that began for a copy in a cluster."""
    copies = {
        str(each.meta["uid"]): each.key for each in history.of("Workload", cluster) if _is_copy(each.body)
    }
    evicting = history.spans("PreemptionPlan", cluster, _evicts)
    for spans in evicting.values():
        for span in spans[:1]:
            preemptor = span.event.body["spec"]["preemptor"]
            if preemptor["uid"] in copies:
                yield copies[preemptor["uid"]], span.begin, f"PreemptionPlan {span.event.key}"
    preempted = history.spans("Workload", cluster, lambda body: is_true(body, "Preempted"))
    for spans in preempted.values():
        for span in spans:
            for uid in _mentioned(span.event.body):
                if uid in copies:
                    yield copies[uid], span.begin, f"the preemption of {span.event.key}"


def _evicts(plan: Json) -> bool:
    """Whether the plan of a Workload evicts, or has evicted."""
    is_workload = plan["spec"]["preemptor"]["kind"] == "Workload"
    begun = plan.get("status", {}).get("phase") in ("Evicting", "QuotaReserved")
    return is_workload and begun


def _mentioned(victim: Json) -> list[str]:
    """UIDs of preemptors in the message of the condition."""
    return [
        uid
        for each in victim["status"]["conditions"]
        if each["type"] == "Preempted" and each["status"] == "True"
        for uid in MENTIONED.findall(each["message"])
    ]


def _ends(history: History) -> Iterator[tuple[str, Bounds]]:
    """UIDs of the manager's Workloads that have ended, and when."""
    for uid, spans in history.spans("Workload", MANAGER, lambda body: is_true(body, "Finished")).items():
        yield uid, spans[0].begin
    for cluster in history.workers:
        for spans in history.spans("Job", cluster, _has_ended).values():
            for span in spans:
                uid, moment = _workload_uid(span.event.body), span.begin
                if uid and _was_known(history, cluster, moment.high):
                    yield uid, Bounds(moment.low, moment.high + history.settle)


def _has_ended(job: Json) -> bool:
    return _is_copy(job) and (is_true(job, "Complete") or is_true(job, "Failed"))


def _was_known(history: History, cluster: str, moment: float) -> bool:
    """Whether the manager could see within its time what was in a cluster at this moment."""
    last = moment + history.settle
    away = any(begin <= last and end >= moment for begin, end in history.absences(cluster))
    down = any(
        fault.what == "down" and fault.cluster == MANAGER and fault.begin <= last and fault.end >= moment
        for fault in history.faults
    )
    return not (away or down)


def _is_lost(history: History, cluster: str, moment: Bounds) -> bool:
    """Whether the cluster may have counted as lost then."""
    return any(begin <= moment.high and moment.low <= end for begin, end in history.losses(cluster))


def _is_away(history: History, cluster: str, moment: Bounds) -> bool:
    """Whether the manager could not know then what is in the cluster."""
    return any(begin <= moment.high and moment.low <= end for begin, end in history.absences(cluster))


def _is_by_hand(history: History, event: Event) -> bool:
    return (event.cluster, *event.identity) in history.by_hand


def _together(history: History, one: str, here: Span, other: str, there: Span) -> float | None:
    """A moment when both certainly held, and both clusters could be reached; None if there is none."""
    (first, last), (begin, end) = here.certain, there.certain
    moment, until = max(first, begin), min(last, end)
    away = sorted(history.absences(one) + history.absences(other))
    for begin, end in away:
        if begin <= moment <= end:
            moment = end
    return moment if moment < until else None
