"""Whether filter keeps a pod out of a node: everything is counted anew, one node and one resource at a time."""

from __future__ import annotations

from controllers.gangs.mirror.group_members import Requests
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.reservations import Reservations

__all__ = ["bars", "fits"]


def bars(
    roster: Roster, reservations: Reservations, node: str, pod: str, requests: Requests, priority: int
) -> bool:
    """Whether the pod (UID) on the node would take room that is promised at its priority or above."""

    def free(node: str, resource: str) -> int:
        nominated = sum(
            nominee.requests.get(resource, 0)
            for nominee in roster.nominees(node, at_least=priority)
            if nominee.uid != pod
            and not reservations.grants.covers(nominee.uid, node)
            and not _is_claimed(reservations, nominee.uid, priority)
        )
        return roster.free(node, resource) - nominated

    return reservations.is_reserved(node, at_least=priority) and any(
        amount > 0
        and amount
        > reservations.room(node, resource, free, at_least=priority)
        - _granted(reservations, node, resource, but=pod)
        for resource, amount in requests.items()
    )


def fits(roster: Roster, node: str, requests: Requests) -> bool:
    """Whether what is free on the node is enough, once all have gone that terminate."""
    return all(amount <= 0 or amount <= roster.free(node, resource) for resource, amount in requests.items())


def _is_claimed(reservations: Reservations, pod: str, priority: int) -> bool:
    claimant = reservations.claimant(pod)
    claimed_at = reservations.priority(claimant) if claimant is not None else None
    return claimed_at is not None and claimed_at >= priority


def _granted(reservations: Reservations, node: str, resource: str, *, but: str) -> int:
    return sum(
        grant.requests.get(resource, 0)
        for grant in reservations.grants.values()
        if grant.pod != but and node in grant.nodes
    )
