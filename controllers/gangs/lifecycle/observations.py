"""What can happen to a gang: the input of the reducer. Every observation is a plain value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from api.plans import PreemptionPlanSpec
from controllers.gangs.lifecycle.life import ActivePhase, ActivePlan, Former, GroupKey, PlannedPod, RoomMade
from controllers.gangs.lifecycle.limits import Limited
from controllers.gangs.scheduler.proofs import Doubt, Proof
from nodes.search.preemptors.trying import NotTried

__all__ = [
    "Asked",
    "Compared",
    "Decided",
    "DeletionRefused",
    "EvictorStopped",
    "Failed",
    "GatesRemoved",
    "GroupGone",
    "HandedOver",
    "LimitSeen",
    "MembersSeen",
    "NeverNamed",
    "NotDecided",
    "NotOffered",
    "Nominated",
    "NotStored",
    "Observation",
    "Offered",
    "PassBegan",
    "PauseEnded",
    "PlanSeen",
    "PreemptCalled",
    "Rehearsed",
    "Relented",
    "Remembered",
    "Resumed",
    "MemberProof",
    "SteeredSeen",
    "Stored",
    "ToKeep",
    "ToRelease",
]


@dataclass(frozen=True, slots=True)
class MembersSeen:
    """How many pods a gang without a plan has. All pods that have neither ended nor begun to terminate count.

    The gang or a member has changed, or a plan of it has ended.
    """

    minimum: int
    """How many must run."""
    members: int
    bound: int
    left: int = 0
    """minCount less the members that Succeeded. For a gang that has run, `minimum` is less if fewer members exist."""
    domain: str = ""
    """In which the bound members are; empty without a topology key or bound members."""
    astray: str = ""
    """Which of them are elsewhere."""
    has_run: bool = False
    """Its PodGroup says that it ran whole at some time."""
    not_tried: NotTried | None = None
    """Why no scheduler tries it as it is."""


@dataclass(frozen=True, slots=True)
class GroupGone:
    """The PodGroup does not exist any longer, or has no gang policy."""


@dataclass(frozen=True, slots=True)
class Decided:
    """The search has a decision. `members`: the pods that it is for, by UID."""

    name: str
    """The name of the decision's object."""
    spec: PreemptionPlanSpec
    members: Mapping[str, PlannedPod]
    grace_seconds: float = 0.0
    """The longest grace period among the victims."""
    room: RoomMade | None = None
    """What the gang's former plan made, if that has no verdict yet."""
    untried: bool = False
    """There are members that no scheduler was seen to try. It will show more of the nodes soon."""
    only_free: bool = False
    """The gang may not evict yet, and was planned on free room alone. Nothing is said if that is not enough."""
    gated: bool = False
    """`members` has pods with our scheduling gate. No scheduler tries them before that is removed."""
    paused: str = ""
    """Why its victims must not be evicted now; empty if they may be. Then it is not carried out."""
    limited: Limited | None = None
    """The limit on evictions that does not allow it; None if all do."""
    changed: str = ""
    """Of an observed decision: why the state before the scheduler began is not known. It is made on the state as it is
    then."""

    @property
    def observed(self) -> bool:
        """Nothing is done for the decision, because of the mode of the gang's namespace."""
        return self.spec.mode == "Observe"


@dataclass(frozen=True, slots=True)
class ToRelease:
    """The bound members of a gang may be evicted: it is in pieces, or has lost its quota. `name`, `spec`: of the plan
    that evicts them."""

    name: str
    spec: PreemptionPlanSpec
    grace_seconds: float = 0.0
    """The longest grace period among them."""
    demanded: bool = False
    """They are evicted, whether or not the gang runs whole."""


@dataclass(frozen=True, slots=True)
class ToKeep:
    """The bound members of a gang in pieces stay."""

    reason: str


@dataclass(frozen=True, slots=True)
class GatesRemoved:
    """No member has our scheduling gate any longer."""


@dataclass(frozen=True, slots=True)
class NotDecided:
    """The search could not decide: an object is missing or wrong."""

    reason: str


@dataclass(frozen=True, slots=True)
class Stored:
    """The plan's phase is written."""

    phase: ActivePhase


