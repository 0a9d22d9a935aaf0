"""Whether budgets that are respected still allow what a plan has left to evict, as the mirror shows them.

The API server is asked once more for each pod (`Writer.evict_pod`): its answer counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from api.words import counted
from nodes.state.groups.exempt import is_exempt
from nodes.state.tables import Tables

__all__ = ["exceeded"]


def exceeded(tables: Tables, pods: Iterable[str], namespace: str) -> str:
    """Which budget does not allow the eviction of these pods (UIDs); empty if all do. In words for this namespace.

    Leave out pods that are gone or terminate. Exempt pods do not count. No other pod of several budgets is
    allowed: the API server evicts none.
    """
    tables.label_sets.match_again()
    draws: Counter[int] = Counter()
    for uid in pods:
        if (pod := tables.pod(uid)) is None or _is_exempt(tables, pod):
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


def _is_exempt(tables: Tables, pod: int) -> bool:
    unready = tables.label_sets.exempts_unready(tables.pods.labels.array.item(pod))
    return is_exempt(tables.pods.health.column.array.item(pod), exempts_unready=unready)
