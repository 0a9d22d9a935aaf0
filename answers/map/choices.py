"""By which labels and resources a map can be shown, kept up to date node by node and group by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from answers.map.blocks import Key, named_keys, ranked_keys, ranked_resources
from nodes.groups.registry import GroupKey
from nodes.state.tables import Tables

__all__ = ["Choices"]


@dataclass(slots=True)
class _Counts:
    """Counts of what exists now, and what each node and group has added to them."""

    nodes: dict[str, tuple[Mapping[str, str], frozenset[str]]] = field(default_factory=dict)
    """Labels and resources by the name of the node."""
    groups: dict[GroupKey, tuple[str, ...]] = field(default_factory=dict)
    """The topology keys that the group names."""
    values: dict[str, Counter[str]] = field(default_factory=dict)
    """Nodes by key and value of their labels."""
    resources: Counter[str] = field(default_factory=Counter)
    """Nodes that have some of it."""
    named: dict[str, Counter[str]] = field(default_factory=dict)
    """PodGroups by topology key, and by namespace."""

    @classmethod
    def of(cls, tables: Tables) -> Self:
        """As if all nodes and groups were set one by one."""
        rows = {
            name: row
            for name in tables.nodes.names.keys
            if name and (row := tables.nodes.find(name)) is not None
        }
        found, has = dict[str, tuple[Mapping[str, str], frozenset[str]]](), _Having(tables)
        for name, row in rows.items():
            shape = tables.nodes.shapes[row]
            found[name] = (shape.labels if shape is not None else {}), has.of(row)
        groups = {
            key: named
            for key in tables.groups.keys.keys
            if key and (named := named_keys(tables.groups.find(*key)))
        }
        return cls(
            nodes=found,
            groups=groups,
            values=_counted(pair for labels, _ in found.values() for pair in labels.items()),
            resources=Counter(each for _, resources in found.values() for each in resources),
            named=_counted((each, key[0]) for key, named in groups.items() for each in named),
        )

    def set_node(self, name: str, now: tuple[Mapping[str, str], frozenset[str]] | None) -> bool:
        """The node is this now; None: it is gone. Returns whether something is not as before."""
        before = self.nodes.pop(name, None)
        if now is not None:
            self.nodes[name] = now
        if before == now:
            return False
        for each, step in ((before, -1), (now, 1)):
            if each is not None:
                labels, resources = each
                for key, value in labels.items():
                    _add(self.values, key, value, step)
                self.resources.update(dict.fromkeys(resources, step))
        return True

    def set_group(self, key: GroupKey, now: tuple[str, ...]) -> bool:
        """The group names these keys now. Returns whether something is not as before."""
        before = self.groups.pop(key, ())
        if now:
            self.groups[key] = now
        for keys, step in ((before, -1), (now, 1)):
            for each in keys:
                _add(self.named, each, key[0], step)
        return before != now


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """What there is to choose from, at one moment."""

    nodes: int
    values: Mapping[str, int]
    """How many values each label of nodes has."""
    resources: Mapping[str, int]
    """How many nodes have each resource, in the order of snapshots."""
    named: Mapping[str, Mapping[str, int]]
    """How many PodGroups name each key, by namespace."""
    _counts: _Counts

    @classmethod
    def of(cls, tables: Tables) -> Self:
        """Of all that the tables have."""
        return cls._made(tables, _Counts.of(tables))

    def after(self, tables: Tables, names: Iterable[str], groups: Iterable[GroupKey]) -> Choices:
        """Once these nodes and groups have changed. The same object if the choices are as before."""
        counts, changed, has = self._counts, False, _Having(tables)
        for name in names:
            changed |= counts.set_node(name, _node(tables, name, has))
        for key in set(groups):
            changed |= counts.set_group(key, named_keys(tables.groups.find(*key)))
        return self._made(tables, counts) if changed else self

    @classmethod
    def _made(cls, tables: Tables, counts: _Counts) -> Self:
        return cls(
            nodes=len(counts.nodes),
            values={key: len(values) for key, values in counts.values.items()},
            resources={name: counts.resources[name] for name in tables.resources.ordered()[0]},
            named={key: dict(spaces) for key, spaces in counts.named.items()},
            _counts=counts,
        )

    def keys(self, lists_groups: Callable[[str], bool]) -> list[Key]:
        """See `answers.map.blocks.keys_of`."""
        named = {
            key: sum(count for space, count in spaces.items() if lists_groups(space))
            for key, spaces in self.named.items()
        }
        return ranked_keys(self.values, self.nodes, {key: count for key, count in named.items() if count})

    def ranked(self, *, counts_pods: bool) -> list[str]:
        """See `answers.map.blocks.resources_of`."""
        return ranked_resources(self.resources, counts_pods=counts_pods)


class _Having:
    """Which resources nodes have. Most have the same."""

    def __init__(self, tables: Tables) -> None:
        self._columns = tables.resources.columns()
        self._amounts = tables.nodes.allocatable.array
        self._known: dict[bytes, frozenset[str]] = {}
        """By what is true of the columns."""

    def of(self, row: int) -> frozenset[str]:
        """Those that the node in this row has."""
        has = self._amounts[row] > 0
        known = self._known.get(key := has.tobytes())
        if known is None:
            known = frozenset(each for each, column in self._columns.items() if has[column])
            self._known[key] = known
        return known


def _node(tables: Tables, name: str, has: _Having) -> tuple[Mapping[str, str], frozenset[str]] | None:
    row = tables.nodes.find(name)
    if row is None:
        return None
    shape = tables.nodes.shapes[row]
    return (shape.labels if shape is not None else {}), has.of(row)


def _counted(pairs: Iterable[tuple[str, str]]) -> dict[str, Counter[str]]:
    """How often the pairs are there, by their first and their second part."""
    found = dict[str, Counter[str]]()
    for (first, second), count in Counter(pairs).items():
        found.setdefault(first, Counter())[second] = count
    return found


def _add(counts: dict[str, Counter[str]], key: str, value: str, step: int) -> None:
    """Add to a count. Those of 0 are not kept."""
    those = counts.setdefault(key, Counter())
    those[value] += step
    if not those[value]:
        del those[value]
    if not those:
        del counts[key]
