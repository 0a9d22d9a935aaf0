"""Which pods count against budgets, for a preemptor of some BudgetPolicy (`api.disruption`).

Prefer: all pods, as in kube-scheduler's preemption. Respect: those that are not exempt, as in the Eviction API
(`nodes.state.groups.exempt`). Ignore: none.

See docs/decisions/0094.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from api.disruption import BudgetPolicy
from nodes.state.columns.flags import SEVERAL, UNSELECTED
from nodes.state.groups.exempt import EXEMPT
from nodes.state.snapshot import Snapshot

__all__ = ["budgets_of", "counting"]


def counting(snapshot: Snapshot, policy: BudgetPolicy) -> Snapshot:
    """The snapshot with the pods that do not count under this policy."""
    if policy == "Ignore":
        return replace(
            snapshot,
            label_budgets=[()] * len(snapshot.label_budgets),
            label_budget=np.full_like(snapshot.label_budget, UNSELECTED),
        )
    if policy == "Prefer" or not any(snapshot.budgets):
        return snapshot
    # UNSELECTED and SEVERAL index the last places: pods without a budget, or with several, stay False there.
    unready = np.zeros(len(snapshot.budgets) - min(UNSELECTED, SEVERAL), np.intp)
    unready[: len(snapshot.budgets)] = [
        each is not None and each.exempts_unready for each in snapshot.budgets
    ]
    return replace(
        snapshot,
        pod_exempt=EXEMPT[snapshot.pod_health, unready[snapshot.label_budget][snapshot.pod_labels]],
    )


def budgets_of(snapshot: Snapshot, rows: Iterable[int]) -> dict[int, int]:
    """How many of these pods count against each budget, by row of the budget."""
    matching: Counter[int] = Counter()
    exempt = snapshot.pod_exempt
    for row in rows:
        if exempt is not None and exempt[row]:
            continue
        name = snapshot.pod_names[row]
        for budget in snapshot.label_budgets[int(snapshot.pod_labels[row])]:
            held = snapshot.budgets[budget]
            matching[budget] += held is not None and name not in held.disrupted
    return dict(matching)
