"""Who holds quota, which of them may become victims, and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.twins.quota.quotas import ANY, IN_CLUSTER_QUEUE, LOWER_OR_NEWER, LOWER_PRIORITY, TIME_BASED, Ask

__all__ = [
    "Holder",
    "Key",
    "asked",
    "contested",
    "expired",
    "may_preempt",
    "order_in_own_queue",
    "reason_in_own_queue",
]

Key = tuple[bool, int, int, int]
"""What holders of one ClusterQueue are ordered by."""


@dataclass(frozen=True, slots=True)
class Holder:
    """An admitted workload."""

    who: object
    queue: int
    priority: int
    reserved: int
    queued: int
    order: int
    evicting: bool
    usage: Mapping[int, int]
    """Amounts by FR; what it has 0 of is here too."""

    @property
    def key(self) -> Key:
        """Goes first: on its way out, of lower priority, admitted later, of the smaller UID."""
        return not self.evicting, self.priority, -self.reserved, self.order


def asked(ask: Ask) -> dict[int, int]:
    """How much of each FR must be there in the end; not all that is contested must."""
    return {fr: amount for fr, amount in zip(ask.frs, ask.amounts, strict=True) if amount}


def contested(ask: Ask) -> frozenset[int]:
    """The FRs that are to be had only by preemption."""
    return frozenset(fr for fr, only in zip(ask.frs, ask.contested, strict=True) if only)


def may_preempt(ask: Ask, holder: Holder) -> bool:
    """Whether the policy lets it go and it uses a contested FR, however little."""
    if contested(ask).isdisjoint(holder.usage):
        return False
    policy = ask.within if holder.queue == ask.queue else ask.reclaim
    if policy in (LOWER_PRIORITY, LOWER_OR_NEWER) and holder.priority < ask.priority:
        return True
    if policy == LOWER_OR_NEWER and holder.priority == ask.priority:
        return holder.queued > ask.queued or expired(ask, holder)
    return policy == ANY


def expired(ask: Ask, holder: Holder) -> bool:
    """KEP-8522: of equal priority in the same ClusterQueue, and admitted for longer than minAdmitDuration."""
    if ask.min_admit is None or ask.within != LOWER_OR_NEWER:
        return False
    alike = holder.queue == ask.queue and holder.priority == ask.priority
    return alike and ask.now - holder.reserved > ask.min_admit


def order_in_own_queue(ask: Ask, holder: Holder) -> tuple[bool, int, bool, int, int]:
    """The usual order, but of equal priority those whose time is over first, the longest admitted first of all."""
    over = expired(ask, holder)
    admitted = holder.reserved if over else -holder.reserved
    return not holder.evicting, holder.priority, not over, admitted, holder.order


def reason_in_own_queue(ask: Ask, holder: Holder) -> int:
    """Also of those that are newer as well, it is their time that counts."""
    return TIME_BASED if expired(ask, holder) else IN_CLUSTER_QUEUE
