"""What a gang's plan is looked at for, again and again: the observation PlanSeen and its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.lifecycle.limits import Limited
from controllers.gangs.scheduler.proofs import Doubt, Proof

__all__ = ["MemberProof", "PlanSeen", "SteeredSeen"]


@dataclass(frozen=True, slots=True)
class MemberProof:
    """What the scheduler has shown of a planned member and its node (KEP-5710, "Delayed preemption")."""

    proof: Proof
    seen: str
    """What showed it, or why nothing does."""
    attempted: float | None
    """When its last attempt ended, in monotonic seconds; None if we saw none."""
    doubt: Doubt | None = None
    """Of an unknown member that the scheduler has refused."""
    cannot_tell: bool = False
    """The scheduler will not say more: it keeps the member away from us, or its lists were incomplete twice."""
    is_current: bool = False
    """Nothing has changed on the node since the scheduler last tried the member. It need not be asked again."""
    by_another: bool = False
    """It was shown of a member like this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeredSeen:
    """What a steered plan is looked at for besides."""

    has_nominations: bool = True
    """Each planned member that waits is nominated to its node."""
    marked: frozenset[str] = frozenset()
    """Its victims (UIDs) that kube-scheduler has marked, or that left after the hand-over."""
    unplanned: frozenset[str] = frozenset()
    """Other pods (UIDs) on its nodes that the scheduler has marked since the hand-over."""
    next_attempt: float = 0.0
    """When the scheduler's next attempt on the group begins at the latest, in monotonic seconds; 0 if it is due."""
    attempt_known: bool = False
    """That is its time, and not only an upper bound."""
    answer: str = ""
    """Why the scheduler has not placed the group, as the group's condition says it; empty if it does not."""
    preempts: bool = False
    """That says that it preempts for it. Then marks follow."""
    other_room: str = ""
    """How it was seen that the scheduler frees room for the group by its own rule, and not by this plan. This and what
    follows: of a native gang's plan only."""
    last_mark: float = 0.0
    """When the scheduler's last mark on a node of the plan or of that room was first seen, in monotonic seconds."""

    def by_name(self) -> dict[str, Any]:
        """The fields of this class, without those that another one adds."""
        return {each.name: getattr(self, each.name) for each in fields(SteeredSeen)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSeen(SteeredSeen):
    """What the cluster looks like for the gang's plan. An empty text means that there is nothing to say."""

    trusted: bool
    """Whether the mirror may be trusted. Without it nobody is evicted."""
    paused: str = ""
    """Why nobody may be evicted for the plan now; empty if it has no victims."""
    limited: Limited | None = None
    """The limit on evictions that does not allow it. Asked before the first eviction only."""
    group_gone: bool = False
    member_gone: str = ""
    """Which planned pod is gone."""
    unbound: frozenset[str] = frozenset()
    """Planned members (UIDs) that are not bound."""
    members_lost: bool = False
    """With the planned pods, fewer than minCount would run."""
    all_bound: bool = False
    changed: str = ""
    """What differs from the cluster that the plan was made for, and ends it. Once it evicts, less does."""
    proofs: Mapping[str, MemberProof] = field(default_factory=dict)
    """By member UID, before the first eviction only: every planned member that is not bound."""
    presented: bool = False
    """A scheduler has asked for a member of the gang. Looked at before the first eviction only."""
    messages: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Of unbound members by UID: name, and what the scheduler last said of them in its own words."""
    overrun_by: GroupKey | None = None
    """The group of higher priority whose plan takes the room of this one."""
    room_taken: str = ""
    """Why the unbound members no longer fit where they are planned, victims counted as gone."""
    is_free: bool = False
    """The room is free now, terminating pods counted as still there."""
    gated: bool = False
    """A planned member has our scheduling gate."""
    gates: frozenset[str] = frozenset()
    """The planned members (UIDs) that have it. This and what follows: before the first eviction only."""
    shut: bool = False
    """It is not known of each of them that the gate can be removed. Without it, nobody is evicted."""
    tried: bool = False
    """The scheduler has finished an attempt on each of the others that waits."""
