"""How the quota of a ClusterQueue or Cohort is used: what it holds, borrows and lends, and what is left.

Kueue counts what is borrowed (`status.flavorsReservation`). It does not count what is lent. See docs/decisions/0077.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from native.codes import UNSET
from quota.state.snapshot import QuotaSnapshot
from quota.state.tree import FlavorResource

__all__ = ["Account", "Lent", "account", "lent"]


@dataclass(frozen=True, slots=True)
class Lent:
    """How much of a quota others use. Two lenders can offer more than is borrowed. Then nobody knows whose quota it
    is, and only the bounds are certain."""

    least: int
    """Used by others in any case: also if they use everybody else's quota first."""
    most: int


@dataclass(frozen=True, slots=True)
class Account:
    """One flavor and resource of a ClusterQueue or Cohort, in canonical units."""

    flavor: str
    resource: str
    nominal: int
    """Of its own spec."""
    borrowing_limit: int | None
    lending_limit: int | None
    quota: int
    """Of a ClusterQueue the nominal quota. Of a Cohort: with what its members lend."""
    used: int
    """Of a Cohort: what its members cannot keep to themselves."""
    borrowed: int
    """What it uses beyond `quota`; 0 without a Cohort above."""
    free: int
    """What it can take now without a preemption."""
    lent: Lent


def account(
    snapshot: QuotaSnapshot, node: int, pair: FlavorResource, shares: Mapping[int, Lent] | None = None
) -> Account:
    """The account of a node of the tree. `shares`: what `lent` says of the pair, if it is known."""
    fr = snapshot.layout.frs[pair]
    quotas, ledger = snapshot.layout.quotas, snapshot.ledger
    used, quota = ledger.usage(node, fr), ledger.quota(node, fr)
    above = int(quotas.parent[node]) >= 0
    borrowing, lending = int(quotas.borrowing_limit[node, fr]), int(quotas.lending_limit[node, fr])
    return Account(
        *pair,
        nominal=int(quotas.nominal[node, fr]),
        borrowing_limit=None if borrowing == UNSET else borrowing,
        lending_limit=None if lending == UNSET else lending,
        quota=quota,
        used=used,
        borrowed=max(0, used - quota) if above else 0,
        free=ledger.available(node, fr),
        lent=(lent(snapshot, pair) if shares is None else shares)[node],
    )


def lent(snapshot: QuotaSnapshot, pair: FlavorResource) -> dict[int, Lent]:
    """By node: how much of its quota others use."""
    fr, parents = snapshot.layout.frs[pair], snapshot.layout.quotas.parent.tolist()
    children = defaultdict(list)
    for node, parent in enumerate(parents):
        children[parent].append(node)
    found = {root: Lent(0, 0) for root in children[-1]}
    waiting = list(children[-1])
    while waiting:
        cohort = waiting.pop()
        below = children[cohort]
        if below:
            found.update(_lent_in(snapshot, fr, cohort, below, found[cohort]))
            waiting += below
    return found


def _lent_in(snapshot: QuotaSnapshot, fr: int, cohort: int, children: list[int], up: Lent) -> dict[int, Lent]:
    """What the children of a Cohort lend, if the Cohort lends `up`.

    All that is taken comes from the offers of the children, from the quota of the Cohort itself, and from what it
    borrows.
    """
    offers = {child: _offer(snapshot, child, fr) for child in children}
    taken = sum(_need(snapshot, child, fr) for child in children)
    own = int(snapshot.layout.quotas.nominal[cohort, fr])
    above = _need(snapshot, cohort, fr) if int(snapshot.layout.quotas.parent[cohort]) >= 0 else 0
    supply = own + above + sum(offers.values())
    return {
        child: Lent(
            least=min(offer, max(0, taken + up.least - (supply - offer))),
            most=max(0, min(offer, taken + up.most - above)),
        )
        for child, offer in offers.items()
    }


def _offer(snapshot: QuotaSnapshot, node: int, fr: int) -> int:
    """What others may take of the quota of a node."""
    quota, limit = snapshot.ledger.quota(node, fr), int(snapshot.layout.quotas.lending_limit[node, fr])
    kept = 0 if limit == UNSET else max(0, quota - limit)
    return max(0, quota - kept - max(0, snapshot.ledger.usage(node, fr) - kept))


def _need(snapshot: QuotaSnapshot, node: int, fr: int) -> int:
    """What a node uses beyond its quota."""
    return max(0, snapshot.ledger.usage(node, fr) - snapshot.ledger.quota(node, fr))
