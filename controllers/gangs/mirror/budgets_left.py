"""Whether budgets that are respected still allow what a plan has left to evict, as the mirror shows them.

The API server is asked once more for each pod (`Writer.evict_pod`): its answer counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from api.words import counted
from nodes.state.groups.uncounted import is_uncounted
from nodes.state.tables import Tables

__all__ = ["exceeded"]


def exceeded(tables: Tables, pods: Iterable[str], namespace: str) -> str:
    """Which budget does not allow the eviction of these pods (UIDs); empty if all do. In words for this namespace.

    Leave out pods that are gone or terminate. A pod of several budgets is never allowed: the API server evicts none.
    """
    tables.label_sets.match_again()
    draws: Counter[int] = Counter()
    for uid in pods:
        if (pod := tables.pod(uid)) is None or _is_uncounted(tables, pod):
            continue
        rows = tables.label_sets.selected_by[tables.pods.labels.array.item(pod)]
        if len(rows) > 1:
            return f"{len(rows)} PodDisruptionBudgets select one pod"
        for row in rows:
            budget = tables.budgets.rows[row]
            draws[row] += budget is not None and tables.pods.names[pod] not in budget.disrupted
    for row in sorted(draws):
        budget = tables.budgets.rows[row]
        if budget is not None and draws[row] > budget.allowed:
            which = f" {budget.name}" if budget.namespace == namespace else " of another namespace"
            return f"PodDisruptionBudget{which} allows {budget.allowed} of {counted(draws[row], 'eviction')}"
    return ""


def _is_uncounted(tables: Tables, pod: int) -> bool:
    lets = tables.label_sets.let_unready_go(tables.pods.labels.array.item(pod))
    return is_uncounted(tables.pods.health.column.array.item(pod), lets_unready_go=lets)
