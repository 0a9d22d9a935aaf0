"""Gangs whose members look at pods on other nodes: where we say no, every order of single bindings is tried.

The scheduler's own filters say which nodes take a member once some pods are gone and others are placed. Every choice of
victims, every placement and every order is tried in small clusters. None of them may place the whole gang.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from random import Random
from typing import Any, Final

from api.plans import PreemptionPlanSpec
from hack.fidelity.ours import tables_of
from hack.fidelity.planned import Plans, judge_decided, rank
from hack.fidelity.probe import Answer
from hack.fidelity.selectors import RACK, ZONE
from hack.fidelity.world import Step, World
from hack.fidelity.worlds import GROUP, random_world
from nodes.search.cluster import Cluster, MisplacedError, lay_out
from nodes.search.decision import decide_group
from nodes.search.preemptors.preemptor import group_preemptor
from nodes.state.snapshot import Snapshot

__all__ = ["AFAR", "Orders", "judge_orders"]

Json = dict[str, Any]
Ask = Callable[[Sequence[Json]], list[Answer]]

AFAR: Final = ("spread", "affinity", "anti-affinity")
"""The families whose filters look at other nodes."""
VICTIMS: Final = 6
MEMBERS: Final = 4
"""So small are clusters in which every order is tried."""


@dataclass
class Orders:
    """The results."""

    plans: Plans = field(default_factory=Plans)
    refused: int = 0
    """Gangs to which we say no, and for which all orders were tried."""
    tried: int = 0
    """States of clusters about which the scheduler was asked."""
    missed: list[tuple[int, str]] = field(default_factory=list)
    """Seeds of gangs to which we say no although they could run, and how."""


@dataclass(frozen=True)
class _State:
    """Victims that are gone, and members that are placed, in this order."""

    nodes: frozenset[str]
    """Of the domain."""
    gone: tuple[str, ...]
    placed: tuple[tuple[str, str], ...]

    @property
    def key(self) -> tuple[frozenset[str], tuple[str, ...], frozenset[tuple[str, str]]]:
        """Equal for states that no filter tells apart."""
        return self.nodes, self.gone, frozenset(self.placed)


def judge_orders(seeds: Sequence[int], ask: Ask, orders: Orders) -> None:
    """Plan for the gang of each world, and judge what we say."""
    worlds = []
    for seed in seeds:
        dice = Random(seed)  # noqa: S311 - no secret
        world = random_world(dice, dice.choice(AFAR))
        rank(seed, world)
        world.topology = dice.choice(("", "", ZONE, RACK))
        worlds.append((seed, world, decide_group(tables_of(world).snapshot(), "default", GROUP)))
    judge_decided(worlds, ask, orders.plans)
    for seed, world, spec in worlds:
        if _is_small(world, spec):
            orders.refused += 1
            found = _sequence(world, ask, orders)
            if found is not None:
                orders.missed.append((seed, f"without {found.gone}: {found.placed}"))


def _is_small(world: World, spec: PreemptionPlanSpec) -> bool:
    lower = [pod for pod in world.pods if pod["spec"]["priority"] < 100]
    says_no = not spec.placements and not spec.not_modelled and spec.outcome == "Unschedulable"
    return says_no and len(lower) <= VICTIMS and len(world.members) <= MEMBERS


def _sequence(world: World, ask: Ask, orders: Orders) -> _State | None:
    """A way to place the gang, one member after the other; None if there is none."""
    members = [member["metadata"]["name"] for member in world.members]
    level, seen = list(_beginnings(world)), set()
    while level:
        orders.tried += len(level)
        answers = ask([replace(world, steps=_steps(state, members)).case for state in level])
        following = []
        for state, answer in zip(level, answers, strict=True):
            left = _left(state, members)
            for name, refused in zip(left, answer[len(state.placed) :], strict=True):
                for node in sorted(state.nodes - set(refused)):
                    after = replace(state, placed=(*state.placed, (name, node)))
                    if len(after.placed) == len(members):
                        return after
                    if after.key not in seen:
                        seen.add(after.key)
                        following.append(after)
        level = following
    return None


def _left(state: _State, members: Sequence[str]) -> list[str]:
    placed = {name for name, _ in state.placed}
    return [name for name in members if name not in placed]


def _steps(state: _State, members: Sequence[str]) -> list[Step]:
    """The victims go, the placed members come, and the others are asked about."""
    placed = (Step([], name, node) for name, node in state.placed)
    return [Step(list(state.gone)), *placed, *(Step([], name) for name in _left(state, members))]


def _beginnings(world: World) -> Iterator[_State]:
    """Every domain with every choice of victims."""
    snapshot = tables_of(world).snapshot()
    preemptor = group_preemptor(snapshot, "default", GROUP)
    try:
        cluster = Cluster(snapshot, preemptor, lay_out(snapshot, preemptor))
    except MisplacedError:
        return
    for domain in range(len(cluster.layout.values)):
        rows = cluster.layout.of(domain).tolist()
        nodes = frozenset(snapshot.node_names[row] for row in rows)
        lower = _candidates(cluster, snapshot, set(rows))
        for gone in chain.from_iterable(combinations(lower, size) for size in range(len(lower) + 1)):
            yield _State(nodes, gone, ())


def _candidates(cluster: Cluster, snapshot: Snapshot, rows: set[int]) -> list[str]:
    """Pods of lower priority on nodes of the domain that could take a member."""
    members = cluster.preemptor.unbound
    return [
        snapshot.pod_names[pod]
        for pod in range(len(snapshot.pod_live))
        if snapshot.pod_live[pod]
        and int(snapshot.pod_node[pod]) in rows
        and snapshot.pod_priority[pod] < cluster.preemptor.priority
        and any(cluster.mask(member)[snapshot.pod_node[pod]] for member in members)
    ]
