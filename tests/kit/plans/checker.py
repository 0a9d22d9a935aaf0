"""When is a plan right? Asked of the plain objects alone, by exact and slow means, with none of the engine's code."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.kit.plans.apart import are_apart, relations
from tests.kit.plans.raw import GROUP_LABEL, OUR_GATE, Amounts, Cluster, Object, Unit, admits

Key = tuple[str, str]
Score = tuple[int, int, int, int, int]


@dataclass
class Case:
    """One gang in one cluster."""

    cluster: Cluster
    namespace: str
    name: str
    excluded: Collection[tuple[Key, str]] = ()
    """Pods and nodes that must not come together."""
    chosen: Sequence[Key] | None = None
    """The required members, if they are not the oldest ones."""

    @classmethod
    def of(
        cls, objects: Iterable[Object], preemptor: str, excluded: Collection[tuple[Key, str]] = ()
    ) -> Case:
        namespace, _, name = preemptor.partition("/")
        return cls(Cluster.of(objects), namespace, name, excluded)

    @property
    def group(self) -> Object:
        return self.cluster.groups[self.namespace, self.name]

    @property
    def minimum(self) -> int:
        """How many members must run."""
        wanted = int(self.group["spec"]["schedulingPolicy"]["gang"]["minCount"])
        left, members = max(0, wanted - self.succeeded), len(self.members)
        conditions = self.group.get("status", {}).get("conditions", ())
        if any(
            each["type"] == "PodGroupInitiallyScheduled" and each["status"] == "True" for each in conditions
        ):
            return min(left, members)
        return max(left, min(wanted, members))

    @cached_property
    def succeeded(self) -> int:
        """How many members Succeeded, and are not older than the group."""
        since = self.group["metadata"].get("creationTimestamp", "")
        return sum(
            meta["namespace"] == self.namespace
            and (meta.get("labels") or {}).get(GROUP_LABEL) == self.name
            and meta.get("creationTimestamp", "") >= since
            for meta in self.cluster.succeeded
        )

    @cached_property
    def members(self) -> list[Key]:
        """Neither ended nor terminating nor gated by others than us; by creation, then name."""
        pods = self.cluster.pods
        mine = [
            key
            for key, pod in pods.items()
            if key[0] == self.namespace
            and (pod["metadata"].get("labels") or {}).get(GROUP_LABEL) == self.name
            and not pod["metadata"].get("deletionTimestamp")
            and not [gate for gate in pod["spec"].get("schedulingGates") or () if gate["name"] != OUR_GATE]
        ]
        return sorted(mine, key=lambda key: (pods[key]["metadata"].get("creationTimestamp", ""), key[1]))

    def node_of(self, key: Key) -> str:
        return str(self.cluster.pods[key]["spec"].get("nodeName") or "")

    @property
    def bound(self) -> list[Key]:
        return [key for key in self.members if self.node_of(key)]

    @property
    def required(self) -> list[Key]:
        """The unbound members that are still needed: the first ones, if no others are chosen."""
        if self.chosen is not None:
            return list(self.chosen)
        return self.unbound[: self.needed]

    @property
    def unbound(self) -> list[Key]:
        return [key for key in self.members if not self.node_of(key)]

    @property
    def needed(self) -> int:
        return max(0, self.minimum - len(self.bound))

    @cached_property
    def cases(self) -> list[Case]:
        """This case with all choices of required members, the oldest ones first."""
        chosen = itertools.combinations(self.unbound, self.needed)
        return [Case(self.cluster, self.namespace, self.name, self.excluded, each) for each in chosen]

    @property
    def topology_key(self) -> str | None:
        topology = (self.group["spec"].get("schedulingConstraints") or {}).get("topology")
        return topology[0]["key"] if topology else None

    @cached_property
    def domains(self) -> dict[str | None, list[str]]:
        """Nodes by domain; only the one that most bound members are in, none if all are on nodes without one."""
        nodes: dict[str | None, list[str]] = defaultdict(list)
        where: dict[str, str | None] = {}
        for name, node in self.cluster.nodes.items():
            value = None
            if self.topology_key is not None:
                value = (node["metadata"].get("labels") or {}).get(self.topology_key)
                if value is None:
                    continue
            nodes[value].append(name)
            where[name] = value
        if self.topology_key is None or not self.bound:
            return dict(nodes)
        taken = Counter(where.get(self.node_of(key)) for key in self.bound)
        del taken[None]
        only = min(taken, key=lambda value: (-taken[value], str(value)), default=None)
        return {only: nodes[only]} if only is not None else {}

    @property
    def differs(self) -> bool:
        """Whether an unbound member has another priority or policy than the group, or than another one's scheduler."""
        unbound = [self.cluster.pods[key]["spec"] for key in self.members if not self.node_of(key)]
        return len({spec.get("schedulerName", "default-scheduler") for spec in unbound}) > 1 or any(
            spec.get("priority", 0) != self.cluster.group_priority(self.group)
            or spec.get("preemptionPolicy") == "Never"
            for spec in unbound
        )

    @cached_property
    def candidates(self) -> list[Unit]:
        """Units that may be evicted."""
        if self.group["spec"].get("preemptionPolicy") == "Never" or self.differs:
            return []
        mine = self.cluster.group_priority(self.group)
        return [
            unit
            for unit in self.cluster.units.values()
            if unit.priority < mine
            and not self.cluster.mirrored(unit)
            and not set(unit.pods) & set(self.members)
        ]

    # ---- exact outcomes

    def packs(self, nodes: Iterable[str], gone: Iterable[Unit]) -> bool:
        """Whether the required members fit on these nodes with these units gone."""
        away = pods_of(gone)
        room = self.cluster.room(away)
        shapes = Counter(self._shape(key) for key in self.required)
        wanted = tuple(shapes.values())
        reached = {(0,) * len(wanted)}
        for node in nodes:
            there = [key for key in self.cluster.on(node) if key not in away]
            options = list(self._packings(room[node], node, list(shapes.items()), there))
            sums = (
                tuple(min(w, a + b) for w, a, b in zip(wanted, one, other, strict=True))
                for one, other in itertools.product(reached, options)
            )
            reached = _undominated(set(sums))
        return wanted in reached

    def _shape(self, key: Key) -> tuple[tuple[tuple[str, int], ...], frozenset[str], Key]:
        """Requests, nodes, and one of the members that other pods keep away alike."""
        pod = self.cluster.pods[key]
        allowed = frozenset(
            name
            for name, node in self.cluster.nodes.items()
            if admits(pod, node) and (key, name) not in self.excluded
        )
        return tuple(sorted(self.cluster.requests[key].items())), allowed, self._alike[relations(pod)]

    @cached_property
    def _alike(self) -> dict[str, Key]:
        return {relations(self.cluster.pods[key]): key for key in self.required}

    def _packings(
        self, room: Amounts, node: str, shapes: list[tuple[Any, int]], there: list[Key]
    ) -> Iterator[tuple[int, ...]]:
        """Ways to put members on one node beside the pods there, as many of the last shape as fit."""
        if not shapes:
            yield ()
            return
        ((requests, allowed, member), count), *others = shapes
        most = 0
        if node in allowed and not any(self.apart(member, key, node) for key in there):
            most = min(count, *(max(0, room.get(r, 0)) // v for r, v in requests if v > 0))
            most = min(most, 1) if self.apart(member, member, node) else most
        for members in range(most, -1, -1) if others else [most]:
            left = {**room}
            for resource, value in requests:
                left[resource] = left.get(resource, 0) - members * value
            for rest in self._packings(left, node, others, [*there, member] if members else there):
                yield (members, *rest)

    def apart(self, one: Key, other: Key, node: str) -> bool:
        """Whether the two pods cannot share the node."""
        pods = self.cluster.pods
        return are_apart(pods[one], pods[other], self.cluster.nodes[node])

    def outcome(self) -> str:
        """Fits, Preempts or Unschedulable."""
        if self.bound and not self.needed:
            return "Fits"
        if not self.needed:  # all that had to run have Succeeded: it is about any one member
            alone = [
                Case(self.cluster, self.namespace, self.name, self.excluded, [each]) for each in self.unbound
            ]
            fits = not alone or any(case._outcome() == "Fits" for case in alone)
            return "Fits" if fits else "Unschedulable"
        if len(self.members) < self.minimum:
            return "Unschedulable"
        found = self._outcome()
        if found != "Unschedulable":
            return found
        outcomes = {case._outcome() for case in self.cases}
        return "Unschedulable" if outcomes == {found} else "Fits or Preempts"

    def planned(self, plan: dict[str, Any]) -> Case:
        """This case for the members that the plan places because they are needed."""
        names = [each["pod"] for each in plan["placements"] if not each["beyondMinCount"]]
        return next((each for each in self.cases if [name for _, name in each.required] == names), self)

    def _outcome(self) -> str:
        """For the required members."""
        if any(self.packs(nodes, []) for nodes in self.domains.values()):
            return "Fits"
        if any(self.packs(nodes, self.candidates) for nodes in self.domains.values()):
            return "Preempts"
        return "Unschedulable"

    def score(self, units: Iterable[Unit]) -> Score:
        """What it costs, the start aside."""
        going = list(units)
        return (
            self.cluster.violations(pods_of(going)),
            max(unit.priority for unit in going),
            sum(unit.priority + 2**31 for unit in going),
            len(going),
            sum(len(unit.pods) for unit in going),
        )

    def best(self) -> Score:
        """The least that any set of victims costs, in any domain."""
        return min(
            self.score(chosen)
            for nodes in self.domains.values()
            for size in range(1, len(self.candidates) + 1)
            for chosen in itertools.combinations(self.candidates, size)
            if self.packs(nodes, chosen)
        )


def pods_of(units: Iterable[Unit]) -> set[Key]:
    return {key for unit in units for key in unit.pods}


def _undominated(vectors: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
    kept: list[tuple[int, ...]] = []
    for vector in sorted(vectors, reverse=True):
        if not any(all(a >= b for a, b in zip(other, vector, strict=True)) for other in kept):
            kept.append(vector)
    return set(kept)


def check(case: Case, plan: dict[str, Any], outcome: str) -> list[str]:
    """Everything that is wrong with the plan."""
    if outcome == "Fits or Preempts":
        case = case.planned(plan)
        outcome = case._outcome()
        if outcome == "Unschedulable":
            return ["other members than the oldest fit"]
    if plan["outcome"] != outcome:
        return [f"outcome {plan['outcome']}, expected {outcome}"]
    if outcome == "Unschedulable":
        return ["an unschedulable gang has victims"] if plan["victims"] or plan["placements"] else []
    if outcome == "Fits" and plan["victims"]:
        return ["a gang that fits has victims"]
    return list(_Checker(case, plan).faults())


class _Checker:
    """One plan that places the gang."""

    def __init__(self, case: Case, plan: dict[str, Any]) -> None:
        self.case, self.plan, self.cluster = case, plan, case.cluster
        self.placed = {(case.namespace, each["pod"]): each["node"] for each in plan["placements"]}
        self.domain = plan["domain"]["value"] if plan["domain"] else None
        named = [(each["kind"], each["namespace"], each["name"]) for each in plan["victims"]]
        self.victims = [self.cluster.units[key] for key in named if key in self.cluster.units]
        self.required = {key: self.placed[key] for key in case.required if key in self.placed}

    def faults(self) -> Iterator[str]:
        yield from self.placements()
        if not self.case.required:
            return
        yield from self.members()
        if self.plan["outcome"] == "Preempts":
            yield from self.units()
            yield from self.minimality()
            yield from self.figures()

    def placements(self) -> Iterator[str]:
        if len(self.placed) != len(self.plan["placements"]):
            yield "a member is placed twice"
        for key, node in self.placed.items():
            if key not in self.case.members or self.case.node_of(key):
                yield f"{key} is no unbound member"
            elif node not in self.cluster.nodes:
                yield f"{key} is on {node}, which does not exist"
            elif not admits(self.cluster.pods[key], self.cluster.nodes[node]):
                yield f"{key} is not allowed on {node}"
            elif (key, node) in self.case.excluded:
                yield f"{key} is excluded from {node}"
            elif node not in self.case.domains.get(self.domain, []):
                yield f"{node} is not in domain {self.domain}"
        if not self.valid(self.placed, self.victims):
            yield "the members do not fit"

    def members(self) -> Iterator[str]:
        for key in self.case.required:
            if key not in self.placed:
                yield f"{key} has no node"

    def valid(self, placed: dict[Key, str], gone: Iterable[Unit]) -> bool:
        """Whether every node has what the members on it request."""
        room = self.cluster.room(pods_of(gone))
        asked: dict[str, set[str]] = defaultdict(set)
        for key, node in placed.items():
            for resource, value in self.cluster.requests[key].items():
                room[node][resource] = room[node].get(resource, 0) - value
                if value > 0:
                    asked[node].add(resource)
        fits = all(room[node][resource] >= 0 for node, resources in asked.items() for resource in resources)
        return fits and not any(self.crowded(placed, pods_of(gone)))

    def crowded(self, placed: dict[Key, str], away: set[Key]) -> Iterator[bool]:
        """For each placed member: whether it shares its node with a pod from which it must be apart."""
        for key, node in placed.items():
            there = [other for other in self.cluster.on(node) if other not in away]
            there += [other for other, place in placed.items() if place == node and other != key]
            yield any(self.case.apart(key, other, node) for other in there)

    def units(self) -> Iterator[str]:
        candidates = {unit.pods for unit in self.case.candidates}
        if len(self.victims) != len(self.plan["victims"]):
            yield "a victim is no unit of the cluster"
        for unit, victim in zip(self.victims, self.plan["victims"], strict=False):
            if unit.pods not in candidates:
                yield f"{unit.name} may not be evicted"
            if sorted((pod["namespace"], pod["name"]) for pod in victim["pods"]) != list(unit.pods):
                yield f"{unit.name} does not go whole"
            if any(self.case.node_of((p["namespace"], p["name"])) != p["node"] for p in victim["pods"]):
                yield f"{unit.name} is said to run elsewhere"
            if victim["priority"] != unit.priority:
                yield f"{unit.name} has priority {unit.priority}"

    def minimality(self) -> Iterator[str]:
        for unit in self.victims:
            others = [each for each in self.victims if each is not unit]
            if self.valid(self.required, others):
                yield f"{unit.name} could stay"
            if self.cluster.budgets:
                continue
            for other in self.case.candidates:
                lower = other.priority < unit.priority and other not in self.victims
                if lower and self.valid(self.required, [*others, other]):
                    yield f"{unit.name} could stay if {other.name} went"
        cutoff = self.plan["priorityCutoff"]
        if any(unit.priority > cutoff for unit in self.victims):
            yield "a victim is above the cut-off"
        if not self.cluster.budgets:
            below = [unit for unit in self.case.candidates if unit.priority < cutoff]
            if self.case.packs(self.case.domains[self.domain], below):
                yield f"a cut-off below {cutoff} is enough"

    def figures(self) -> Iterator[str]:
        violations = self.cluster.violations(pods_of(self.victims))
        if self.plan["podDisruptionBudgetViolations"] != violations:
            yield f"{violations} violations"
        for unit, victim in zip(self.victims, self.plan["victims"], strict=True):
            fewer = self.cluster.violations(pods_of(each for each in self.victims if each is not unit))
            if victim["violatesPodDisruptionBudget"] != (fewer < violations):
                yield f"{unit.name} violates a budget, or does not"
        scores = {
            each["value"]: stated(each["score"])
            for each in self.plan["domains"]
            if each["outcome"] == "Preempts" and each["score"] is not None
        }
        if scores.get(self.domain) != self.case.score(self.victims):
            yield f"the winner's score is {self.case.score(self.victims)}"
        elif min(scores.values()) < scores[self.domain]:
            yield "a cheaper domain is listed"
        if any(each["outcome"] == "Fits" for each in self.plan["domains"]):
            yield "a domain that fits is listed"


def stated(score: dict[str, Any]) -> Score:
    """A plan's score as the checker's."""
    return (
        score["podDisruptionBudgetViolations"],
        score["highestVictimPriority"],
        score["prioritySum"],
        score["units"],
        score["pods"],
    )
