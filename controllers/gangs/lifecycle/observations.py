"""What can happen to a gang: the input of the reducer. Every observation is a plain value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from api.plans import PreemptionPlanSpec
from controllers.gangs.lifecycle.life import ActivePhase, ActivePlan, Former, PlannedPod, RoomMade
from controllers.gangs.lifecycle.limits import Limited
from controllers.gangs.lifecycle.plan_seen import PlanSeen
from controllers.gangs.lifecycle.probing import Alike
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
    "PreemptCalled",
    "Rehearsed",
    "Relented",
    "Remembered",
    "Resumed",
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
    """Members that the scheduler has to try first have our scheduling gate, or it is not known whether the gates of
    the others can be removed later."""
    alike: Alike = ()
    """Those of `members` for which a few may speak."""
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
    """A member has lost our scheduling gate: from now on the scheduler tries it."""


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
    skipped: int = 0
    """How many pods it was not asked about, because nothing is known that could refuse them."""


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
