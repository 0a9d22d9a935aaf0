"""Is every deletion that reprieve asked for right? Asked of a history alone: each check returns what is wrong.

A deletion is not judged if the history has a gap around it, and what matters to it has changed there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from api.groups import INITIALLY_SCHEDULED
from tests.kit.stress.history import (
    LAG_SECONDS,
    Asked,
    History,
    Json,
    State,
    has_ended,
    is_alive,
    is_bound,
    name_of,
    victim_pods,
)
from tests.kit.stress.natives import is_native

__all__ = ["CHECKS", "evicted_by", "plans_with", "stopped"]


def broken_units(history: History) -> list[str]:
    """Groups in `all` mode that lost some pods and kept others by evictions of reprieve, and it did not say so."""
    wrong = []
    for plan, victim, first in _begun(history):
        if not history.knows("PodGroup", victim["uid"], first, math.inf):
            continue  # what it said there is not known
        left = {
            state.body["metadata"]["name"]
            for uid in _unit(history, victim, first)
            if is_alive(state := history.of("Pod", uid)[-1])
            and not has_ended(state.body)
            and not _was_protected(history, plan, victim, uid)
        }
        namespace, name = _named(history, victim)
        said = stopped(history, namespace, name)
        if left := {each for each in left if each not in said}:
            wrong.append(f"plan {name_of(plan)} left {sorted(left)} of {namespace}/{name}")
    return wrong


def stopped(history: History, namespace: str, group: str) -> str:
    """What the events and conditions of a PodGroup said about an eviction that stopped halfway."""
    texts = []
    for states in history.states["Event"].values():
        event = states[-1].body
        regarding = event.get("regarding") or {}
        if event["reason"] == "PreemptionStopped" and regarding.get("name") == group:
            texts += [event.get("note", "")] if regarding.get("namespace") == namespace else []
    for states in history.states["PodGroup"].values():
        meta = states[-1].body["metadata"]
        if (meta["namespace"], meta["name"]) == (namespace, group):
            for state in states:
                found = state.body.get("status", {}).get("conditions") or []
                texts += [each.get("message", "") for each in found if each["reason"] == "PreemptionStopped"]
    return "\n".join(texts)


def unlawful_victims(history: History) -> list[str]:
    """Victims whose priority was not lower than their preemptor's, at any moment around the request."""
    wrong = []
    for asked in _judged(history):
        first, last = _window(history, asked)
        for plan in _evicting(history, asked):
            if _releases(plan) or plan["spec"].get("outcome") == "Withdraws":
                continue  # its victims are its own members
            versions = _moments(history, asked, plan, first, last)
            pairs = {_priorities(history, asked.uid, plan, version) for version in versions}
            if pairs and all(victim >= preemptor for victim, preemptor in pairs):
                wrong.append(f"plan {name_of(plan)} evicted {_pod(asked)}: priorities {sorted(pairs)}")
    return wrong


def unlawful_releases(history: History) -> list[str]:
    """Released pods that were no members of the gang that was to be released, or whose gang had run whole before."""
    wrong = []
    for asked in _judged(history):
        first, _ = _window(history, asked)
        for plan in filter(_releases, _evicting(history, asked)):
            pod = _body(history, "Pod", asked.uid, first)
            group = history.group_of(pod, first) if pod is not None else None
            if group is None or group["metadata"]["uid"] != plan["spec"]["preemptor"]["uid"]:
                wrong.append(f"plan {name_of(plan)} released {_pod(asked)}, which is no member of its gang")
            elif _has_run(group):
                wrong.append(f"plan {name_of(plan)} released {_pod(asked)}, whose gang has run whole")
    return wrong


def unplanned_deletions(history: History) -> list[str]:
    """Deletions that no stored plan in phase Evicting asks for, and no unit that such a plan began."""
    return [
        f"{_pod(asked)} was deleted without a plan that evicts it: {_phases(history, asked)}"
        for asked in _judged(history)
        if not _evicting(history, asked)
    ]


def repeated_deletions(history: History) -> list[str]:
    """Pods whose deletion was asked for twice for one plan."""
    counts = Counter(
        (plan["metadata"]["uid"], name_of(plan), asked.uid, _pod(asked))
        for asked in _judged(history)
        for plan in _evicting(history, asked)
    )
    return [
        f"plan {plan} asked {count} times for {pod}"
        for (_, plan, _, pod), count in counts.items()
        if count > 1
    ]


CHECKS: Final[tuple[Callable[[History], list[str]], ...]] = (
    broken_units,
    unlawful_victims,
    unlawful_releases,
    unplanned_deletions,
    repeated_deletions,
)


# ---- what belongs together


def _judged(history: History) -> Iterator[Asked]:
    """The deletions around which everything is known of the pod, of the plans with it, and of PodGroups."""
    for asked in history.deletions:
        first, last = _window(history, asked)
        if not history.has_gap(first, last):
            yield asked
            continue
        plans = [("PreemptionPlan", plan["metadata"]["uid"]) for plan in plans_with(history, asked.uid)]
        groups = [("PodGroup", uid) for uid in history.states["PodGroup"]]
        matters = [("Pod", asked.uid), *plans, *groups]
        if plans and all(history.knows(kind, uid, first, last) for kind, uid in matters):
            yield asked


def _releases(plan: Json) -> bool:
    """Whether the plan's victims are the bound members of its own gang."""
    return bool(plan["spec"].get("outcome") == "Releases")


def _has_run(group: Json) -> bool:
    conditions = group.get("status", {}).get("conditions") or ()
    return any(each["type"] == INITIALLY_SCHEDULED and each["status"] == "True" for each in conditions)


