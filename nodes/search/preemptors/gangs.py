"""How many members of a gang must run, and in which domain they belong: for the search, planner and verbs alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from api.groups import PodGroup, has_run
from api.words import counted

__all__ = ["BoundDomain", "bound_domain", "main_domain", "minimum_of", "topology_key_of"]


class BoundDomain(NamedTuple):
    """The domain in which a gang runs."""

    value: str
    """Of the topology key."""
    astray: str
    """Which members are bound elsewhere, as part of a sentence; empty if none is."""


def minimum_of(group: PodGroup, members: int, succeeded: int) -> int | None:
    """How many members must run; None if the group is not a gang.

    `members`: how many exist, bound ones included, that neither ended nor terminate. `succeeded`: how many Succeeded.

    minCount decides about the start. Members that Succeeded make up for missing ones there, because nobody creates them
    again. For a gang that has run, members that Succeeded always count, and members that do not exist are not awaited.
    """
    gang = group.spec.scheduling_policy.gang
    if gang is None:
        return None
    left = max(0, gang.min_count - succeeded)
    return min(left, members) if has_run(group) else max(left, min(gang.min_count, members))


def topology_key_of(group: PodGroup) -> str | None:
    """The node label that has one value for all members; None if the group sets no constraint."""
    constraints = group.spec.scheduling_constraints
    topology = constraints.topology if constraints is not None else None
    return topology[0].key if topology else None


def main_domain(bound: Mapping[str, int]) -> str | None:
    """The domain that counts: the one with the most bound members, of equals the first name; None if there is none.

    `bound`: how many members are bound in each domain.
    """
    return min(bound, key=lambda value: (-bound[value], value), default=None)


def bound_domain(topology_key: str, where: Mapping[str | None, Sequence[str]]) -> BoundDomain | None:
    """The domain that counts, and who is elsewhere; None if no bound member has a domain.

    `where`: names of bound members by the value that their node has for the key, None for nodes without the label.
    """
    domains = sorted(value for value in where if value is not None)
    value = main_domain({each: len(where[each]) for each in domains})
    if value is None:
        return None
    named = [f"{min(where[each])} in {each}" for each in domains]
    if unlabelled := where.get(None):
        named.append(f"{min(unlabelled)} on a node without {topology_key}")
    if len(named) == 1:
        return BoundDomain(value, "")
    places = counted(len(domains), "domain")
    return BoundDomain(
        value, f"members are bound in {places} of {topology_key} ({', '.join(named)}): {value} counts"
    )
