"""ClusterQueues and Cohorts laid out as the tree that the search works on.

Nodes and flavor-resources are numbered by name, so that the same objects give the same numbers in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from api.kueue import ClusterQueue, Cohort, FairSharing, ResourceGroup
from native.codes import UNSET
from native.quota.quotas import Quotas
from quota.state.amounts import QuotaError, fair_weight, quota_amount

__all__ = [
    "MAX_DEPTH",
    "FlavorResource",
    "Layout",
    "Member",
    "Quota",
    "lay_out",
    "read_cluster_queue",
    "read_cohort",
]

MAX_DEPTH: Final = 1000
"""The greatest depth of Cohorts. A deeper tree is treated as an error, like a cycle."""

FlavorResource = tuple[str, str]


class Quota(NamedTuple):
    """The quota of one flavor-resource. A limit that is not set is UNSET."""

    nominal: int
    borrowing_limit: int
    lending_limit: int


@dataclass(frozen=True, slots=True)
class Member:
    """The part of a ClusterQueue or Cohort that the tree needs."""

    name: str
    parent: str
    """The name of the Cohort above, which may not exist; "" for none."""
    quotas: Mapping[FlavorResource, Quota]
    weight: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The tree as arrays, with the names for their indices."""

    quotas: Quotas
    queues: Mapping[str, int]
    cohorts: Mapping[str, int]
    frs: Mapping[FlavorResource, int]
    names: tuple[str, ...]
    """By node."""
    broken: Mapping[str, str]
    """By ClusterQueue: why its cohorts have no root. Only ClusterQueues with this fault are here."""

    def path(self, node: int) -> str:
        """From the root Cohort to the node, `/root/team/queue`."""
        names = []
        while node >= 0:
            names.append(self.names[node])
            node = int(self.quotas.parent[node])
        return "/" + "/".join(reversed(names))

    def tree(self, node: int) -> str:
        """The name of the root Cohort above the node; the node's own name if there is none."""
        return self.path(node).split("/")[1]


def read_cluster_queue(queue: ClusterQueue) -> Member:
    """The ClusterQueue as a member of the tree. Raises QuotaError for a quota or weight that is invalid."""
    spec, subject = queue.spec, f"ClusterQueue {queue.metadata.name}"
    return Member(
        name=queue.metadata.name,
        parent=spec.cohort_name,
        quotas=_quotas(spec.resource_groups or (), subject),
        weight=_weight(spec.fair_sharing, subject),
    )


def read_cohort(cohort: Cohort) -> Member:
    """The Cohort as a member of the tree. Raises QuotaError for a quota or weight that is invalid."""
    spec, subject = cohort.spec, f"Cohort {cohort.metadata.name}"
    return Member(
        name=cohort.metadata.name,
        parent=spec.parent_name,
        quotas=_quotas(spec.resource_groups or (), subject),
        weight=_weight(spec.fair_sharing, subject),
    )


def lay_out(queues: Iterable[Member], cohorts: Iterable[Member], used: Iterable[FlavorResource]) -> Layout:
    """Lay out the tree of these members. `used`: all flavor-resources in use, with or without quota.

    A Cohort that is named but does not exist becomes a root without quota. A ClusterQueue whose cohorts form a cycle
    is laid out without a cohort.
    """
    queue_of = {member.name: member for member in queues}
    cohort_of = {member.name: member for member in cohorts}
    for member in (*queue_of.values(), *cohort_of.values()):
        if member.parent and member.parent not in cohort_of:
            cohort_of[member.parent] = Member(member.parent, "", {}, 1.0)
    faults = _faults(cohort_of)
    members = [queue_of[name] for name in sorted(queue_of)] + [cohort_of[name] for name in sorted(cohort_of)]
    cohort_node = {name: len(queue_of) + index for index, name in enumerate(sorted(cohort_of))}
    frs = {fr: index for index, fr in enumerate(sorted({*used}.union(*(each.quotas for each in members))))}
    parents = [-1 if each.parent in faults else cohort_node.get(each.parent, -1) for each in members]
    return Layout(
        quotas=_arrays(members, parents, len(queue_of), frs),
        queues={name: index for index, name in enumerate(sorted(queue_of))},
        cohorts=cohort_node,
        frs=frs,
        names=tuple(each.name for each in members),
        broken={each.name: faults[each.parent] for each in queue_of.values() if each.parent in faults},
    )


