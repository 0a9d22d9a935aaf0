"""Members that are alike swap their planned nodes, so that the scheduler confirms as many as possible.

The search says how many members of a shape a node takes, not which. A scheduler's attempt shows a part of the nodes,
and another part for each member. See docs/decisions/0028.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from api.plans import Placement, PreemptionPlanSpec

__all__ = ["assign", "match"]

NOWHERE: Final = -1


def assign(
    spec: PreemptionPlanSpec, alike: Collection[Sequence[str]], offers: Mapping[str, Collection[str]]
) -> PreemptionPlanSpec:
    """The plan with other members on its nodes. Each node keeps as many members of a shape as it has.

    `alike`: members (UIDs) of one shape each. `offers`: the planned nodes that the scheduler offered, by member (UID).
    """
    placements = {placement.uid: placement for placement in spec.placements}
    changed: dict[str, Placement] = {}
    for members in alike:
        nodes = [placements[uid].node for uid in members]
        for uid, node in zip(members, match(members, nodes, offers), strict=True):
            if node != placements[uid].node:
                changed[uid] = msgspec.structs.replace(placements[uid], node=node)
    if not changed:
        return spec
    swapped = [changed.get(placement.uid, placement) for placement in spec.placements]
    return msgspec.structs.replace(spec, placements=swapped)


def match(members: Sequence[str], nodes: Sequence[str], offers: Mapping[str, Collection[str]]) -> list[str]:
    """A node for each member: the given nodes in another order. As many members as possible get an offered one.

    A member that has been offered its node keeps it if that costs no other member an offer.
    """
    places: dict[str, list[int]] = {}
    for place, node in enumerate(nodes):
        places.setdefault(node, []).append(place)
    wanted = [
        [place for node in sorted(offers.get(uid, ())) for place in places.get(node, ())] for uid in members
    ]
    member_at = [index if index in wanted[index] else NOWHERE for index in range(len(nodes))]
    place_of = list(member_at)
    hopeless: set[int] = set()
    for index in range(len(members)):
        if place_of[index] == NOWHERE:
            _augment(index, wanted, member_at, place_of, hopeless)
    left = iter([place for place, member in enumerate(member_at) if member == NOWHERE])
    return [nodes[place if place != NOWHERE else next(left)] for place in place_of]


def _augment(
    start: int, wanted: list[list[int]], member_at: list[int], place_of: list[int], hopeless: set[int]
) -> None:
    """Find an offered place for the member, if need be by moving others to other offered places (Berge, 1957).

    Places that a failed search has visited are `hopeless`: no later search finds a free place from there.
    """
    came_from: dict[int, int] = {}
    queue = deque([start])
    while queue:
        member = queue.popleft()
        for place in wanted[member]:
            if place in came_from or place in hopeless:
                continue
            came_from[place] = member
            if member_at[place] == NOWHERE:
                _move_along(place, came_from, member_at, place_of)
                return
            queue.append(member_at[place])
    hopeless.update(came_from)


def _move_along(place: int, came_from: Mapping[int, int], member_at: list[int], place_of: list[int]) -> None:
    """Give the free place to the member that found it, that member's place to the one before, and so on."""
    while place != NOWHERE:
        member = came_from[place]
        place_of[member], member_at[place], place = place, member, place_of[member]