def _begun(history: History) -> Iterator[tuple[Json, Json, int]]:
    """Plans with a victim in `all` mode that reprieve deleted pods of, that victim, and the version of the first."""
    asked = {each.uid: each for each in _judged(history)}
    for states in history.states["PreemptionPlan"].values():
        plan = states[-1].body
        for victim in plan["spec"].get("victims") or ():
            if victim["kind"] != "PodGroup":
                continue
            mine = [
                asked[pod["uid"]]
                for pod in victim["pods"]
                if pod["uid"] in asked and plan in _evicting(history, asked[pod["uid"]])
            ]
            if mine:
                yield plan, victim, min(_window(history, each)[0] for each in mine)


def _named(history: History, victim: Json) -> tuple[str, str]:
    """Namespace and name of a group that is a victim. The plan withholds them if its own namespace is another one."""
    states = history.of("PodGroup", victim["uid"])
    meta = states[-1].body["metadata"] if states else victim
    return meta["namespace"], meta["name"]


def _unit(history: History, victim: Json, version: int) -> set[str]:
    """UIDs of the victim's pods, and of all others that ran in its group at the version."""
    planned = {pod["uid"] for pod in victim["pods"] if history.of("Pod", pod["uid"])}
    group = history.state("PodGroup", victim["uid"], version)
    if group is None or group.gone:
        return planned
    running = (pod for pod in history.members(group.body, version) if is_bound(pod))
    return planned | {pod["metadata"]["uid"] for pod in running}


def _was_protected(history: History, plan: Json, victim: Json, uid: str) -> bool:
    """Whether the group went meanwhile, so that a pod's own priority counts, which is not lower."""
    states = history.of("PodGroup", victim["uid"])
    pod = history.of("Pod", uid)[-1].body
    return bool(states) and states[-1].gone and _own(pod) >= plan["spec"]["preemptor"]["priority"]


def _evicting(history: History, asked: Asked) -> list[Json]:
    """The plans with this victim that evicted at some moment around the request, or had begun its unit."""
    first, last = _window(history, asked)
    return [
        plan
        for plan in plans_with(history, asked.uid)
        if any(
            not state.gone and (_phase(state) == "Evicting" or _has_begun(state.body, asked.uid))
            for state in history.between("PreemptionPlan", plan["metadata"]["uid"], first, last)
        )
    ]


def evicted_by(history: History, uid: str, version: int) -> bool:
    """Whether a plan with this victim evicted at this version or before, or had begun its unit."""
    return any(
        state.version <= version
        and not state.gone
        and (_phase(state) == "Evicting" or _has_begun(state.body, uid))
        for plan in plans_with(history, uid)
        for state in history.of("PreemptionPlan", plan["metadata"]["uid"])
    )


def plans_with(history: History, uid: str) -> list[Json]:
    """The plans that name a pod as a victim, as they were last."""
    return [
        states[-1].body
        for states in history.states["PreemptionPlan"].values()
        if any(pod["uid"] == uid for pod in victim_pods(states[-1].body))
    ]


def _has_begun(plan: Json, uid: str) -> bool:
    begun = plan.get("status", {}).get("begun") or ()
    victims = plan["spec"].get("victims") or ()
    return any(
        victim["uid"] in begun and any(pod["uid"] == uid for pod in victim["pods"]) for victim in victims
    )


def _window(history: History, asked: Asked) -> tuple[int, int]:
    """From what reprieve may have known when it asked, to the deletion itself."""
    first = history.version_at(asked.received - LAG_SECONDS)
    ended = history.ended(asked.uid)
    return first, max(first, history.version_at(asked.answered) if ended is None else ended)


def _moments(history: History, asked: Asked, plan: Json, first: int, last: int) -> list[int]:
    """The versions from `first` to `last` at which a priority of the two may have changed."""
    kinds = [("Pod", asked.uid), ("PodGroup", plan["spec"]["preemptor"]["uid"])]
    kinds += [("PodGroup", uid) for uid in history.states["PodGroup"]]
    changes = {state.version for kind, uid in kinds for state in history.between(kind, uid, first, last)}
    return sorted({first, *(max(first, version) for version in changes)})


def _priorities(history: History, uid: str, plan: Json, version: int) -> tuple[int, int]:
    """The priorities of a victim's unit and of its preemptor at a version. Of an object that is gone, its last one."""
    pod = _body(history, "Pod", uid, version)
    preemptor = _body(history, "PodGroup", plan["spec"]["preemptor"]["uid"], version)
    asks = plan["spec"]["preemptor"]["priority"] if preemptor is None else history.group_priority(preemptor)
    return (0 if pod is None else _unit_priority(history, pod, version)), asks


def _unit_priority(history: History, pod: Json, version: int) -> int:
    group = history.group_of(pod, version)
    if group is None:
        return _own(pod)
    priority = history.group_priority(group)
    if is_native(group):
        return priority
    if "all" not in (group["spec"].get("disruptionMode") or {}):
        return priority
    return min([priority, *(_own(each) for each in history.members(group, version) if is_bound(each))])


def _own(pod: Json) -> int:
    return int(pod["spec"].get("priority") or 0)


def _body(history: History, kind: str, uid: str, version: int) -> Json | None:
    state = history.state(kind, uid, version)
    return state.body if state is not None else None


def _phase(state: State | None) -> str:
    return str(state.body.get("status", {}).get("phase", "Planned")) if state is not None else ""


def _phases(history: History, asked: Asked) -> str:
    """The plans that name a pod, with their phases at the time of the request."""
    version = history.version_at(asked.received)
    said = [
        f"{name_of(plan)} was {_phase(history.state('PreemptionPlan', plan['metadata']['uid'], version))}"
        for plan in plans_with(history, asked.uid)
    ]
    return "; ".join(said) or "no plan names it"


def _pod(asked: Asked) -> str:
    return f"pod {asked.namespace}/{asked.name}"