@dataclass(frozen=True, slots=True)
class NotStored:
    """The plan's phase could not be written. `for_good`: another try would end the same."""

    phase: ActivePhase
    error: str
    for_good: bool


@dataclass(frozen=True, slots=True)
class Resumed:
    """A former process was carrying out this plan."""

    plan: ActivePlan


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the stored plans say of evictions in vain. Times are monotonic seconds."""

    vain: int
    at: float
    """Of the last verdict."""
    former: Former | None
    relented: bool = False
    """The group has changed since."""


@dataclass(frozen=True, slots=True)
class Relented:
    """The gang may evict again: its time has come, or the group or an excluded node has changed."""


@dataclass(frozen=True, slots=True)
class Nominated:
    """The nominations of the plan's members are written. `done`: all of them; otherwise the API server was away."""

    done: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """The members of the plan were brought back to the scheduler."""


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


@dataclass(frozen=True, slots=True)
class Offered:
    """Filter offered a member its planned node; `message` is that of its condition PodScheduled."""

    uid: str
    message: str


@dataclass(frozen=True, slots=True)
class NotOffered:
    """The plan is Ready, and the scheduler asked about a member without naming its planned node."""

    uid: str
    name: str


@dataclass(frozen=True, slots=True)
class HandedOver:
    """In what may be one pass of the scheduler, a steered plan has offered the members that the gang still needs.

    The scheduler may evict by this plan from now on. Until PassBegan, only the end of its group ends it. It may be
    observed several times in one pass.
    """

    plan: str
    """The name of its PreemptionPlan."""


@dataclass(frozen=True, slots=True)
class PassBegan:
    """The pass in which the plan was handed over has ended, and the next one has not offered enough members yet."""

    plan: str
    """The name of its PreemptionPlan."""


@dataclass(frozen=True, slots=True)
class NeverNamed:
    """In a whole attempt, with a real and a simulated pass, the scheduler has asked about a member and never named its
    planned node."""

    uid: str
    name: str


@dataclass(frozen=True, slots=True)
class PreemptCalled:
    """The scheduler found no node for a member. It asks which pods to evict."""

    uid: str
    name: str


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The API server has checked the plan's evictions without doing any."""

    refused: Mapping[str, str] | None
    """Victims (UIDs) that it would not delete, and why. None: it could not be asked, and is asked again."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The evictor is about to delete a victim. `changed` is why it may not; empty if it may."""

    changed: str


@dataclass(frozen=True, slots=True)
class DeletionRefused:
    """The API server will not delete this victim."""

    uid: str
    message: str


@dataclass(frozen=True, slots=True)
class EvictorStopped:
    """The evictor has ended. `done`: the deletion of every victim has been asked for. `paused`: a pause stopped it."""

    done: bool
    paused: bool = False


@dataclass(frozen=True, slots=True)
class PauseEnded:
    """A pause has ended or has changed. A gang that waited for its end is decided anew."""


@dataclass(frozen=True, slots=True)
class EnforcementBegan:
    """The gang's namespace was observed until now. From now on, what is decided for the gang is done."""


@dataclass(frozen=True, slots=True)
class EnforcementEnded:
    """The gang's namespace, or one of its plan's victims, is not enforced any longer: the plan ends."""


@dataclass(frozen=True, slots=True)
class LimitSeen:
    """The limits on evictions were looked at again for a gang that waits for one. None: they allow what it decided."""

    limited: Limited | None


@dataclass(frozen=True, slots=True)
class Failed:
    """A fault of ours: the gang is passed over for a while."""


Observation = (
    MembersSeen
    | Asked
    | GroupGone
    | Decided
    | GatesRemoved
    | NotDecided
    | Stored
    | Nominated
    | NotStored
    | Remembered
    | Relented
    | Resumed
    | PlanSeen
    | Offered
    | NotOffered
    | HandedOver
    | LimitSeen
    | PassBegan
    | PauseEnded
    | EnforcementBegan
    | EnforcementEnded
    | NeverNamed
    | PreemptCalled
    | Rehearsed
    | Compared
    | DeletionRefused
    | EvictorStopped
    | ToKeep
    | ToRelease
    | Failed
)
