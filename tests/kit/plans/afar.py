"""Pods that look at pods on other nodes, by exact and slow means: plain JSON objects, none of the engine's code.

Resources are cpu alone. Sources: kube-scheduler's podtopologyspread and interpodaffinity plugins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from typing import Any, Final

from tests.kit.plans.raw import GROUP_LABEL, Object, admits, requests_of, selects

__all__ = ["Afar", "Plan"]

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
Places = dict[str, str]
"""Nodes by pod."""


@dataclass(frozen=True)
class Plan:
    """A way to place the gang."""

    domain: str | None
    victims: tuple[tuple[str, ...], ...]
    """Units."""
    placed: tuple[tuple[str, str], ...]
    """Pairs of (pod, node), in an order that works."""


@dataclass
class Afar:
    """A cluster and the gang d/hero, or the pod d/hero if there is no such gang.

    A pod may be evicted if it, or one of its unit, runs on a node of the domain that could take a member.
    """

    objects: Sequence[Object]

    @cached_property
    def nodes(self) -> dict[str, Object]:
        return {each["metadata"]["name"]: each for each in self.objects if each["kind"] == "Node"}

    @cached_property
    def pods(self) -> dict[str, Object]:
        return {each["metadata"]["name"]: each for each in self.objects if each["kind"] == "Pod"}

    @cached_property
    def group(self) -> Object | None:
        groups = [each for each in self.objects if each["kind"] == "PodGroup"]
        return next((each for each in groups if each["metadata"]["name"] == "hero"), None)

    @cached_property
    def members(self) -> list[str]:
        """Unbound."""
        return sorted(name for name, pod in self.pods.items() if "nodeName" not in pod["spec"])

    @property
    def minimum(self) -> int:
        if self.group is None:
            return 1
        return int(self.group["spec"]["schedulingPolicy"]["gang"]["minCount"])

    @cached_property
    def bound(self) -> Places:
        return {name: pod["spec"]["nodeName"] for name, pod in self.pods.items() if "nodeName" in pod["spec"]}

    @cached_property
    def priority(self) -> int:
        return max(int(self.pods[name]["spec"]["priority"]) for name in self.members)

    @cached_property
    def domains(self) -> dict[str | None, list[str]]:
        if self.group is None:
            return {name: [name] for name in self.nodes}
        topology = (self.group["spec"].get("schedulingConstraints") or {}).get("topology")
        if not topology:
            return {None: list(self.nodes)}
        found: dict[str | None, list[str]] = {}
        for name in self.nodes:
            if (value := self.labels(name).get(topology[0]["key"])) is not None:
                found.setdefault(value, []).append(name)
        return found

    def labels(self, node: str) -> Mapping[str, str]:
        labels: Mapping[str, str] = self.nodes[node]["metadata"]["labels"]
        return labels

    @cached_property
    def units(self) -> list[tuple[str, ...]]:
        """Units of lower priority: groups in `all` mode, and other pods."""
        wholes: dict[str, list[str]] = {}
        for name in self.bound:
            group = self.pods[name]["metadata"]["labels"].get(GROUP_LABEL, "")
            wholes.setdefault(group or f"/{name}", []).append(name)
        units = (tuple(sorted(unit)) for unit in wholes.values())
        return [unit for unit in units if all(self._is_lower(name) for name in unit)]

    def _is_lower(self, name: str) -> bool:
        return bool(self.pods[name]["spec"]["priority"] < self.priority)

    # ---- what the filters say

    def takes(self, pod: str, node: str, placed: Places) -> bool:
        """Whether every filter takes the pod on the node beside these pods."""
        own = self.pods[pod]
        if not admits(own, self.nodes[node]):
            return False
        used = sum(self._cpu(other) for other, where in placed.items() if where == node)
        allocatable = int(self.nodes[node]["status"]["allocatable"]["cpu"]) * 1000
        if self._cpu(pod) and used + self._cpu(pod) > allocatable:
            return False
        return (
            self._is_balanced(own, node, placed)
            and self._has_company(own, node, placed)
            and not any(
                self._repels(own, self.pods[other], node, where)
                or self._repels(self.pods[other], own, node, where)
                for other, where in placed.items()
            )
        )

    def _cpu(self, pod: str) -> int:
        return requests_of(self.pods[pod]).get("cpu", 0)

    def _is_balanced(self, pod: Object, node: str, placed: Places) -> bool:
        hard = [
            each
            for each in pod["spec"].get("topologySpreadConstraints") or ()
            if each["whenUnsatisfiable"] == "DoNotSchedule"
        ]
        keys = [each["topologyKey"] for each in hard]
        if any(key not in self.labels(node) for key in keys):
            return False
        for each in hard:
            counts: dict[str, int] = {}
            for name in self.nodes:
                if any(key not in self.labels(name) for key in keys) or not self._counts(each, pod, name):
                    continue
                value = self.labels(name)[each["topologyKey"]]
                counts.setdefault(value, 0)
                counts[value] += sum(
                    self._spreads(each, pod, self.pods[other], counting=True)
                    for other, where in placed.items()
                    if where == name
                )
            fewest = min(counts.values(), default=0)
            if len(counts) < each.get("minDomains", 1):
                fewest = 0
            here = counts.get(self.labels(node)[each["topologyKey"]], 0)
            if here + self._spreads(each, pod, pod, counting=False) - fewest > each["maxSkew"]:
                return False
        return True

    def _counts(self, constraint: Object, pod: Object, node: str) -> bool:
        """Whether the policies let the node count."""
        bare: dict[str, Any] = {"spec": {**pod["spec"]}}
        there: dict[str, Any] = {"metadata": self.nodes[node]["metadata"], "spec": {}}
        if constraint.get("nodeTaintsPolicy") == "Honor":
            there["spec"]["taints"] = (self.nodes[node].get("spec") or {}).get("taints") or []
        if constraint.get("nodeAffinityPolicy") == "Ignore":
            bare["spec"] = {
                key: value for key, value in pod["spec"].items() if key not in ("affinity", "nodeSelector")
            }
        return admits(bare, there)

    def _spreads(self, constraint: Object, pod: Object, other: Object, *, counting: bool) -> bool:
        selector = constraint.get("labelSelector")
        mine, theirs = pod["metadata"], other["metadata"]
        keys = [key for key in constraint.get("matchLabelKeys") or () if key in mine["labels"]]
        if counting and not keys and not (selector and any(selector.values())):
            return False
        return (
            mine["namespace"] == theirs["namespace"]
            and selects(selector, theirs["labels"])
            and all(theirs["labels"].get(key) == mine["labels"][key] for key in keys)
        )

    def _has_company(self, pod: Object, node: str, placed: Places) -> bool:
        terms = ((pod["spec"].get("affinity") or {}).get("podAffinity") or {}).get(REQUIRED) or ()
        if not terms:
            return True
        if any(term["topologyKey"] not in self.labels(node) for term in terms):
            return False
        wanted = [
            where
            for other, where in placed.items()
            if all(self._selects(term, pod, self.pods[other]) for term in terms)
        ]
        known = [
            where for where in wanted if any(term["topologyKey"] in self.labels(where) for term in terms)
        ]
        if not known and all(self._selects(term, pod, pod) for term in terms):
            return True
        return all(
            any(
                self.labels(where).get(term["topologyKey"]) == self.labels(node)[term["topologyKey"]]
                for where in wanted
            )
            for term in terms
        )

    def _repels(self, owner: Object, other: Object, one: str, two: str) -> bool:
        """Whether a term of the owner keeps the two pods, which are on these nodes, apart."""
        terms = ((owner["spec"].get("affinity") or {}).get("podAntiAffinity") or {}).get(REQUIRED) or ()
        return any(
            term["topologyKey"] in self.labels(one)
            and self.labels(one).get(term["topologyKey"]) == self.labels(two).get(term["topologyKey"])
            and self._selects(term, owner, other)
            for term in terms
        )

    def _selects(self, term: Object, owner: Object, other: Object) -> bool:
        mine, theirs = owner["metadata"], other["metadata"]
        if theirs["namespace"] not in (term.get("namespaces") or [mine["namespace"]]):
            return False
        own, labels = mine["labels"], theirs["labels"]
        keys = [(key, True) for key in term.get("matchLabelKeys") or ()]
        keys += [(key, False) for key in term.get("mismatchLabelKeys") or ()]
        alike = all((labels.get(key) == own[key]) is wanted for key, wanted in keys if key in own)
        return alike and selects(term.get("labelSelector"), labels)

    # ---- every way

    def plans(self, members: Sequence[str] | None = None) -> Iterator[Plan]:
        """One plan for each domain and choice of victims that has one, those with fewer victims first.

        `members`: those that have to run; None: any that are enough.
        """
        chosen = [members] if members is not None else [*combinations(self.members, self.minimum)]
        for size in range(len(self.units) + 1):
            for domain, nodes in self.domains.items():
                for asked in chosen:
                    here = [unit for unit in self.units if self._is_candidate(unit, nodes, asked)]
                    for victims in combinations(here, size):
                        placed = self.placed(nodes, victims, asked)
                        if placed is not None:
                            yield Plan(domain, victims, placed)

    def _is_candidate(self, unit: Sequence[str], nodes: Sequence[str], members: Sequence[str]) -> bool:
        """Whether a pod of it is on a node of the domain that admits one of these members, whoever runs there."""
        return any(
            self.bound[pod] in nodes and any(self._could_take(member, self.bound[pod]) for member in members)
            for pod in unit
        )

    def _could_take(self, member: str, node: str) -> bool:
        spec = self.pods[member]["spec"]
        terms = ((spec.get("affinity") or {}).get("podAffinity") or {}).get(REQUIRED) or ()
        keys = [each["topologyKey"] for each in (*terms, *(spec.get("topologySpreadConstraints") or ()))]
        return admits(self.pods[member], self.nodes[node]) and all(key in self.labels(node) for key in keys)

    def placed(
        self, nodes: Sequence[str], victims: Sequence[Sequence[str]], members: Sequence[str]
    ) -> tuple[tuple[str, str], ...] | None:
        """A sequence that places as many members as have to run; None if there is none."""
        gone = {pod for unit in victims for pod in unit}
        start = {pod: node for pod, node in self.bound.items() if pod not in gone}
        seen: set[frozenset[tuple[str, str]]] = set()
        stack: list[tuple[tuple[str, str], ...]] = [()]
        while stack:
            done = stack.pop()
            if len(done) == self.minimum:
                return done
            if frozenset(done) in seen:
                continue
            seen.add(frozenset(done))
            places = {**start, **dict(done)}
            stack += [
                (*done, (member, node))
                for member in members
                if member not in places
                for node in nodes
                if self.takes(member, node, places)
            ]
        return None

    def faults(self, plan: dict[str, Any]) -> Iterator[str]:
        """What is wrong with a plan that places members: in every order that its waves allow, all are taken."""
        victims = {pod["name"] for victim in plan["victims"] for pod in victim["pods"]}
        start = {pod: node for pod, node in self.bound.items() if pod not in victims}
        waves: dict[int, list[tuple[str, str]]] = {}
        for each in plan["placements"]:
            waves.setdefault(each.get("wave") or 0, []).append((each["pod"], each["node"]))
        required = [each for each in plan["placements"] if not each["beyondMinCount"]]
        if len(required) != self.minimum:
            yield f"{len(required)} required members are placed"
        for _, wave in sorted(waves.items()):
            for order in permutations(wave):
                places = {**start}
                for pod, node in order:
                    if not self.takes(pod, node, places):
                        yield f"{pod} is refused on {node} in the order {order}"
                        break
                    places[pod] = node
            start |= dict(wave)
