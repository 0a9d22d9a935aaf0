"""Why a pod waits: its scheduler's words, its group's answer, and whether evictions would help a pod without a gang."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import msgspec
import numpy as np

from api.core import Pod
from api.may_name import OTHER_NAMESPACE, MayName, anybody
from api.plans import PreemptionPlan, PreemptionPlanSpec
from api.stored_plans import current_plan, phase_of
from api.waits import Wait
from api.words import listed
from nodes.answers.asking import decide_pod
from nodes.answers.group_waits import OPEN_IT
from nodes.answers.plan_words import Readable, places_of, said_of, victims_of, whole, would_help
from nodes.answers.pod_waits import PodWait, why_pod_waits
from nodes.answers.verdicts import doubts, plain
from nodes.search.preemptors.preemptor import DecisionError
from nodes.search.unmodelled import why_blocked
from nodes.state.columns.flags import is_leaving
from nodes.state.snapshot import Snapshot

__all__ = ["answer_for_pod"]

UNGATED: Final = "When its scheduling gates are removed."


def answer_for_pod(
    snapshot: Snapshot,
    pod: Pod,
    plans: Sequence[PreemptionPlan],
    depends: Sequence[Wait] = (),
    unread: str = "",
    readable: Readable = whole,
    may_name: MayName = anybody,
    *,
    searches: bool = True,
) -> Wait:
    """The answer for the pod. `depends`: those of its group and of its Workload, as far as there are any.

    `plans`: stored ones of its namespace. `unread`: why the search cannot be asked; empty if it can. `readable`,
    `may_name`: what the reader may know. `searches`: False for a caller that needs only the state and the sentence, as
    far as they can be said without the search.
    """
    base, name = why_pod_waits(pod), f"{pod.metadata.namespace}/{pod.metadata.name}"
    known = Wait(
        kind="Pod", name=name, waits=base.waits, state=base.state, sentence=base.sentence, since=base.since,
        numbers=_numbers(pod, base), depends=tuple(depends),
    )  # fmt: skip
    if not base.waits:
        return known
    gang = next((each for each in depends if each.kind == "PodGroup"), None)
    if gang is not None and gang.waits and _is_ganged(gang):
        says = f"It waits with PodGroup {gang.name}.{_beyond(pod, gang)} {base.sentence}"
        return replace(known, sentence=says, tried_again=gang.tried_again)
    if base.state == "Gated":
        return replace(known, tried_again=UNGATED, would_help=_gates(pod))
    again = (
        f"By {base.scheduler}. A kube-scheduler tries it when something changes that could help it, or after "
    )
    again += "five minutes."
    known = replace(known, tried_again=again)
    if searches:
        known = replace(known, waits_for=_leaving(snapshot, pod, may_name))
    if (planned := _by_plan(pod, known, plans, readable)) is not None and not unread:
        return planned
    if unread:
        return replace(known, sentence=f"{_sentence(known.sentence)} The search was not asked: {unread}.")
    if not searches:
        return replace(known, sentence=f"{_sentence(known.sentence)} {OPEN_IT}", source="Engine")
    return _helped(snapshot, pod, known, readable)


def _numbers(pod: Pod, base: PodWait) -> dict[str, int | str]:
    found: dict[str, int | str] = {"scheduler": base.scheduler}
    if pod.spec.priority is not None:
        found["priority"] = pod.spec.priority
    if pod.status.nominated_node_name and base.waits:
        found["nominatedNode"] = pod.status.nominated_node_name
    return found


def _is_ganged(gang: Wait) -> bool:
    """Whether the pod waits for its siblings. Pods of a basic group do not, nor those of most groups of others."""
    return gang.state not in ("Basic", "OfAnotherKind")


def _beyond(pod: Pod, gang: Wait) -> str:
    """Whether the gang's decision does without the pod."""
    placed = (gang.decision or {}).get("placements") or ()
    if not placed or any(each["pod"] == pod.metadata.name for each in placed):
        return ""
    return " The gang can start without it: nothing is evicted for it, and it takes free room only."


def _gates(pod: Pod) -> tuple[str, ...]:
    return (f"The removal of scheduling gates: {listed([g.name for g in pod.spec.scheduling_gates or ()])}.",)


def _leaving(snapshot: Snapshot, pod: Pod, may_name: MayName) -> tuple[str, ...]:
    """Pods that terminate on the node to which the pod is nominated."""
    node = pod.status.nominated_node_name
    if not node or node not in snapshot.node_names:
        return ()
    there = snapshot.pod_live & (snapshot.pod_node == snapshot.node_names.index(node))
    rows = np.flatnonzero(there & is_leaving(snapshot.pod_flags)).tolist()
    return tuple(f"Pod {_name(snapshot, row, may_name)}, which terminates on node {node}" for row in rows)


def _name(snapshot: Snapshot, row: int, may_name: MayName) -> str:
    namespace = snapshot.pod_namespaces[row]
    return f"{namespace}/{snapshot.pod_names[row]}" if may_name("Pod", namespace) else OTHER_NAMESPACE


# ---- whether evictions would help


def _by_plan(pod: Pod, known: Wait, plans: Sequence[PreemptionPlan], readable: Readable) -> Wait | None:
    """With the plan for the pod alone that is carried out; None without such a plan."""
    plan = current_plan(plans, "Pod", pod.metadata.uid, active=True)
    if plan is None:
        return None
    spec = readable(plan.spec)
    says = f"Its plan {plan.metadata.name} is {phase_of(plan)}. {said_of(spec, stored=True)}"
    name = f"{plan.metadata.namespace}/{plan.metadata.name}"
    return _planned(replace(known, source="Plan", plan=name), spec, says)


def _helped(snapshot: Snapshot, pod: Pod, known: Wait, readable: Readable) -> Wait:
    """With what the search finds now for the pod alone."""
    try:
        spec = decide_pod(snapshot, pod.metadata.namespace, pod.metadata.name, strict=False)
    except DecisionError as error:
        return replace(known, sentence=f"{known.sentence} It cannot be planned: {error}.")
    spec = readable(spec)
    return _planned(replace(known, source="Engine"), spec, _help(spec))


def _planned(known: Wait, spec: PreemptionPlanSpec, says: str) -> Wait:
    return replace(
        known,
        sentence=f"{_sentence(known.sentence)} {says}",
        places=places_of(spec),
        waits_for=known.waits_for or (victims_of(spec) if known.source == "Plan" else ()),
        would_help=_would_help(spec),
        not_modelled=() if known.source == "Plan" else doubts(spec),
        decision=msgspec.to_builtins(spec) if known.source == "Plan" else plain(spec),
    )


def _help(spec: PreemptionPlanSpec) -> str:
    if doubts(spec):
        return said_of(spec)
    if spec.outcome == "Preempts":
        return said_of(spec) if why_blocked(spec) else f"Evictions would help: {said_of(spec, who='it')}"
    if spec.outcome == "Fits":
        return f"By the filters that are modelled {said_of(spec, who='it')}"
    return f"Evictions would not help: {spec.reason}."


def _would_help(spec: PreemptionPlanSpec) -> tuple[str, ...]:
    if spec.outcome != "Preempts":
        return would_help(spec)
    return (*would_help(spec), *(f"The eviction of {each}." for each in victims_of(spec)))


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