def _arrays(
    members: list[Member], parents: list[int], queues: int, frs: Mapping[FlavorResource, int]
) -> Quotas:
    shape = len(members), len(frs)
    defined, nominal = np.zeros(shape, np.uint8), np.zeros(shape, np.int64)
    borrowing, lending = np.full(shape, UNSET, np.int64), np.full(shape, UNSET, np.int64)
    for node, member in enumerate(members):
        for fr, quota in member.quotas.items():
            place = node, frs[fr]
            defined[place], nominal[place] = 1, quota.nominal
            borrowing[place], lending[place] = quota.borrowing_limit, quota.lending_limit
    resources = {name: index for index, name in enumerate(sorted({resource for _, resource in frs}))}
    return Quotas(
        parent=np.array(parents, np.int32),
        queues=queues,
        defined=defined,
        nominal=nominal,
        borrowing_limit=borrowing,
        lending_limit=lending,
        resource=np.array([resources[resource] for _, resource in frs], np.int32),
        weight=np.array([member.weight for member in members], np.float64),
    )


def _faults(cohorts: Mapping[str, Member]) -> dict[str, str]:
    """By Cohort: why its parents lead to no root. Only Cohorts with this fault are here."""
    depth: dict[str, int] = {"": 0}
    faults: dict[str, str] = {}
    for name in sorted(cohorts):
        path: dict[str, None] = {}
        while name not in depth and name not in path and name not in faults:
            path[name] = None
            name = cohorts[name].parent
        if name in path:
            cycle = [*list(path)[list(path).index(name) :], name]
            faults.update(dict.fromkeys(path, f"the cohorts form a cycle: {' -> '.join(cycle)}"))
        elif name in faults:
            faults.update(dict.fromkeys(path, faults[name]))
        for below in reversed(path):
            depth[below] = depth.get(cohorts[below].parent, 0) + 1
            if below not in faults and depth[below] > MAX_DEPTH:
                faults[below] = f"more than {MAX_DEPTH} cohorts are above one another"
    return faults


def _quotas(groups: Iterable[ResourceGroup], subject: str) -> dict[FlavorResource, Quota]:
    quotas: dict[FlavorResource, Quota] = {}
    covered: set[str] = set()
    flavors: set[str] = set()
    for i, group in enumerate(groups):
        path = f"spec.resourceGroups[{i}]"
        for j, resource in enumerate(group.covered_resources):
            _once(covered, resource, subject, f"{path}.coveredResources[{j}]")
        for j, flavor in enumerate(group.flavors):
            _once(flavors, flavor.name, subject, f"{path}.flavors[{j}].name")
            names = [resource.name for resource in flavor.resources]
            if names != group.covered_resources:
                problem = f"must be the coveredResources in the same order, not {', '.join(names)}"
                raise QuotaError(subject, f"{path}.flavors[{j}].resources", problem)
            for k, quota in enumerate(flavor.resources):
                place = f"{path}.flavors[{j}].resources[{k}]"
                quotas[flavor.name, quota.name] = Quota(
                    quota_amount(quota.name, quota.nominal_quota, subject, f"{place}.nominalQuota"),
                    _limit(quota.name, quota.borrowing_limit, subject, f"{place}.borrowingLimit"),
                    _limit(quota.name, quota.lending_limit, subject, f"{place}.lendingLimit"),
                )
    return quotas


def _limit(resource: str, quantity: str | int | float | None, subject: str, path: str) -> int:
    return UNSET if quantity is None else quota_amount(resource, quantity, subject, path)


def _once(seen: set[str], name: str, subject: str, path: str) -> None:
    if name in seen:
        raise QuotaError(subject, path, f"{name!r} occurs twice")
    seen.add(name)


def _weight(sharing: FairSharing | None, subject: str) -> float:
    return 1.0 if sharing is None else fair_weight(sharing.weight, subject, "spec.fairSharing.weight")
