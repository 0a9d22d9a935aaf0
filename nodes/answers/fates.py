"""What becomes of everybody on nodes as things are: what waits and would fit, and which running units would be
evicted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from api.fates import Fate, FateState
from api.plans import PreemptionPlanSpec
from api.progress import Progress, silent
from api.words import counted
from nodes.answers.plan_words import said_of, victims_of
from nodes.answers.verdicts import Verdict, doubts, verdict
from nodes.answers.waiting import waiting
from nodes.groups.keys import short_name
from nodes.search.unmodelled import why_blocked
from nodes.state.columns.flags import TERMINATING
from nodes.state.snapshot import Snapshot

__all__ = ["node_fates"]

STATES: Final[Mapping[Verdict, FateState]] = {"Fits": "Fits", "Preempts": "Preempts", "Unknown": "Unknown"}
"""By what a decision comes to. With anything else it waits."""


def node_fates(snapshot: Snapshot, progress: Progress = silent) -> dict[str, Fate]:
    """By a key that is the same in every snapshot of the cluster: gangs and pods that wait, and pods that run.

    Each gang, and each pod without one, is decided about alone, as if it were the only one that waits. If two decisions
    must be alike, there is one search. A running pod has the fate of its unit.
    """
    fates, goes, might = dict[str, Fate](), dict[str, list[str]](), dict[str, list[str]]()
    units = dict[str, tuple[str, str]]()
    for kind, names, spec in waiting(snapshot, progress):
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
