"""A gang's life as data: Gathering → Planned → Confirmed → Evicting → Ready → Bound, or Unschedulable or Blocked.
Where nothing is enforced: Gathering → Observed → Bound.

Nothing here acts or waits. Only `controllers.gangs.lifecycle.reducer` makes a new life from an old one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from api.plans import PreemptionPlanSpec
from controllers.gangs.keys import GroupKey, key_of, lone_pod
from controllers.gangs.lifecycle.limits import REACHED, Limited
from controllers.gangs.lifecycle.probing import Alike, Probing
from controllers.gangs.scheduler.rejections import HOLD_MARK
from nodes.groups.keys import is_foreign, is_native_name, short_name

__all__ = [
    "ActivePhase",
    "ActivePlan",
    "Contradiction",
    "Ending",
    "Former",
    "GangPhase",
    "GroupKey",
    "Life",
    "Offer",
    "PlannedPod",
    "RoomMade",
    "hold_text",
    "phase_text",
    "victim_uids",
]

GangPhase = Literal[
    "Gathering", "Planned", "Confirmed", "Evicting", "Ready", "Bound", "Unschedulable", "Blocked", "Observed"
]
ActivePhase = Literal["Planned", "Confirmed", "Evicting", "Ready"]
"""The phases in which a plan holds room."""


def victim_uids(spec: PreemptionPlanSpec) -> frozenset[str]:
    """UIDs of the pods that this plan evicts."""
    return frozenset(pod.uid for victim in spec.victims for pod in victim.pods)


@dataclass(frozen=True, slots=True)
class PlannedPod:
    """A pod that a plan places because the gang needs it to reach minCount."""

    uid: str
    name: str
    node: str
    requests: Mapping[str, int]
    """By resource, in the scheduler's integers (cpu in milli), `pods` included."""
    any_node: bool = False
    """The scheduler chooses the node: see `api.plans.Placement`. No room is claimed on `node`."""
    wave: int = 0
    """It comes when all members of earlier waves are bound."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Filter offered a pod its planned node."""

    at: float
    """When first, in monotonic seconds."""
    message: str
    """The message of the pod's condition PodScheduled at that moment."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """The scheduler does not take a pod on the node that a plan has for it."""

    uid: str
    name: str
    node: str
    seen: str
    """What showed it, as one sentence."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a plan ended: the phase and the condition that are stored."""

    phase: Literal["Bound", "Aborted", "Expired", "Released"]
    reason: str
    message: str
    contradictions: tuple[Contradiction, ...] = ()
    """What it showed about nodes. The next plans leave them out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivePlan:
    """A plan that is being carried out. All times are monotonic seconds."""

    name: str
    """Of the PreemptionPlan object."""
    spec: PreemptionPlanSpec
    members: Mapping[str, PlannedPod]
    """By UID."""
    deadline: float
    phase: ActivePhase = "Planned"
    """The phase that is stored."""
    stored: bool = False
    """The object exists. Before that, nothing may be done for the plan."""
    writing: ActivePhase | None = None
    """The phase that is being written."""
    write_again: float = 0.0
    """What could not be written is not written again before this time: a phase, or nominations."""
    rehearsing: bool = False
    """The API server is being asked whether it would delete the victims."""
    rehearsed: bool = False
    """It would."""
    skipped_dry_runs: int | None = None
    """How many victims it was not asked about. None: not known, as of a plan that a former process has rehearsed."""
    asking: bool = False
    """The scheduler is to be asked about members, or has been."""
    asked: float | None = None
    """When it was asked, or tried the last member if it need not be asked."""
    asked_again: bool = False
    """It is asked for the second and last time."""
    nominating: bool = False
    """The nominations of the members are being written. See `nominates_first`."""
    nominated: bool = False
    """They are written."""
    begun: bool = False
    """The plan was compared with the cluster right before its first eviction. From then on it is carried through."""
    resumed: bool = False
    """A former process or term was evicting. Until the next eviction the plan is compared again, pods that have gone
    and members that are bound aside."""
    evicting: bool = False
    """The evictor is at work."""
    evicted: bool = False
    """The deletion of every victim has been asked for."""
    paused_since: float | None = None
    """Since when nobody may be evicted for it, because of a pause. None: it is not paused."""
    changed: str = ""
    """What the comparison before an eviction found."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Victims (UIDs) that the API server does not delete, and what it says."""
    offered: Mapping[str, Offer] = field(default_factory=dict)
    """By member UID."""
    missed: Mapping[str, float] = field(default_factory=dict)
    """Members (UIDs) whose planned node the scheduler does not offer although the plan is Ready: since when."""
    turned_down: Contradiction | None = None
    """The scheduler does not take a member where the plan puts it."""
    next_wake: float = 0.0
    wakes: int = 0
    wave: int = 0
    """The wave whose turn it is, once the plan is Ready: members of earlier ones are bound."""
    wave_deadline: float = 0.0
    """Until when it has time at least. The first one has until `deadline`."""
    made: float | None = None
    """When it was made. None: by a former process or term."""
    seconds: float = 0.0
    """How long a steered plan has, from its hand-over and from each later phase."""
    taken_up: float | None = None
    """When this term took a native gang's plan up from a former one. None: it has made it itself."""
    other_room: str = ""
    """The scheduler has freed other room for the group, so the plan ends: see `PlanSeen.other_room`. This stays: the
    scheduler withdraws its nominations when it turns the members down."""
    other_room_since: float = 0.0
    """When that was first seen."""
    opened: float | None = None
    """Of a steered plan: since when filter may offer its nodes. Before, the API server has allowed every deletion, and
    every planned member was nominated to its node."""
    presented: float = 0.0
    """When kube-scheduler last came to the group, or the plan was opened."""
    handed_over: float | None = None
    """Since when the scheduler may evict by the plan. None: it has not been offered enough nodes in this pass."""
    answer: str | None = None
    """What the scheduler said of the group when the plan was last looked at. None: it was not looked at."""
    given_up: bool = False
    """It is handed over, and ends as soon as it no longer is. It makes no more offers."""
    unplanned: frozenset[str] = frozenset()
    """Pods (UIDs) that the scheduler has evicted for the group, and that the plan does not name."""
    alike: Alike = ()
    """Members for which a few may speak. A plan of a former process or term has none."""
    room_is_free: bool = False
    """It has evicted, and the room is free. Then all its members lose our scheduling gate."""
    said_attempt: float = 0.0
    """The time of the scheduler's next attempt as it was last stored, in monotonic seconds; 0 if it was not."""

    @property
    def namespace(self) -> str:
        """Of the preemptor, its pods, and the plan object."""
        return self.spec.preemptor.namespace

    @property
    def group(self) -> GroupKey:
        """The preemptor."""
        return key_of(self.spec.preemptor)

    @property
    def ends_at(self) -> float:
        """When the plan expires: each wave has as much time as a plan has."""
        return max(self.deadline, self.wave_deadline)

    @property
    def is_native(self) -> bool:
        """Whether the preemptor is a gang of kube-scheduler's own kind.

        The scheduler tries all of its members in one attempt, a few of them are shown to us, and nothing brings the
        next attempt forward.
        """
        return is_native_name(self.group[1])

    @property
    def nominates_first(self) -> bool:
        """Whether the members are nominated to their nodes before the first eviction.

        The scheduler evicts nobody for its own gangs while a victim terminates on a node of a nominated member.
        """
        return self.is_native and not self.releases

    def has_turn(self, member: PlannedPod) -> bool:
        """Whether all members of earlier waves are bound. Those of a native gang come together."""
        return member.wave <= self.wave or self.is_native

    @property
    def victims(self) -> frozenset[str]:
        """UIDs of the pods that are evicted."""
        return victim_uids(self.spec)

    @property
    def releases(self) -> bool:
        """Its victims are the bound members of its own gang. It places nobody."""
        return self.spec.outcome in ("Releases", "Withdraws")

    @property
    def withdraws(self) -> bool:
        """They are evicted because the gang has lost its quota. Otherwise it is a gang that never ran whole."""
        return self.spec.outcome == "Withdraws"

    @property
    def respects_budgets(self) -> bool:
        """Whether no PodDisruptionBudget may be exceeded for it."""
        return self.spec.pod_disruption_budget_policy == "Respect"

    @property
    def is_steered(self) -> bool:
        """Whether kube-scheduler evicts by it: see `controllers.gangs.lifecycle.steered`."""
        return self.spec.evicted_by == "Scheduler"

    @property
    def is_open(self) -> bool:
        """Whether filter may offer each planned member its node, as far as the plan as a whole is concerned."""
        if self.is_steered:
            return self.opened is not None and not self.given_up
        return self.phase == "Ready"

    @property
    def makes_room(self) -> bool:
        """Whether the members that wait get room by it. Whether there are devices for them is not known."""
        if self.phase == "Ready" and any(member.any_node for member in self.members.values()):
            return False
        return self.phase in ("Evicting", "Ready")

    @property
    def may_evict(self) -> bool:
        """Whether the plan's own state lets the evictor go on."""
        if self.paused_since is not None:
            return False
        ours = self.stored and self.phase == "Evicting" and not self.is_steered
        return ours and not self.refused and not self.changed


