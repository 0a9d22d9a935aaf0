"""What becomes of everybody on nodes as things are: what waits and would fit, and which running units would be
evicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from api.fates import Fate, FateState
from api.plans import PreemptionPlanSpec
from api.progress import Progress, going_through, silent
from api.words import counted
from nodes.answers.asking import decide_group, decide_pod
from nodes.answers.plan_words import said_of, victims_of
from nodes.answers.verdicts import Verdict, doubts, verdict
from nodes.groups.keys import short_name
from nodes.search.preemptors.gangs import minimum_of
from nodes.search.preemptors.preemptor import DecisionError
from nodes.search.unmodelled import why_blocked
from nodes.state.columns.flags import GATED, NEVER, TERMINATING
from nodes.state.snapshot import Snapshot

__all__ = ["node_fates"]

STATES: Final[Mapping[Verdict, FateState]] = {"Fits": "Fits", "Preempts": "Preempts", "Unknown": "Unknown"}
"""By what a decision comes to. With anything else it waits."""


def node_fates(snapshot: Snapshot, progress: Progress = silent) -> dict[str, Fate]:
    """By a key that is the same in every snapshot of the cluster: gangs and pods that wait, and pods that run.

    Each gang, and each pod without one, is decided about alone, as if it were the only one that waits. Of pods that
    differ in their names only, one is decided about. A running pod has the fate of its unit.
    """
    fates, goes, might = dict[str, Fate](), dict[str, list[str]](), dict[str, list[str]]()
    units = dict[str, tuple[str, str]]()
    for kind, names, spec in _asked(snapshot, progress):
        for name in names:
            fates[f"{kind} {name}"] = _waiting(kind, name, spec)
        if isinstance(spec, str) or why_blocked(spec):
            continue
        for victim in spec.victims:
            unit = victim.kind, f"{victim.namespace}/{short_name(victim.name)}"
            for pod in victim.pods:
                units[pod.uid] = unit
                (might if doubts(spec) else goes).setdefault(pod.uid, []).append(_named(kind, names))
    return fates | _running(snapshot, units, goes, might)


# ---- who waits


def _asked(
    snapshot: Snapshot, progress: Progress
) -> Iterator[tuple[str, list[str], PreemptionPlanSpec | str]]:
    """Kind, names, and the decision, or why there is none."""
    waiting = snapshot.pod_live & (snapshot.pod_node < 0) & (snapshot.pod_flags & (TERMINATING | GATED) == 0)
    alone = list[int]()
    groups = dict[int, list[int]]()
    for row in np.flatnonzero(waiting).tolist():
        group = int(snapshot.pod_group[row])
        if _is_gang(snapshot, group):
            groups.setdefault(group, []).append(row)
        else:
            alone.append(row)
    for group in going_through(groups, "looking at gangs", progress):
        if _lacks_members(snapshot, group):
            namespace, name = snapshot.group_keys[group]
            yield (
                "PodGroup",
                [f"{namespace}/{short_name(name)}"],
                _decided(snapshot, namespace, name, pod=False),
            )
    for rows in going_through(_alike(snapshot, alone), "looking at kinds of pods", progress):
        names = sorted(f"{snapshot.pod_namespaces[row]}/{snapshot.pod_names[row]}" for row in rows)
        namespace, _, name = names[0].partition("/")
        yield "Pod", names, _decided(snapshot, namespace, name, pod=True)


def _is_gang(snapshot: Snapshot, group: int) -> bool:
    known = snapshot.groups[group] if group >= 0 else None
    return known is not None and known.spec.scheduling_policy.gang is not None


def _lacks_members(snapshot: Snapshot, group: int) -> bool:
    """Whether fewer members have a node than must have one."""
    members = snapshot.pod_live & (snapshot.pod_group == group)
    members &= snapshot.pod_flags & (TERMINATING | GATED) == 0
    bound = int((snapshot.pod_node[members] >= 0).sum())
    known = snapshot.groups[group]
    least = minimum_of(known, int(members.sum()), snapshot.group_succeeded[group]) if known is not None else 0
    return bound < (least or 0)


def _alike(snapshot: Snapshot, rows: list[int]) -> list[list[int]]:
    """Rows of pods that only their names tell apart. One to which room is promised is like no other."""
    claiming = {uid for plan in snapshot.plans for uid in plan.nodes}
    found: dict[tuple[object, ...], list[int]] = {}
    for row in rows:
        key = (
            int(snapshot.pod_class[row]),
            int(snapshot.pod_labels[row]),
            int(snapshot.pod_group[row]),
            int(snapshot.pod_priority[row]),
            int(snapshot.pod_scheduler[row]),
            int(snapshot.pod_flags[row]) & NEVER,
            row if row in snapshot.pod_claims else -1,
            row if row in snapshot.nominated or snapshot.pod_uids[row] in claiming else -1,
        )
        found.setdefault(key, []).append(row)
    return list(found.values())


def _decided(snapshot: Snapshot, namespace: str, name: str, *, pod: bool) -> PreemptionPlanSpec | str:
    decide = decide_pod if pod else decide_group
    try:
        return decide(snapshot, namespace, name, strict=False)
    except DecisionError as error:
        return f"It cannot be planned: {error}."


def _waiting(kind: str, name: str, spec: PreemptionPlanSpec | str) -> Fate:
    if isinstance(spec, str):
        return Fate("Nodes", kind, name, "Waits", "Misconfigured", spec)
    found = verdict(spec)
    state = STATES.get(found, "Waits")
    reason = spec.outcome if found == "Unknown" else "" if state == found else found
    because = () if found == "Blocked" else victims_of(spec)
    return Fate("Nodes", kind, name, state, reason, said_of(spec), because)


def _named(kind: str, names: list[str]) -> str:
    more = f" and {counted(len(names) - 1, 'more pod')} like it" if len(names) > 1 else ""
    return f"{kind} {names[0]}{more}"


# ---- who runs


def _running(
    snapshot: Snapshot,
    units: Mapping[str, tuple[str, str]],
    goes: Mapping[str, list[str]],
    might: Mapping[str, list[str]],
) -> dict[str, Fate]:
    """By UID: `goes` has the preemptors that pods would be evicted for, and `might` those that are Unknown."""
    fates = dict[str, Fate]()
    bound = snapshot.pod_live & (snapshot.pod_node >= 0) & (snapshot.pod_flags & TERMINATING == 0)
    for row in np.flatnonzero(bound).tolist():
        uid, name = snapshot.pod_uids[row], f"{snapshot.pod_namespaces[row]}/{snapshot.pod_names[row]}"
        if preemptors := goes.get(uid):
            says = f"It would be evicted for {_first(preemptors)}."
            fate = Fate("Nodes", *units[uid], "Preempted", "", says, tuple(preemptors))
        elif preemptors := might.get(uid):
            says = f"It is not known whether it would be evicted for {_first(preemptors)}: see there."
            fate = Fate("Nodes", *units[uid], "Unknown", "", says, tuple(preemptors), holds=True)
        else:
            fate = Fate("Nodes", *_unit_of(snapshot, row), "Stays", "", "Nothing that waits would evict it.")
        fates[f"running Pod {name}"] = fate
    return fates


def _first(preemptors: list[str]) -> str:
    return f"{preemptors[0]}, and for {len(preemptors) - 1} more" if len(preemptors) > 1 else preemptors[0]


def _unit_of(snapshot: Snapshot, row: int) -> tuple[str, str]:
    """Kind and name of what goes with the pod: its group if that goes whole, or itself."""
    group = int(snapshot.pod_group[row])
    known = snapshot.groups[group] if group >= 0 else None
    mode = known.spec.disruption_mode if known is not None else None
    if mode is not None and mode.all is not None:
        namespace, name = snapshot.group_keys[group]
        return "PodGroup", f"{namespace}/{short_name(name)}"
    return "Pod", f"{snapshot.pod_namespaces[row]}/{snapshot.pod_names[row]}"
