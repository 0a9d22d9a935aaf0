"""The nodes in blocks by the value of a label, and which labels and resources a reader may choose from."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from api.requests import PODS
from nodes.state.snapshot import Snapshot

__all__ = ["Blocks", "Key", "blocks_by", "keys_of", "natural", "resources_of"]

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
    """Labels of nodes by which blocks make sense: first those that most PodGroups name, then those that clouds give.

    `lists_groups`: whether the reader may list the PodGroups of a namespace.
    """
    values = _values(snapshot)
    named = Counter(key for key in _named(snapshot, lists_groups) if key in values)
    nodes = len(snapshot.node_order)
    shared = [key for key, those in values.items() if key in WELL_KNOWN or 1 < len(those) < nodes]
    order = {key: place for place, key in enumerate(WELL_KNOWN)}
    ranked = sorted({*named, *shared}, key=lambda key: (-named[key], order.get(key, len(order)), key))
    return [Key(key, named[key]) for key in ranked[:MOST_KEYS]]


def _named(snapshot: Snapshot, lists_groups: Callable[[str], bool]) -> Iterable[str]:
    """The topology key of each PodGroup that has one."""
    for group in snapshot.groups:
        constraints = group.spec.scheduling_constraints if group is not None else None
        if group is not None and constraints is not None and lists_groups(group.metadata.namespace):
            yield from (each.key for each in constraints.topology or ())


def _values(snapshot: Snapshot) -> Mapping[str, set[str]]:
    """The values of each label of nodes."""
    found = defaultdict[str, set[str]](set)
    for row in snapshot.node_order.tolist():
        shape = snapshot.node_shapes[row]
        for key, value in (shape.labels if shape is not None else {}).items():
            found[key].add(value)
    return found


def resources_of(snapshot: Snapshot, *, counts_pods: bool) -> list[str]:
    """Resources that nodes have, the one first that is shown if nobody chooses: an extended one before cpu.

    `counts_pods`: whether the reader may know how many pods each node has, which is a resource, too.
    """
    has = (snapshot.allocatable[snapshot.node_order] > 0).sum(axis=0)
    counts = {
        name: int(has[column])
        for column, name in enumerate(snapshot.resources)
        if counts_pods or name != PODS
    }
    extended = [name for name in counts if "/" in name and counts[name]]
    first = min(extended, key=lambda name: (-counts[name], name), default=USUAL)
    others = [name for name in counts if name != first and (counts[name] or name == USUAL)]
    return [first, *others]
