"""How far disruption budgets count: the BudgetPolicy of a preemptor (`api.disruption`).

Prefer is the search as it is: budgets are the first column of the score. With Ignore, the search knows no budget. With
Respect, it knows no unit that could never go, and a domain whose best plan exceeds a budget does not take the
preemptor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from api import plan_results
from api.disruption import BudgetPolicy
from api.plans import PreemptionPlanSpec
from api.words import counted
from native.codes import PREEMPTS
from native.nodes.problem import SCORE_COLUMNS, Solution
from nodes.search.counted import budgets_of, counting
from nodes.search.preemptors.preemptor import Preemptor
from nodes.state.columns.flags import STAYING, TERMINATING
from nodes.state.snapshot import Snapshot

__all__ = ["OVER_BUDGET", "bounded", "may_be_stopped", "name_stopping", "under"]

Bools = NDArray[np.bool_]

OVER_BUDGET: Final = 4
"""As an outcome of a domain, beside those of the kernels: the best plan there exceeds budgets that are respected."""
VIOLATIONS: Final = SCORE_COLUMNS.index("violations")
NAMED: Final = 5
"""Budgets that a reason names; the plan lists them all."""


def under(snapshot: Snapshot, policy: BudgetPolicy) -> Snapshot:
    """The snapshot for a preemptor with this policy."""
    counted_so = counting(snapshot, policy)
    if policy != "Respect":
        return counted_so
    stays = _never_evicted(counted_so)
    return replace(counted_so, pod_flags=np.where(stays, snapshot.pod_flags | STAYING, snapshot.pod_flags))


def _never_evicted(snapshot: Snapshot) -> Bools:
    """[P], pods of units that exceed a budget alone, and pods of several budgets, which the API server never evicts."""
    runs = snapshot.pod_live & (snapshot.pod_node >= 0) & (snapshot.pod_flags & TERMINATING == 0)
    if snapshot.pod_exempt is not None:
        runs &= ~snapshot.pod_exempt
    several = np.array([len(rows) > 1 for rows in snapshot.label_budgets], np.bool_)
    allowed = np.array([each.allowed if each is not None else 0 for each in snapshot.budgets], np.int64)
    row = _budget_of(snapshot)
    draws = runs & (row >= 0)
    stays: Bools = runs & several[snapshot.pod_labels]
    if not len(allowed):
        return stays
    stays |= draws & (allowed[row] <= 0)
    together = draws & _goes_whole(snapshot)[snapshot.pod_group]
    pairs, first, count = np.unique(
        snapshot.pod_group[together].astype(np.int64) * len(allowed) + row[together],
        return_index=True,
        return_counts=True,
    )
    # One pod that stays is enough: its whole group stays.
    stays[np.flatnonzero(together)[first[count > allowed[pairs % len(allowed)]]]] = True
    return stays


def _budget_of(snapshot: Snapshot) -> NDArray[np.int64]:
    """[P], the row of the budget that the pod counts against; -1 if it counts against none, or against several."""
    of_labels = [rows[0] if len(rows) == 1 else -1 for rows in snapshot.label_budgets]
    found: NDArray[np.int64] = np.array(of_labels, np.int64)[snapshot.pod_labels]
    for row, budget in enumerate(snapshot.budgets):
        if budget is not None and budget.disrupted:
            selected = np.flatnonzero(found == row).tolist()
            found[[pod for pod in selected if snapshot.pod_names[pod] in budget.disrupted]] = -1
    return found


def _goes_whole(snapshot: Snapshot) -> Bools:
    """[G + 1], the groups in `all` mode. The last one stands for pods without a group."""
    return np.append(snapshot.group_columns.whole, 0).astype(np.bool_)


def bounded(found: Solution, policy: BudgetPolicy) -> Solution:
    """What the search has found, less the domains whose best plan exceeds budgets that are respected."""
    if policy != "Respect":
        return found
    outcomes = [
        OVER_BUDGET if outcome == PREEMPTS and score[VIOLATIONS] > 0 else outcome
        for outcome, score in zip(found.outcomes, found.scores, strict=True)
    ]
    if found.winner < 0 or outcomes[found.winner] != OVER_BUDGET:
        return replace(found, outcomes=outcomes)
    return replace(found, outcomes=outcomes, winner=-1, victims=[], placed=[])


def may_be_stopped(preemptor: Preemptor, spec: PreemptionPlanSpec) -> bool:
    """Whether budgets may be what keeps this decision from evicting anybody."""
    failed = spec.outcome in ("Unschedulable", "SearchBudgetExhausted")
    return failed and preemptor.budgets == "Respect" and preemptor.evicts


def name_stopping(spec: PreemptionPlanSpec, snapshot: Snapshot, would: PreemptionPlanSpec) -> None:
    """Name the budgets that stop the preemptor. `would`: its plan if they were only preferred.

    `snapshot`: with the pods that are exempt.
    """
    budgets = _stopping(snapshot, would)
    if budgets:
        spec.stopped_by_pod_disruption_budgets = budgets
        spec.reason = f"{_stopped(budgets, spec.preemptor.namespace)}; {spec.reason}"


def _stopping(snapshot: Snapshot, would: PreemptionPlanSpec) -> list[plan_results.StoppingBudget]:
    """The budgets that stop this plan, sorted: those that it exceeds, and those that are not a pod's only one."""
    rows = [
        row
        for victim in would.victims
        for pod in victim.pods
        if (row := snapshot.pod_rows.get(pod.uid)) is not None
    ]
    found = {row for row, pods in budgets_of(snapshot, rows).items() if pods > _allowed(snapshot, row)}
    for pod in rows:
        of_pod = snapshot.label_budgets[int(snapshot.pod_labels[pod])]
        found.update(of_pod if len(of_pod) > 1 and _counts(snapshot, pod) else ())
    budgets = [budget for row in found if (budget := snapshot.budgets[row]) is not None]
    return sorted(
        (plan_results.StoppingBudget(each.namespace, each.name, each.allowed) for each in budgets),
        key=lambda each: (each.namespace, each.name),
    )


def _counts(snapshot: Snapshot, pod: int) -> bool:
    return snapshot.pod_exempt is None or not snapshot.pod_exempt[pod]


def _allowed(snapshot: Snapshot, row: int) -> int:
    budget = snapshot.budgets[row]
    return budget.allowed if budget is not None else 0


def _stopped(budgets: Sequence[plan_results.StoppingBudget], namespace: str) -> str:
    """Why nothing is evicted, for readers of this namespace: budgets of other namespaces are only counted."""
    own = [f"{each.name} (allows {each.allowed})" for each in budgets if each.namespace == namespace]
    foreign = len(budgets) - len(own)
    others = [f"{counted(foreign, 'budget')} of other namespaces"] if foreign else []
    return f"PodDisruptionBudgets are respected, and stop it: {', '.join([*own[:NAMED], *others])}"
