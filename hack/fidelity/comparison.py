"""Our verdicts and the scheduler's side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hack.fidelity.ours import Said, judge
from hack.fidelity.probe import Answer
from hack.fidelity.world import World
from hack.fidelity.worlds import random_world

__all__ = ["Case", "Difference", "Tally", "compare", "differences", "make_cases", "shrink"]

Json = dict[str, Any]
Ask = Callable[[Sequence[Json]], list[Answer]]


@dataclass(frozen=True)
class Case:
    """A cluster, and what we say of it."""

    seed: int
    world: World
    said: list[Said]


@dataclass(frozen=True)
class Difference:
    """A verdict that is not the scheduler's."""

    pod: str
    node: str
    plugin: str
    """The plugin that refuses the node; empty if we refuse it and the scheduler admits it."""
    reason: str
    step: int

    @property
    def kind(self) -> str:
        """Equal for differences that have the same cause, probably."""
        return f"we admit, {self.plugin} refuses" if self.plugin else "we refuse, it admits"


@dataclass
class Tally:
    """Counts of verdicts, by family of the world."""

    verdicts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    """Nodes that the scheduler refuses."""
    named: Counter[str] = field(default_factory=Counter)
    """Verdicts on pods for which something is only named."""
    only_named: Counter[str] = field(default_factory=Counter)
    """Verdicts that differ, where something is named."""
    differences: list[tuple[Case, Difference]] = field(default_factory=list)

    def add(self, case: Case, answer: Answer) -> None:
        """Count the verdicts of a case."""
        family = case.world.family
        for said, refused in zip(case.said, answer, strict=True):
            self.verdicts[family] += len(said.admits)
            self.refused[family] += len(refused)
            self.named[family] += len(said.admits) if said.named else 0
            differ = sum(admitted == (node in refused) for node, admitted in said.admits.items())
            self.only_named[family] += differ if said.named else 0
        self.differences += [(case, each) for each in differences(case, answer)]


def make_cases(seeds: Sequence[int], family: str | None = None) -> Iterator[Case]:
    """One case for each seed."""
    for seed in seeds:
        world = random_world(Random(seed), family)  # noqa: S311 - no secret
        yield Case(seed, world, judge(world))


def compare(cases: Sequence[Case], ask: Ask, tally: Tally) -> None:
    """Ask the scheduler, and count."""
    for case, answer in zip(cases, ask([case.world.case for case in cases]), strict=True):
        tally.add(case, answer)


def differences(case: Case, answer: Answer) -> Iterator[Difference]:
    """The verdicts that differ where nothing is named."""
    for step, (said, refused) in enumerate(zip(case.said, answer, strict=True)):
        for node, admitted in said.admits.items():
            refusal = refused.get(node)
            if admitted and refusal is not None and not said.named:
                yield Difference(said.pod, node, refusal.plugin, refusal.reason, step)
            elif not admitted and refusal is None and not said.named:
                yield Difference(said.pod, node, "", "", step)


def shrink(case: Case, wanted: Difference, ask: Ask) -> tuple[Case, Difference]:
    """A smaller case with a difference of the same kind: fewer objects, and fewer fields in them."""
    best = case, wanted
    tried = True
    while tried:
        tried = False
        for smaller in _smaller(best[0]):
            found = _differs(smaller, wanted.kind, ask)
            if found is not None:
                best, tried = (smaller, found), True
                break
    return best


def _differs(case: Case, kind: str, ask: Ask) -> Difference | None:
    (answer,) = ask([case.world.case])
    return next((each for each in differences(case, answer) if each.kind == kind), None)


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with one thing less: an object, or a field of one."""
    for smaller in _worlds_less(case.world):
        with suppress(ValueError, KeyError, IndexError, TypeError):
            yield Case(case.seed, smaller, judge(smaller))


def _worlds_less(world: World) -> Iterator[World]:
    for place in range(len(world.steps)):
        less = deepcopy(world)
        less.steps.pop(place)
        yield less
    lists = {"nodes": world.nodes, "pods": world.pods, "members": world.members, **world.objects}
    for name, objects in lists.items():
        for place in range(len(objects)):
            if name in ("nodes", "members") and len(objects) == 1:
                continue
            less = deepcopy(world)
            _list_of(less, name).pop(place)
            if name == "nodes":
                here = {node["metadata"]["name"] for node in less.nodes}
                less.pods = [pod for pod in less.pods if pod["spec"]["nodeName"] in here]
                less.steps = [step for step in less.steps if not step.node or step.node in here]
            yield less
    if world.configuration is not None:
        for part in ("plugins", "pluginConfig"):
            less = deepcopy(world)
            _remove(less.configuration, ("profiles", 0, part))
            yield less
    for name, objects in lists.items():
        for place, each in enumerate(objects):
            for path in _paths(each):
                less = deepcopy(world)
                _remove(_list_of(less, name)[place], path)
                yield less


def _list_of(world: World, name: str) -> list[Json]:
    found: list[Json] = getattr(world, name) if hasattr(world, name) else world.objects[name]
    return found


KEPT = {
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.containers",
    "spec.priority",
}


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to all parts that could be left out, the large ones first."""
    keys: Sequence[Any] = [*value] if isinstance(value, dict) else range(len(value))
    for key in keys:
        inner = (*path, key)
        if len(path) and ".".join(map(str, inner)) not in KEPT:
            yield inner
    for key in keys:
        if isinstance(value[key], dict | list):
            yield from _paths(value[key], (*path, key))


def _remove(value: Any, path: tuple[Any, ...]) -> None:
    for key in path[:-1]:
        value = value[key]
    del value[path[-1]]
