"""Why a Workload waits for a worker cluster, and which cluster has it: from the objects of the manager alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from answers.worker_clusters import WorkerClusters, check_of, is_over, turns_of
from api.checks import AdmissionCheck
from api.dispatch import DispatchPlan, WorkerCluster
from api.dispatch_words import Stand, cost_text, lines_of, stand_of
from api.foreign_owners import OwningJob
from api.multikueue import CONTROLLER_NAME
from api.times import parse_rfc3339, rfc3339
from api.waits import Place, Wait
from api.words import counted, listed
from api.workloads import AdmissionCheckState, Workload

__all__ = ["of_job", "with_clusters"]

UNASKED: Final = (
    "Once its other admission checks are Ready. Then every cluster of the MultiKueueConfig is asked."
)
WINDOW: Final = (
    "The first gate opens when every cluster that is reached has considered the Workload and the costs are known, at "
    "the latest when multikueue.nonPreemptingWindowSeconds (5 by default) have passed since the first cluster asked. "
    "A turn of another Workload of the same ClusterQueue there begins that time anew."
)
NOBODY_ASKS: Final = "When quota is freed in one of the clusters, or when one of them asks to preempt."
CLOSING: Final = "The next gate opens as soon as that one is seen closed, or its cluster counts as lost."
STAYS_OPEN: Final = (
    "No other cluster asks to preempt, so that gate stays open. The next cluster that asks is next."
)
LOSES_IT: Final = (
    "If the cluster stays away for multikueue.workerLostTimeoutSeconds (900 by default), "
    "the Workload gets another one."
)
ENDS: Final = (
    "When nothing of it runs in cluster {} any longer, or that cluster is lost. Then it queues again."
)
GOES_ON: Final = frozenset({"PodsMissing", "PodsWait", "Running"})
"""States of a Job that is not suspended, and has not ended."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One cluster that the Workload was offered to."""

    name: str
    stand: Stand
    """By its line in the message of the check."""
    text: str
    turns: int
    weighed: WorkerCluster | None
    """What the newest turn says of it."""


def with_clusters(
    answer: Wait,
    workload: Workload,
    checks: Mapping[str, AdmissionCheck],
    clusters: WorkerClusters,
    now: int,
) -> Wait:
    """The answer, with what is known of worker clusters, if the Workload has an AdmissionCheck of MultiKueue.

    `answer`: that of the quota. `checks`: by name. `now`: in microseconds since 1970.
    """
    name, turns = workload.status.cluster_name or "", turns_of(clusters.plans, workload)
    state = check_of(workload, checks)
    if state is None and not name and not workload.status.nominated_cluster_names:
        return answer
    notes = (*answer.notes, *map(_turn_text, turns))
    if clusters.unread:
        notes = (*notes, f"The state of the clusters was not read: {clusters.unread}.")
    answer = replace(answer, notes=notes)
    if turns:
        meta = turns[-1].metadata
        answer = replace(answer, plan=f"{meta.namespace}/{meta.name}", decision=_decision(turns))
    if name:
        return _chosen(answer, name, clusters)
    if answer.state != "AdmissionChecks" or state is None or state.state != "Pending":
        return answer
    return _offered(answer, workload, state, turns, clusters, now)


def of_job(answer: Wait, job: OwningJob, workload: Wait | None) -> Wait:
    """The answer for a Job of the manager, whose pods are in a worker cluster. `answer`: that of the Job as if they
    were here. `workload`: that of its Workload."""
    if job.spec.managed_by != CONTROLLER_NAME or answer.state not in GOES_ON:
        return answer
    cluster = workload.numbers.get("cluster") if workload is not None else None
    where = f"cluster {cluster}" if cluster else "another cluster"
    active = job.status.active or 0
    return replace(
        answer,
        waits=False,
        state="RunsElsewhere",
        sentence=f"It does not wait: it runs in {where}. {counted(active, 'pod')} of it active there.",
        numbers={**answer.numbers, "pods": active} | ({"cluster": cluster} if cluster else {}),
        missing=(),
        tried_again="",
        depends=(workload,) if workload is not None else (),
    )


# ---- a cluster has it


def _chosen(answer: Wait, name: str, clusters: WorkerClusters) -> Wait:
    """It runs in that cluster, or did until now."""
    answer = replace(answer, numbers={**answer.numbers, "cluster": name})
    active, notes = clusters.active(name), answer.notes
    if active is not None and active.status != "True":
        since = f" since {active.last_transition_time}" if active.last_transition_time else ""
        notes = (
            *notes,
            f"Cluster {name} is not connected{since} ({active.reason}: {active.message}). {LOSES_IT}",
        )
    if not clusters.unread and name not in clusters.clusters:
        notes = (*notes, f"There is no MultiKueueCluster {name}.")
    says, again = answer.sentence, answer.tried_again
    match answer.state:
        case "Admitted":
            says = f"{says} It runs in cluster {name}: its pods are there."
        case "AdmissionChecks":
            says = f"{says} Cluster {name} has admitted it."
        case "Evicting":
            says = f"{says} It was in cluster {name}."
            again = ENDS.format(name)
        case _:
            pass
    return replace(answer, notes=notes, sentence=says, tried_again=again)


# ---- no cluster has it yet


