"""Disruption budgets, and which budgets select which label set.

A budget with `matchLabels` is filed under one of its pairs. So a label set finds its budgets by its own pairs, without
a comparison with every budget. A changed selector only marks its namespace. The next snapshot matches the label sets
of that namespace again.

See docs/decisions/0005.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np

from api.core import PodDisruptionBudget, PodDisruptionBudgetStatus
from api.meta import LabelSelector
from api.selectors import matches
from nodes.state.columns.columns import Column, Columns, Register, Rows
from nodes.state.columns.flags import SEVERAL, UNSELECTED
from nodes.state.groups.exempt import exempts_unready

__all__ = ["BudgetRow", "BudgetTable", "LabelSets"]

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """A PodDisruptionBudget: status.disruptionsAllowed, and the names in status.disruptedPods."""

    namespace: str
    name: str
    allowed: int
    disrupted: frozenset[str]
    unknown: str = ""
    """What nobody has shown, so that `allowed` is not known: an owner; empty if it is known. Live it always is."""
    exempts_unready: bool = False
    """See `nodes.state.groups.exempt`."""
    selects_all: bool = False
    """Whether the selector is empty. Then it selects all pods of its namespace, but kube-scheduler's preemption takes
    it for one that selects none."""


class _Filed(NamedTuple):
    """A budget of one namespace with its selector."""

    row: int
    selector: LabelSelector


class BudgetTable:
    """PodDisruptionBudgets by row."""

    def __init__(self) -> None:
        self.rows: list[BudgetRow | None] = []
        self._numbers = Rows()
        self._by_name: dict[tuple[str, str], int] = {}
        self._selectors: dict[int, LabelSelector | None] = {}
        self._filed: dict[str, dict[Pair | None, list[_Filed]]] = {}
        self.changes = 0
        """Grows whenever a budget comes, goes, or changes what decisions depend on."""
        self.touched: set[str] = set()
        """Namespaces in which a selector has changed since the label sets were last matched."""

    def __len__(self) -> int:
        """Budgets that exist."""
        return len(self._by_name)

    def upsert(self, budget: PodDisruptionBudget, unknown: str = "") -> bool:
        """Add or change a budget. Returns whether something changed that decisions depend on.

        `unknown`: see `BudgetRow`.
        """
        meta, status = budget.metadata, budget.status or PodDisruptionBudgetStatus()
        key = (meta.namespace, meta.name)
        row = self._by_name.get(key)
        disrupted = frozenset(status.disrupted_pods or ())
        selector = budget.spec.selector
        new = BudgetRow(
            *key,
            status.disruptions_allowed or 0,
            disrupted,
            unknown,
            exempts_unready(budget),
            selector is not None and not selector.match_labels and not selector.match_expressions,
        )
        before = self.rows[row] if row is not None else None
        if row is None:
            row = self._by_name[key] = self._numbers.take()
            if row == len(self.rows):
                self.rows.append(None)
        self.rows[row] = new
        changed = self._file(row, meta.namespace, budget.spec.selector, is_new=before is None) | (
            before != new
        )
        self.changes += changed
        return changed

    def delete(self, namespace: str, name: str) -> bool:
        """Remove the budget. Returns whether it existed."""
        row = self._by_name.pop((namespace, name), None)
        if row is None:
            return False
        self._unfile(row, namespace)
        self.rows[row] = None
        self._numbers.give_back(row)
        self.changes += 1
        return True

    def selecting(self, namespace: str, labels: Mapping[str, str]) -> tuple[int, ...]:
        """Rows of the budgets that select these labels, ascending."""
        filed = self._filed.get(namespace)
        if not filed:
            return ()
        found = [*filed.get(None, ()), *(entry for pair in labels.items() for entry in filed.get(pair, ()))]
        return tuple(sorted(entry.row for entry in found if _selects(entry.selector, labels)))

    def _file(self, row: int, namespace: str, selector: LabelSelector | None, *, is_new: bool) -> bool:
        """Note the budget's selector. Returns whether the selector changed."""
        if not is_new:
            if self._selectors[row] == selector:
                return False
            self._unfile(row, namespace)
        self._selectors[row] = selector
        if selector is not None:
            pairs = self._filed.setdefault(namespace, {})
            pairs.setdefault(_filed_under(selector), []).append(_Filed(row, selector))
            self.touched.add(namespace)
        return True

    def _unfile(self, row: int, namespace: str) -> None:
        selector = self._selectors.pop(row)
        if selector is None:
            return
        pairs = self._filed[namespace]
        pair = _filed_under(selector)
        pairs[pair] = [entry for entry in pairs[pair] if entry.row != row]
        if not pairs[pair]:
            del pairs[pair]
        if not pairs:
            del self._filed[namespace]
        self.touched.add(namespace)


def _filed_under(selector: LabelSelector) -> Pair | None:
    return next(iter(selector.match_labels.items())) if selector.match_labels else None


def _selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether the selector selects the labels. An invalid selector selects nothing, as upstream."""
    try:
        return matches(selector, labels)
    except ValueError:
        return False


class LabelSets:
    """The (namespace, labels) of pods, interned, each with the budgets that select it."""

    def __init__(self, budgets: BudgetTable) -> None:
        self._budgets = budgets
        self.keys: Register[tuple[str, bytes]] = Register()
        """Keys are (namespace, labels as sorted JSON). The JSON takes half the memory of the pairs."""
        self.sets: list[tuple[str, Mapping[str, str]] | None] = []
        self.selected_by: list[tuple[int, ...]] = []
        self.only = Column(np.int32, UNSELECTED)
        """The only budget that selects each label set, or UNSELECTED, or SEVERAL."""
        self._columns = Columns(self.only)
        self._by_namespace: dict[str, set[int]] = {}

    def hold(self, namespace: str, labels: Mapping[str, str]) -> int:
        """Count one more reference to the label set. Returns its row."""
        row, new = self.keys.hold((namespace, msgspec.json.encode(labels, order="sorted")))
        if new:
            if row == len(self.sets):
                self.sets.append(None)
                self.selected_by.append(())
            self.sets[row] = (namespace, {key: sys.intern(value) for key, value in labels.items()})
            self._select(row, self._budgets.selecting(namespace, labels))
            self._by_namespace.setdefault(namespace, set()).add(row)
        return row

    def drop(self, row: int) -> None:
        """Count one reference less. The row is free after the last one."""
        if not self.keys.drop(row):
            return
        held = self.sets[row]
        self.sets[row] = None
        self._select(row, ())
        if held is not None:
            rows = self._by_namespace[held[0]]
            rows.discard(row)
            if not rows:
                del self._by_namespace[held[0]]

    def exempts_unready(self, row: int) -> bool:
        """Whether pods with these labels are exempt from their only budget while they run and are not Ready."""
        selecting = self.selected_by[row]
        budget = self._budgets.rows[selecting[0]] if len(selecting) == 1 else None
        return budget is not None and budget.exempts_unready

    def match_again(self) -> None:
        """Bring `selected_by` up to date with the budgets' selectors."""
        for namespace in self._budgets.touched:
            for row in self._by_namespace.get(namespace, ()):
                held = self.sets[row]
                if held is not None:
                    self._select(row, self._budgets.selecting(*held))
        self._budgets.touched.clear()

    def _select(self, row: int, budgets: tuple[int, ...]) -> None:
        self._columns.reach(row + 1)
        self.selected_by[row] = budgets
        self.only.array[row] = budgets[0] if len(budgets) == 1 else SEVERAL if budgets else UNSELECTED