@dataclass(frozen=True, slots=True)
class Former:
    """A plan that evicted and has ended. The next decision shows whether that was in vain."""

    name: str
    """Of the PreemptionPlan object."""
    spec: PreemptionPlanSpec


@dataclass(frozen=True, slots=True)
class RoomMade:
    """What the evictions of a former plan came to, as the cluster is now. See `controllers.gangs.lifecycle.vain`."""

    pods: int
    """Its victims that are gone or terminate."""
    nodes: frozenset[str]
    """Nodes where it placed members, where victims are gone or leave in time, and that have not changed."""
    open: frozenset[str]
    """Of these, the nodes where no member of the gang is bound."""
    taken: frozenset[str]
    """Of these, the nodes where pods that never asked us took the room."""


@dataclass(frozen=True, slots=True)
class Life:
    """Where a gang is in its life."""

    phase: GangPhase = "Gathering"
    reason: str = ""
    """Why it is Unschedulable or Blocked, or how its last plan ended: a word in CamelCase, as conditions have it."""
    message: str = ""
    """The same as a sentence."""
    plan: ActivePlan | None = None
    complete: bool = False
    """minCount members exist, and fewer are bound."""
    looked: bool = False
    """The search has looked at the gang as it is, and has no plan for it. Another look waits for what could help."""
    placed: bool = False
    """The last decision found a place, and a plan may be made of it."""
    replans: int = 0
    """Plans in a row that were followed by another one at once."""
    failures: int = 0
    """Plans in vain in a row."""
    due: float = 0.0
    """No plan is made before this time, in monotonic seconds."""
    former: Former | None = None
    vain: int = 0
    """Evicting plans in vain. Only Bound resets this and what follows."""
    setbacks: int = 0
    """Plans that evicted in vain, and later ones that came to nothing although they could have evicted."""
    barred: float = 0.0
    """Nothing is evicted for the gang before this time, in monotonic seconds. It takes free room."""

    gathering_until: float = 0.0
    """Members that come together are awaited until then, although the gang has run. In monotonic seconds."""
    domain: str = ""
    """In which its bound members were last seen."""
    astray: str = ""
    """Which of them were seen elsewhere."""
    untried_until: float | None = None
    """Before this time, no plan evicts while the scheduler has not tried every member without our scheduling gate. In
    monotonic seconds. It is put off when a member loses the gate."""
    probing: Probing | None = None
    """Its last decision or its plan evicts: which members the scheduler tries first."""
    complete_since: float = 0.0
    """Since when it has been complete, in monotonic seconds."""

    partial_since: float | None = None
    """Since when the gang has been in pieces: members are bound, and it never ran whole. In monotonic seconds. A plan
    that makes room ends this."""
    has_run: bool = False
    """This process has seen it run whole, whatever its PodGroup says."""
    kept: str = ""
    """Why its bound members were not released, as it was last said."""
    observed: str = ""
    """The last plan that was stored for it and that nobody carries out."""
    observed_until: float = 0.0
    """Another such plan is not stored before this time, in monotonic seconds."""
    limited: Limited | None = None
    """The limit on evictions that its last decision met. It says nothing if `reason` is another one."""
    limited_since: float = 0.0
    """Since when it waits for a limit, in monotonic seconds."""

    @property
    def is_limited(self) -> bool:
        """Whether a limit on evictions keeps it waiting, and it has no plan."""
        return self.plan is None and self.limited is not None and self.reason == self.limited.reason

    @property
    def waits_for_limit(self) -> bool:
        """The same, if it may get a plan by waiting."""
        return self.is_limited and self.reason == REACHED

    @property
    def is_paused(self) -> bool:
        """Whether it waits for the end of a pause, and has no plan."""
        return self.plan is None and self.reason == "Paused"

    @property
    def wants_plan(self) -> bool:
        """Whether the gang waits for a plan."""
        return self.plan is None and self.complete


def phase_text(key: GroupKey, phase: GangPhase) -> str:
    """What a gang's pods say of it. The numbers are in the conditions of its PodGroup.

    It is constant within a phase, because it lands in the pod's status, and each change there wakes the pod.
    """
    pod = lone_pod(key)
    if pod is not None:
        return f"{HOLD_MARK}room is being freed for pod {pod.namespace}/{pod.name}"
    name, see = f"{key[0]}/{short_name(key[1])}", "events" if is_foreign(key[1]) else "conditions"
    match phase:
        case "Planned" | "Confirmed" | "Evicting":
            return f"room is being freed for pod group {name}, see its {see}"
        case "Ready":
            return f"the planned members of pod group {name} are scheduled first"
        case "Unschedulable":
            return f"pod group {name} cannot be placed now, see its {see}"
        case "Blocked":
            return f"pod group {name} uses what reprieve cannot plan for, see its {see}"
        case _:
            return f"pod group {name} waits for members or for a plan, see its {see}"


def hold_text(key: GroupKey, phase: GangPhase) -> str:
    """What filter tells the scheduler about a gang's pod. As constant as `phase_text`."""
    return f"{HOLD_MARK}{phase_text(key, phase)}"