def _offered(
    answer: Wait,
    workload: Workload,
    state: AdmissionCheckState,
    turns: Sequence[DispatchPlan],
    clusters: WorkerClusters,
    now: int,
) -> Wait:
    names = workload.status.nominated_cluster_names or []
    others = [
        each.name
        for each in workload.status.admission_checks or ()
        if each.state != "Ready" and each.name != state.name
    ]
    if not names:
        says = "It has quota, and no worker cluster was asked yet."
        if others:
            says = f"{says} First come its other admission checks: {listed(others)}."
        return replace(answer, state="Dispatching", sentence=says, tried_again=UNASKED)
    asked = _asked(names, state.message, turns)
    last = turns[-1] if turns else None
    says = f"It has quota, and waits for a worker cluster: it was offered to {len(asked)}, and none has admitted it."
    if last is not None and not is_over(last):
        says = f"{says} {_whose_turn(last, now)}"
    checked = f"AdmissionCheck {state.name} is {state.state} since {state.last_transition_time}"
    kept = tuple(each for each in answer.waits_for if not each.startswith(f"AdmissionCheck {state.name} "))
    return replace(
        answer,
        state="Dispatching",
        sentence=says,
        places=tuple(_place(each, last, clusters) for each in asked),
        waits_for=(*kept, checked),
        would_help=(f"One of these clusters would have to admit it: {listed(names)}.",),
        tried_again=_next(asked, last, now),
    )


def _asked(names: Iterable[str], message: str, turns: Sequence[DispatchPlan]) -> list[_Asked]:
    names = list(names)
    lines, had = lines_of(message, names), Counter(each.spec.cluster for each in turns)
    weighed = {each.name: each for each in turns[-1].spec.clusters} if turns else {}
    return [
        _Asked(each, stand_of(text := lines.get(each, "")), text, had[each], weighed.get(each))
        for each in names
    ]


def _place(asked: _Asked, last: DispatchPlan | None, clusters: WorkerClusters) -> Place:
    """What one cluster says, and what its preemption would cost."""
    said = [asked.text or "nothing is said of it"]
    active = clusters.active(asked.name)
    if active is not None and active.status != "True" and asked.stand not in ("Away", "Lost"):
        said.append(f"not connected ({active.reason}: {active.message})")
    if last is not None and asked.weighed is not None and asked.stand != "Asks":
        cost = asked.weighed.cost
        if cost is not None:
            said.append(f"its preemption costs {cost_text(cost)}, as it said before turn {last.spec.number}")
    if asked.turns:
        said.append(f"{counted(asked.turns, 'turn')} so far")
    return Place(asked.name, asked.stand, "; ".join(said))


def _whose_turn(last: DispatchPlan, now: int) -> str:
    if now < _time(last.spec.until):
        return f"It is the turn of cluster {last.spec.cluster} to preempt, until {_until(last)}."
    return f"The time of the last turn (cluster {last.spec.cluster}) was over at {_until(last)}."


def _next(asked: Sequence[_Asked], last: DispatchPlan | None, now: int) -> str:
    """What comes next, and when."""
    waiting = [
        each for each in asked if each.stand == "Asks" and (last is None or each.name != last.spec.cluster)
    ]
    if last is None:
        return f"{_order(waiting, '')} {WINDOW}" if waiting else NOBODY_ASKS
    if now < _time(last.spec.until) and not is_over(last):
        if not waiting:
            return f"At {_until(last)} the next cluster that asks has its turn. Now no other cluster asks."
        return (
            f"At {_until(last)} the gate of {last.spec.cluster} is closed. {_order(waiting, last.spec.order)}"
        )
    return f"{_order(waiting, last.spec.order)} {CLOSING}" if waiting else STAYS_OPEN


def _order(waiting: Sequence[_Asked], order: str) -> str:
    """Who is next. The cluster with fewer turns comes first; the order of the others follows from what they say."""
    least = min(each.turns for each in waiting)
    names = [each.name for each in waiting if each.turns == least]
    if len(names) == 1:
        return f"Cluster {names[0]} is next."
    how = (
        "the one that asked first"
        if order == "FirstComeFirstServed"
        else "the one whose preemption costs least"
    )
    return f"One of {listed(names)} is next: {how}." if order else f"One of {listed(names)} is first."


# ---- turns


def _turn_text(plan: DispatchPlan) -> str:
    spec = plan.spec
    text = f"Turn {spec.number}: cluster {spec.cluster}, from {_short(spec.began)} until {_until(plan)}. {spec.reason}"
    if plan.status is not None and is_over(plan):
        text = f"{text} It ended ({plan.status.phase}): {plan.status.reason}"
    return text


def _decision(turns: Sequence[DispatchPlan]) -> dict[str, Any]:
    """The stored turns, for programs."""
    return {
        "turns": [
            {
                "plan": each.metadata.name,
                "spec": msgspec.to_builtins(each.spec),
                "status": msgspec.to_builtins(each.status) if each.status is not None else None,
            }
            for each in turns
        ]
    }


def _until(plan: DispatchPlan) -> str:
    return _short(plan.spec.until)


def _short(time: str) -> str:
    """Without parts of a second."""
    return rfc3339(parse_rfc3339(time))


def _time(text: str) -> float:
    return parse_rfc3339(text) * 1_000_000
