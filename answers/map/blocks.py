"""The nodes in blocks by the value of a label, and which labels and resources a reader may choose from."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from api.groups import PodGroup
from api.requests import PODS
from nodes.state.snapshot import Snapshot

__all__ = [
    "Blocks",
    "Key",
    "blocks_by",
    "keys_of",
    "named_keys",
    "natural",
    "ranked_keys",
    "ranked_resources",
    "resources_of",
]

WELL_KNOWN: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
"""Labels that clouds give to nodes, the narrower one first."""
MOST_KEYS: Final = 50
DIGITS: Final = re.compile(r"([0-9]+)")
USUAL: Final = "cpu"


@dataclass(frozen=True, slots=True)
class Key:
    """A label by which nodes may stand in blocks."""

    key: str
    pod_groups: int
    """How many PodGroups that the reader may list name it as their topology key."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The nodes that exist, block by block, and in each block by name."""

    values: Sequence[str | None]
    """The value of the label by block. The last one is None if nodes have no such label."""
    rows: Sequence[int]
    """Rows of the nodes in the snapshot."""
    of: Sequence[int]
    """By node, as `rows`: its block."""


def natural(text: str) -> tuple[tuple[str, int, str], ...]:
    """A key by which `rack-2` comes before `rack-10`."""
    parts = DIGITS.split(text)
    # Numbers are compared by their length first. A name may have any number of digits.
    return tuple(
        (part, len(digits := number.lstrip("0")), digits)
        for part, number in zip(parts[::2], [*parts[1::2], ""], strict=True)
    )


def blocks_by(snapshot: Snapshot, key: str) -> Blocks:
    """The nodes by the value of this label; all of them in one block if no node has it."""
    found = defaultdict[str | None, list[int]](list)
    for row in snapshot.node_order.tolist():
        shape = snapshot.node_shapes[row]
        found[shape.labels.get(key) if shape is not None else None].append(row)
    values = sorted(found, key=lambda value: (value is None, natural(value or ""), value or ""))
    names = snapshot.node_names
    rows = [sorted(found[value], key=lambda row: (natural(names[row]), names[row])) for value in values]
    return Blocks(
        values,
        [row for block in rows for row in block],
        [at for at, block in enumerate(rows) for _ in block],
    )


def keys_of(snapshot: Snapshot, lists_groups: Callable[[str], bool]) -> list[Key]:
    """See `ranked_keys`. `lists_groups`: whether the reader may list the PodGroups of a namespace."""
    values = {key: len(those) for key, those in _values(snapshot).items()}
    return ranked_keys(values, len(snapshot.node_order), Counter(_named(snapshot, lists_groups)))


def ranked_keys(values: Mapping[str, int], nodes: int, named: Mapping[str, int]) -> list[Key]:
    """Labels of nodes by which blocks make sense: first those that most PodGroups name, then those that clouds give.

    `values`: how many each label of nodes has. `nodes`: how many exist. `named`: how many PodGroups name each key.
    """
    counts = Counter({key: count for key, count in named.items() if key in values})
    shared = [key for key, those in values.items() if key in WELL_KNOWN or 1 < those < nodes]
    order = {key: place for place, key in enumerate(WELL_KNOWN)}
    ranked = sorted({*counts, *shared}, key=lambda key: (-counts[key], order.get(key, len(order)), key))
    return [Key(key, counts[key]) for key in ranked[:MOST_KEYS]]


def _named(snapshot: Snapshot, lists_groups: Callable[[str], bool]) -> Iterable[str]:
    """The topology key of each PodGroup that has one."""
    for group in snapshot.groups:
        if group is not None and (keys := named_keys(group)) and lists_groups(group.metadata.namespace):
            yield from keys


def _values(snapshot: Snapshot) -> Mapping[str, set[str]]:
    """The values of each label of nodes."""
    found = defaultdict[str, set[str]](set)
    for row in snapshot.node_order.tolist():
        shape = snapshot.node_shapes[row]
        for key, value in (shape.labels if shape is not None else {}).items():
            found[key].add(value)
    return found


def resources_of(snapshot: Snapshot, *, counts_pods: bool) -> list[str]:
    """See `ranked_resources`."""
    has = (snapshot.allocatable[snapshot.node_order] > 0).sum(axis=0)
    counts = {name: int(has[column]) for column, name in enumerate(snapshot.resources)}
    return ranked_resources(counts, counts_pods=counts_pods)


def ranked_resources(nodes: Mapping[str, int], *, counts_pods: bool) -> list[str]:
    """Resources that nodes have, the one first that is shown if nobody chooses: an extended one before cpu.

    `nodes`: how many have each resource. `counts_pods`: whether the reader may know how many pods each node has, which
    is a resource, too.
    """
    counts = {name: count for name, count in nodes.items() if counts_pods or name != PODS}
    extended = [name for name in counts if "/" in name and counts[name]]
    first = min(extended, key=lambda name: (-counts[name], name), default=USUAL)
    others = [name for name in counts if name != first and (counts[name] or name == USUAL)]
    return [first, *others]


def named_keys(group: PodGroup | None) -> tuple[str, ...]:
    """The topology keys that the PodGroup names."""
    constraints = group.spec.scheduling_constraints if group is not None else None
    return tuple(each.key for each in constraints.topology or ()) if constraints is not None else ()
