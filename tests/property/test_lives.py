"""Random lives of a gang against the reducer: a small world that agrees, refuses, forgets and fails as it likes.

The world keeps what an API server, an evictor, the reservations and the pods would keep. After each step it checks
what must hold of every life. `REPRIEVE_LIVES` sets how many lives are lived (10,000 for a release).
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec import UNSET

from api.backoff import Backoff
from api.plans import Placement, PreemptionPlanSpec, Preemptor, Victim, VictimPod
from controllers.gangs.lifecycle.effects import (
    Advance,
    Ask,
    CannotSchedule,
    Commit,
    Count,
    CountObserved,
    Effect,
    End,
    Evict,
    GiveBack,
    Judge,
    Nominate,
    NominateFirst,
    Record,
    Rehearse,
    Remind,
    SayAstray,
    SayAttempt,
    SayKept,
    SayPreempting,
    SayReleasing,
    SayScheduled,
    SayUnplanned,
    Wake,
)
from controllers.gangs.lifecycle.life import ActivePlan, Ending, Former, Life, PlannedPod, RoomMade
from controllers.gangs.lifecycle.limits import LIMIT, REACHED, Limited
from controllers.gangs.lifecycle.observations import (
    Asked,
    Compared,
    Decided,
    DeletionRefused,
    EvictorStopped,
    Failed,
    GatesRemoved,
    GroupGone,
    HandedOver,
    LimitSeen,
    MembersSeen,
    NeverNamed,
    Nominated,
    NotDecided,
    NotOffered,
    NotStored,
    Observation,
    Offered,
    PassBegan,
    PauseEnded,
    PreemptCalled,
    Rehearsed,
    Relented,
    Remembered,
    Resumed,
    Stored,
    ToKeep,
    ToRelease,
)
from controllers.gangs.lifecycle.partial import Keep, Member, Pieces, Release, resolve
from controllers.gangs.lifecycle.pausing import PAUSED
from controllers.gangs.lifecycle.plan_seen import MemberProof, PlanSeen
from controllers.gangs.lifecycle.reducer import reduce
from controllers.gangs.lifecycle.settings import (
    ASKED_SECONDS,
    PASS_SECONDS,
    RELEASE_SECONDS,
    REPLANS_AT_ONCE,
    VAIN_AT_MOST,
    Confirmation,
    GatesMode,
    Settings,
)
from controllers.gangs.lifecycle.stored_plan import FORGIVEN
from controllers.gangs.lifecycle.vain import continues
from controllers.gangs.scheduler.proofs import Proof
from controllers.gangs.waking.gates import Removal, removal
from tests.kit.examples import examples

LIVES = int(os.environ.get("REPRIEVE_LIVES", examples(300)))
BACKOFF = Backoff(1.0, 60.0, jitter=0.0)
MEMBERS = ("m0", "m1")
VICTIMS = ("v0", "v1", "v2")
ROUNDING_SECONDS = 1e-6
"""Times are sums of fractions that are not exact."""
SELDOM = st.sampled_from([False] * 9 + [True])
ACTIVE = ("Planned", "Confirmed", "Evicting", "Ready")
CONFIRMED = {uid: MemberProof(Proof.CONFIRMED, "offered", 0.0) for uid in MEMBERS}


NATIVE = "podgroups.scheduling.k8s.io:gang"


def spec(
    number: int,
    victims: Sequence[str],
    outcome: Any,
    not_modelled: Sequence[str],
    name: str = "gang",
    *,
    steered: bool = False,
) -> PreemptionPlanSpec:
    pods = [VictimPod("team", uid, uid, "n0") for uid in victims]
    return PreemptionPlanSpec(
        preemptor=Preemptor("PodGroup", "reprieve.dev/v1alpha1", "team", name, "uid", 100),
        outcome=outcome,
        reason=f"decision {number}",
        placements=[Placement(uid, "n0", uid) for uid in MEMBERS],
        victims=[Victim("Pod", "team", pod.name, pod.uid, 1, False, [pod]) for pod in pods],
        not_modelled=list(not_modelled),
        evicted_by="Scheduler" if steered else UNSET,
    )


class Lives(RuleBasedStateMachine):
    """One gang and its world. The test is the world: it carries effects out, or does not."""

    def __init__(self) -> None:
        super().__init__()
        self.life, self.now = Life(), 0.0
        self.todo: list[Effect] = []
        self.phases: dict[str, str] = {}
        """What is stored: phase by plan name."""
        self.reserved: set[str] = set()
        """Plans that hold room."""
        self.deletions: Counter[tuple[str, str]] = Counter()
        """How often a victim's deletion was accepted, by plan and victim."""
        self.evicting: tuple[ActivePlan, list[str]] | None = None
        """The evictor at work, and the victims that it has not asked for yet."""
        self.held: set[str] = set()
        """Members that filter turned down."""
        self.numbers = 0
        self.presented = False
        """A scheduler has asked this process for a member."""
        self.asking: str | None = None
        """The plan whose members are to be brought back for the scheduler's word."""
        self.asked: float | None = None
        self.rehearsing: str | None = None
        """The plan whose evictions the API server checks."""
        self.rehearsed: set[str] = set()
        self.resumed_evicting: set[str] = set()
        self.confirmed: set[str] = set()
        """Plans that were confirmed."""
        self.in_a_row = 0
        """Contradicted plans."""
        self.name = "gang"
        """Of the PodGroup: ours, or of the scheduler's own kind."""
        self.nominated: set[str] = set()
        """Plans whose members have their nominations."""
        self.setting = Settings(BACKOFF, plan_seconds=300.0)
        self.specs: dict[str, PreemptionPlanSpec] = {}
        self.ended: dict[str, tuple[PreemptionPlanSpec, str]] = {}
        """Plans whose end is stored, oldest first: the decision, and the reason."""
        self.judged: dict[str, tuple[bool, float]] = {}
        """Stored verdicts: whether it evicted in vain, and when that was said."""
        self.vain = 0
        """Evicting plans in vain since the gang was Bound."""
        self.barred = 0.0
        """Until then nothing is evicted."""
        self.gated = False
        """Members have our scheduling gate."""
        self.probed = False
        """Those of them that are tried first have it no longer, and the others could lose it."""
        self.looks_alike = False
        """A member may speak for the other one."""
        self.bound = 0
        """How many members are bound, as was last seen."""
        self.has_run = False
        """The gang has run whole at some time. Its PodGroup says so."""
        self.releases: list[float] = []
        """When plans that release members began to evict. It is stored."""
        self.placed: dict[str, set[str]] = {}
        """Members (UIDs) that are bound, by the plan that places them."""
        self.in_pass: tuple[str, float] | None = None
        """The steered plan by which the scheduler may evict, and since when: a pass was offered all of its nodes."""
        self.answers = 0
        """How often the scheduler has said why it did not place the group."""
        self.strangers: set[str] = set()
        """Pods that the scheduler has evicted, and that the plan does not name."""
        self.paused = False
        """Evictions are paused."""
        self.limited: Limited | None = None
        """A limit on evictions that allows none now."""
        self.made: dict[str, float] = {}
        """When plans were made, by name."""
        self.stood: defaultdict[str, float] = defaultdict(float)
        """For how many seconds the deadlines of plans stood still, by name."""
        self.delay = 0.0
        """How long nothing was evicted the last time. Bound resets it, and so does a restart: only plans are known."""

    # ---- the world

    def observe(self, observation: Observation) -> None:
        before = self.life
        self.life, effects = reduce(self.life, observation, self.now, self.setting)
        assert isinstance(effects, tuple)
        assert reduce(before, observation, self.now, self.setting) == (self.life, effects), "a pure function"
        for effect in effects:
            if isinstance(effect, Advance) and effect.phase == "Confirmed":
                assert isinstance(observation, PlanSeen)
                assert not observation.shut, "a gate may be there for ever"
                self._may_be_confirmed(effect.plan, observation)
            if isinstance(effect, Advance) and effect.phase == "Ready" and not effect.plan.is_steered:
                assert not self.gated, "the others would be bound without it"
            self._note_verdict(effect, observation)
            self._note_pause(effect)
        self._may_be_opened(before)
        if isinstance(observation, MembersSeen) and before.plan is None:
            self.bound = observation.bound
            if observation.bound >= 2:
                self._bound()
        self._has_a_verdict(before, observation, effects)
        self._note_bar(before, effects)
        self.todo.extend(effects)

    def _note_verdict(self, effect: Effect, observation: Observation) -> None:
        match effect:
            case Judge(former, in_vain):
                if isinstance(observation, Decided):
                    assert self._gone(former.name, former.spec), "a verdict needs an eviction"
                    assert in_vain or observation.spec.victims, "without evictions the question stays open"
                assert former.name not in self.judged
                if in_vain:
                    self.vain += 1
                    self.barred = self.now + self._least_delay()
            case End(plan, ending):
                if ending.reason in ("Bound", "PodGroupDeleted"):
                    self.in_pass = None
                if ending.phase == "Bound":
                    self._bound()
                elif plan.releases:
                    assert ending.phase != "Released" or plan.evicted
                elif ending.reason not in FORGIVEN and self._gone(plan.name, plan.spec):
                    assert self.life.former == Former(plan.name, plan.spec), "nobody knows yet"
            case Commit(plan):
                if plan.releases:
                    assert not self.has_run, "a gang that has run is never released"
                    return
                assert not plan.spec.victims or self.now >= self.barred, (
                    "nothing is evicted for a gang that is barred"
                )
                # A steered plan comes first, and then the gates go.
                may_try = plan.is_steered or not self.gated or self.probed
                assert may_try or not plan.spec.victims, "no scheduler can try the members"
                assert not plan.alike or not (self.vain or plan.spec.not_modelled), "each speaks for itself"
            case _:
                pass

    def _note_pause(self, effect: Effect) -> None:
        match effect:
            case Commit(plan):
                assert plan.releases or not (self.paused and plan.spec.victims), "it would evict"
                assert plan.releases or not (self.limited and plan.spec.victims), "a limit does not allow it"
                self.made.setdefault(plan.name, self.now)
            case Evict(plan):
                assert not self.paused
                assert not self.limited or plan.phase == "Evicting", "only what has begun goes on"
            case Advance(plan, "Evicting") if not plan.is_steered and plan.spec.victims:
                assert not self.limited, "a limit is asked before the first eviction"
            case End(plan, ending) if ending.reason == "DeadlineExceeded" and plan.spec.victims:
                assert plan.paused_since is None, "its deadline stands still"
                took = self.now - self.made[plan.name] - self.stood[plan.name]
                assert plan.is_steered or took >= self.setting.plan_seconds - ROUNDING_SECONDS
            case _:
                pass

    def _bound(self) -> None:
        self.vain, self.barred, self.delay = 0, 0.0, 0.0
        self.has_run = True

    def _least_delay(self) -> float:
        rules = self.setting
        return rules.vain_seconds if self.vain >= VAIN_AT_MOST else rules.vain_delay(self.vain)

    def _has_a_verdict(self, before: Life, seen: Observation, effects: Sequence[Effect]) -> None:
        """A decision that does not go on with the room of the plan before it shows that this evicted in vain."""
        if not isinstance(seen, Decided) or before.former is None or seen.room is None:
            return
        if seen.only_free and seen.spec.outcome != "Fits":
            return  # nothing is said if free room alone is not enough
        if seen.room.pods and not continues(before.former, seen.room, seen.spec):
            assert [each.in_vain for each in effects if isinstance(each, Judge)] == [True]

    def _note_bar(self, before: Life, effects: Sequence[Effect]) -> None:
        """After an eviction in vain nothing is evicted for a while, also after whatever else comes to nothing.

        To wait for the end of a pause, or for a limit, is no failure.
        """
        held_back = (PAUSED, REACHED)
        failed = any(isinstance(each, CannotSchedule) and each.reason not in held_back for each in effects)
        if failed and before.vain and before.former is None and self.now >= before.barred:
            assert self.life.barred > self.now
        if self.life.barred > max(before.barred, self.now):
            delay = self.life.barred - self.now
            least = min(2 * self.delay, self.setting.vain_seconds)
            assert delay >= least - ROUNDING_SECONDS, "the delay doubles"
            self.barred, self.delay = max(self.barred, self.life.barred), delay

    def _gone(self, name: str, decision: PreemptionPlanSpec) -> int:
        return sum(self.deletions[name, pod.uid] for victim in decision.victims for pod in victim.pods)

    def _room(self) -> RoomMade | None:
        former = self.life.former
        if former is None:
            return None
        pods = self._gone(former.name, former.spec)
        nodes = frozenset({"n0"} if pods else ())
        return RoomMade(pods, nodes, nodes, frozenset())

    @property
    def plan(self) -> ActivePlan | None:
        return self.life.plan

    def seen(self, **fields: Any) -> PlanSeen:
        plan = self.plan
        shown = CONFIRMED if plan is not None and plan.phase in ("Planned", "Confirmed") else {}
        waits = self._waits()
        given: dict[str, Any] = {
            "trusted": True,
            "proofs": shown,
            "presented": self.presented,
            "unbound": waits,
        }
        given |= {"gated": self.gated, "gates": waits if self.gated else frozenset(), **fields}
        if plan is not None and plan.is_steered:
            marked = {uid for uid in plan.victims if self.deletions[plan.name, uid]}
            given |= {"has_nominations": plan.name in self.nominated, "marked": frozenset(marked)}
            given |= {"unplanned": frozenset(self.strangers), "next_attempt": self.now + 10.0}
            if marked and not plan.begun:
                given.setdefault("changed", f"{min(marked)} is not running any longer")
        if self.paused and plan is not None and plan.spec.victims:
            given["paused"] = "evictions are paused: upgrade"
        if self.limited and plan is not None and plan.spec.victims:
            given["limited"] = self.limited
        return PlanSeen(**given)

    def _waits(self) -> frozenset[str]:
        """The plan's members that are not bound."""
        plan = self.plan
        return frozenset(plan.members.keys() - self.placed.get(plan.name, set())) if plan else frozenset()

    # ---- what the cluster does

    @initialize(
        members=st.integers(0, 3),
        bound=st.integers(0, 2),
        confirmation=st.sampled_from(["Prefer", "Prefer", "Require", "Off"]),
        native=st.booleans(),
        looks_alike=st.booleans(),
    )
    def begin(
        self, members: int, bound: int, confirmation: Confirmation, native: bool, looks_alike: bool
    ) -> None:
        self.looks_alike = looks_alike
        self.name = NATIVE if native else "gang"
        self.setting = replace(self.setting, confirmation=confirmation)
        self.observe(MembersSeen(2, max(members, bound), bound))

    @rule(seconds=st.sampled_from([0.1, 1.0, 2.5, 30.0, 301.0, 1800.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        if self.paused and self.plan is not None and self.plan.paused_since is not None:
            self.stood[self.plan.name] += seconds
        if self.in_pass is not None and self.now >= self.in_pass[1] + PASS_SECONDS:
            self.in_pass = None

    @precondition(lambda self: self.plan is None)
    @rule(members=st.integers(0, 3), bound=st.integers(0, 3), gated=st.booleans())
    def members_change(self, members: int, bound: int, gated: bool) -> None:
        if not self.gated and gated and members > bound:
            self.gated, self.probed = True, False
        self.observe(MembersSeen(2, max(members, bound), bound, has_run=self.has_run))
        if max(members, bound) < 2 or bound >= 2:
            assert not self.life.placed

    @precondition(lambda self: self.life.partial_since is not None and not self.todo)
    @rule(patient=st.booleans(), held=st.booleans())
    def a_gang_in_pieces_is_looked_at(self, patient: bool, held: bool) -> None:
        """The rule says what becomes of it, and the reducer does that if it may."""
        since = self.life.partial_since
        assert since is not None
        if patient:
            self.now += self.setting.partial_seconds
        bound = [Member(f"b{number}", 0.0, 1.0) for number in range(self.bound)]
        pieces = Pieces(
            minimum=2,
            members=(*bound, Member("w", 0.0)),
            has_run=self.has_run,
            held_since=0.0 if held else None,
            known_since=0.0,
            makes_room=self.plan is not None and self.plan.makes_room,
            seconds=self.now - since,
            patience=self.setting.partial_seconds,
            released=self.now - self.releases[-1] if self.releases else None,
        )
        match resolve(pieces):
            case Release():
                self._release(len(bound))
            case Keep(reason):
                self.observe(ToKeep(reason))
            case _:
                assert self.has_run or pieces.seconds < pieces.patience or self.plan is not None

    @precondition(lambda self: self.plan is None and not self.todo and not self.has_run)
    @rule(steps=st.integers(0, 5), dies=st.sampled_from([False] * 3 + [True]))
    def a_gang_in_pieces_is_released_for_some_steps(self, steps: int, dies: bool) -> None:
        """So that lives get far more often than chance alone lets them."""
        self.observe(MembersSeen(2, 2, 1))
        self.a_gang_in_pieces_is_looked_at(patient=True, held=True)
        for _ in range(steps):
            self.what_is_due_goes_well()
            while self.evicting is not None:
                self._evict_next("", refuses=False)
        self.restart(dies)

    def _release(self, count: int) -> None:
        self.numbers += 1
        name = f"release-{self.numbers}"
        decision = spec(self.numbers, [f"b{number}" for number in range(count)], "Releases", (), self.name)
        self.specs[name] = decision
        self.observe(ToRelease(name, decision))
        if self.plan is not None and self.plan.name == name:
            assert self.now >= (self.releases or [-RELEASE_SECONDS])[-1] + RELEASE_SECONDS
            assert self.bound < 2

    @precondition(lambda self: self.gated)
    @rule()
    def gates_are_removed(self) -> None:
        """A gate goes if the rule of any mode says so, or somebody else removes it."""
        self.gated = self.probed = False
        self.observe(GatesRemoved())

    @precondition(lambda self: self.gated and self._removal("Gathering") is Removal.PROBES)
    @rule()
    def gates_of_probes_are_removed(self) -> None:
        """The others keep theirs."""
        self.probed = True
        self.observe(GatesRemoved())

    def _removal(self, mode: GatesMode) -> Removal:
        """When the gates of a complete gang go that has no bound member."""
        return removal(mode, MembersSeen(2, 2, 0), self.life, self.now, native=self.name == NATIVE)

    @rule(happens=SELDOM)
    def group_goes(self, happens: bool) -> None:
        if happens:
            self.observe(GroupGone())

    @precondition(lambda self: self.life.barred)
    @rule(changed=SELDOM)
    def somebody_may_go_again(self, changed: bool) -> None:
        """Its time has come, or a node has changed."""
        if changed or self.now >= self.life.barred:
            self.barred = 0.0
            self.observe(Relented())
            assert self.life.barred == 0.0

    @precondition(lambda self: not self.todo)
    @rule(happens=SELDOM)
    def our_own_fault(self, happens: bool) -> None:
        if happens:
            self.observe(Failed())

    # ---- pauses

    @precondition(lambda self: not self.paused)
    @rule(happens=st.sampled_from([False, False, True]))
    def evictions_are_paused(self, happens: bool) -> None:
        if not happens:
            return
        self.paused = True
        if self.plan is not None:
            self.observe(self.seen())
        plan = self.plan
        if plan is not None and plan.spec.victims and plan.writing is None:
            assert plan.begun or plan.evicted or plan.handed_over is not None, "it has evicted somebody"
            assert plan.paused_since is not None
            assert not plan.is_steered or plan.begun or not plan.is_open, "the scheduler would evict by it"

    @precondition(lambda self: self.paused)
    @rule()
    def the_pause_is_over(self) -> None:
        """The planner sees that, and whoever waited is decided anew."""
        self.paused, waited = False, self.life.is_paused
        if self.plan is not None:
            self.observe(self.seen())
        self.observe(PauseEnded())
        assert not (waited and self.life.looked)
        plan = self.plan
        if plan is not None and plan.writing is None and plan.paused_since is not None:
            assert plan.handed_over is not None, "all others go on, or have ended"

    # ---- limits on evictions

    @precondition(lambda self: self.limited is None)
    @rule(happens=st.sampled_from([False, False, True]), reason=st.sampled_from([LIMIT, REACHED, REACHED]))
    def a_limit_is_reached(self, happens: bool, reason: Any) -> None:
        """Plans that have evicted nobody end. All others are carried through."""
        if not happens:
            return
        self.limited = Limited(reason, f"no: {reason}", (("podsPerHour", ""),), {"v0": "team"})
        before = self.plan
        if before is None or before.writing is not None:
            return
        self.observe(self.seen())
        goes_on = (
            before.begun
            or before.opened is not None
            or before.resumed
            or before.phase in ("Evicting", "Ready")
        )
        assert goes_on or not before.spec.victims or self.plan is None

    @precondition(lambda self: self.limited is not None)
    @rule()
    def the_limit_allows_more(self) -> None:
        """Whoever waits for it is decided anew. What was Blocked waits for something else."""
        self.limited, waited = None, self.life.waits_for_limit
        self.observe(LimitSeen(None))
        assert not (waited and self.life.looked)

    @precondition(lambda self: self.life.waits_for_limit)
    @rule()
    def the_limit_is_looked_at_again(self) -> None:
        before = self.life
        assert before.limited is not None
        self.observe(LimitSeen(replace(before.limited, message="no: later")))
        assert self.life.limited_since == before.limited_since, "it keeps its turn"
        assert self.life.waits_for_limit

    @precondition(lambda self: self.evicting is not None and not self.paused)
    @rule()
    def a_pause_comes_among_victims_and_is_over_before_a_look(self) -> None:
        """The plan evicts nobody any longer: the gang is decided anew."""
        assert self.evicting is not None
        plan, left = self.evicting
        if not left:
            return
        self._stop_evicting(plan, done=False, paused=True)
        if self.plan is not None and self.plan.name == plan.name and self.plan.writing is None:
            self.observe(self.seen())
            assert self.plan is None

    # ---- deciding

    @precondition(lambda self: not self.todo and self.life.wants_plan and self.now >= self.life.due)
    @rule(
        victims=st.lists(st.sampled_from(VICTIMS), unique=True),
        outcome=st.sampled_from(["Fits", "Preempts", "Preempts", "Unschedulable", "SearchBudgetExhausted"]),
        modelled=st.sampled_from([(), (), (), ("resource claims (DRA)",)]),
        error=SELDOM,
    )
    def decide(self, victims: list[str], outcome: str, modelled: tuple[str, ...], error: bool) -> None:
        if error:
            self.observe(NotDecided("the class does not exist"))
        elif outcome == "Preempts":
            self._decided(victims or ["v0"], outcome, modelled)
        else:
            self._decided([], outcome, modelled)

    @precondition(lambda self: not self.todo and self.life.wants_plan and self.now < self.life.due)
    @rule(outcome=st.sampled_from(["Fits", "Unschedulable"]))
    def decide_on_free_room(self, outcome: str) -> None:
        before = self.life
        self._decided([], outcome, (), only_free=True)
        assert outcome == "Fits" or self.life == before

    def _decided(
        self, victims: list[str], outcome: str, modelled: tuple[str, ...], *, only_free: bool = False
    ) -> None:
        self.numbers += 1
        last = self.numbers % 2
        members = {uid: PlannedPod(uid, uid, "n0", {"cpu": 1}, wave=last * (uid == "m1")) for uid in MEMBERS}
        steers = self.name == NATIVE and self.numbers % 3 != 2 and not modelled
        steered = steers and outcome in ("Fits", "Preempts")
        members = {uid: replace(each, wave=0) for uid, each in members.items()} if steered else members
        decision = spec(self.numbers, victims, outcome, modelled, self.name, steered=steered)
        self.specs[f"plan-{self.numbers}"] = decision
        untried = self.numbers % 4 == 0
        decided = Decided(
            f"plan-{self.numbers}",
            decision,
            members,
            room=self._room(),
            untried=untried or self.gated,
            gated=self.gated and not self.probed,
            alike=(MEMBERS,) if self.looks_alike and self.name != NATIVE else (),
            only_free=only_free,
            paused="evictions are paused: upgrade" if self.paused and victims else "",
            limited=self.limited if victims else None,
        )
        self.observe(decided)
        if self.plan is not None:
            assert self.life.placed
        if self.life.is_paused or self.life.is_limited:
            return
        if self.gated and self.now >= self.barred and outcome in ("Fits", "Preempts") and not modelled:
            waits = self.plan is not None and self.plan.is_steered  # until it is open
            expected = Removal.NOT_YET if waits else Removal.NOW
            if outcome == "Preempts" and self.looks_alike and self.name != NATIVE and not self.vain:
                expected = Removal.PROBES
            assert self._removal("UntilPlanned") is expected, "nobody waits for ever"
            assert self._removal("Gathering") is expected, "nobody waits for ever"

    # ---- looking

    @precondition(lambda self: self.plan is not None)
    @rule(
        trusted=st.sampled_from([True, True, True, False]),
        is_free=st.booleans(),
        gone=st.sampled_from(
            [{}] * 30
            + [
                {"group_gone": True},
                {"member_gone": "m0"},
                {"members_lost": True},
                {"all_bound": True},
                {"changed": "n0 is gone"},
                {"room_taken": "by x"},
                {"overrun_by": ("team", "high")},
            ]
        ),
    )
    def look(self, trusted: bool, is_free: bool, gone: dict[str, Any]) -> None:
        plan = self.plan
        assert plan is not None
        left = [uid for uid in plan.victims if not self.deletions[plan.name, uid]]
        self.observe(self.seen(trusted=trusted, is_free=is_free and not left, **gone))

    @precondition(lambda self: self.plan is not None)
    @rule(message=st.sampled_from(["", "0/1 nodes are available: 1 Insufficient cpu.", "1 other"]))
    def look_at_messages(self, message: str) -> None:
        self.observe(self.seen(messages={"m0": ("m0", message)}))

    @precondition(
        lambda self: (
            self.plan is not None and not self.plan.releases and self.plan.phase in ("Planned", "Confirmed")
        )
    )
    @rule(
        proofs=st.lists(st.sampled_from([*Proof, Proof.UNKNOWN]), min_size=2, max_size=2),
        attempted=st.sampled_from([None, 0.0, 1.0]),
        cannot_tell=st.booleans(),
        shut=st.sampled_from([False, False, True]),
    )
    def look_at_proofs(
        self, proofs: list[Proof], attempted: float | None, cannot_tell: bool, shut: bool
    ) -> None:
        when = None if attempted is None else self.now - attempted
        shown = {
            uid: MemberProof(
                proof, "" if proof is Proof.UNKNOWN else f"{uid}: {proof}", when, cannot_tell=cannot_tell
            )
            for uid, proof in zip(MEMBERS, proofs, strict=True)
        }
        self.observe(self.seen(proofs=shown, shut=shut and self.gated, tried=not cannot_tell))

    @precondition(lambda self: self.asking is not None)
    @rule()
    def the_scheduler_is_asked(self) -> None:
        assert self.asking is not None
        if self.plan is not None and self.plan.name == self.asking:
            self.asked = self.now
            self.observe(Asked())
        self.asking = None

    @precondition(lambda self: self.rehearsing is not None)
    @rule(answer=st.sampled_from(["", "", "", "refused", "away"]))
    def the_api_server_has_checked(self, answer: str) -> None:
        self._rehearsed(answer)

    def _rehearsed(self, answer: str) -> None:
        name, self.rehearsing = self.rehearsing, None
        assert name is not None
        if self.plan is None or self.plan.name != name:
            return
        if answer == "away":
            self.observe(Rehearsed(None))
            return
        victim = min(self.plan.victims)
        self.rehearsed.add(name)
        self.observe(Rehearsed({victim: f"pod {victim} cannot be evicted"} if answer == "refused" else {}))

    # ---- the scheduler

    @rule(uid=st.sampled_from(MEMBERS))
    def filter_is_called(self, uid: str) -> None:
        self.presented = True
        plan = self.plan
        if plan is not None and plan.is_open and plan.has_turn(plan.members[uid]):
            self.observe(Offered(uid, ""))
        elif self.life.phase != "Bound":
            self.held.add(uid)

    @precondition(lambda self: self.plan is not None and self.plan.phase == "Ready")
    @rule(uid=st.sampled_from(MEMBERS))
    def a_member_is_bound(self, uid: str) -> None:
        """Filter lets it onto its node if it is its turn. The plan is looked at then."""
        plan = self.plan
        assert plan is not None
        if not plan.has_turn(plan.members[uid]) or plan.writing is not None:
            return
        self.placed.setdefault(plan.name, set()).add(uid)
        before, left = plan.ends_at, self._waits()
        late = self.now >= before
        self.observe(self.seen(all_bound=not left))
        if left and self.plan is not None:
            assert not late
            assert any(plan.members[each].wave == self.plan.wave for each in left), (
                "it is the turn of somebody"
            )
            if self.plan.wave > plan.wave:
                assert self.plan.ends_at >= self.now + self.setting.plan_seconds, (
                    "each wave has time of its own"
                )

    @rule(uid=st.sampled_from(MEMBERS))
    def planned_node_is_missing(self, uid: str) -> None:
        self.presented = True
        self.observe(NotOffered(uid, uid))

    @rule(uid=st.sampled_from(MEMBERS))
    def preempt_is_called(self, uid: str) -> None:
        self.presented = True
        self.observe(PreemptCalled(uid, uid))

    # ---- the scheduler, and steered plans

    def _may_be_opened(self, before: Life) -> None:
        """What must hold before filter offers the nodes of a steered plan."""
        plan, former = self.plan, before.plan
        if plan is None or not plan.is_steered:
            return
        if plan.opened is not None and not plan.begun and (former is None or former.opened is None):
            assert plan.name in self.phases, "a plan is stored before it is offered"
            assert not plan.spec.victims or plan.name in self.rehearsed, "the API server has allowed all"
            assert plan.name in self.nominated, "every planned member is nominated"
            assert self._removal("UntilPlanned") is Removal.NOW or plan.given_up
        assert plan.phase != "Confirmed"
        if plan.phase == "Evicting" and plan.spec.victims:
            assert self._gone(plan.name, plan.spec), "it is stored when the first victim is marked"
        if plan.opened is None and not plan.begun:
            assert plan.deadline <= self.now + self.setting.plan_seconds

    @property
    def is_offered(self) -> bool:
        plan = self.plan
        return plan is not None and plan.is_steered and plan.is_open and not plan.begun

    @precondition(lambda self: self.is_offered)
    @rule()
    def a_pass_is_offered_all_nodes(self) -> None:
        plan = self.plan
        assert plan is not None
        self.presented, self.in_pass = True, (plan.name, self.now)
        self.observe(HandedOver(plan.name))

    @precondition(lambda self: self.in_pass is not None)
    @rule(preempts=st.sampled_from([None, False, True]))
    def the_pass_is_over(self, preempts: bool | None) -> None:
        """The next one begins, or the group has its answer. If that is a preemption, marks follow."""
        assert self.in_pass is not None
        name = self.in_pass[0]
        if not preempts:
            self.in_pass = None
        self.answers += 1
        if preempts is None:
            self.observe(PassBegan(name))
        elif self.plan is not None:
            self.observe(self.seen(answer=f"answer {self.answers}", preempts=preempts))

    @precondition(lambda self: self.plan is not None and self.plan.is_native and not self.plan.releases)
    @rule(marks=st.booleans(), happens=SELDOM)
    def the_scheduler_frees_other_room(self, marks: bool, happens: bool) -> None:
        """By its own rule, while nobody answered. Nothing is begun meanwhile, and the plan ends."""
        if not happens:
            return
        known = len(self.todo)
        last_mark = self.now if marks else 0.0
        self.observe(self.seen(other_room="on x", has_nominations=False, last_mark=last_mark))
        new = self.todo[known:]
        assert not [each for each in new if isinstance(each, NominateFirst | Nominate | Evict)]
        assert self.plan is None or self.plan.writing is not None or self.plan.other_room

    @precondition(lambda self: self.in_pass is not None)
    @rule(count=st.integers(1, 3), stranger=SELDOM)
    def the_scheduler_evicts(self, count: int, stranger: bool) -> None:
        """It marks some victims of the plan that it was offered. The others follow, or not."""
        self._scheduler_evicts(count, stranger=stranger)

    def _scheduler_evicts(self, count: int, *, stranger: bool = False) -> None:
        assert self.in_pass is not None
        name, decision = self.in_pass[0], self.specs[self.in_pass[0]]
        if not self._gone(name, decision):
            assert self.plan is not None, "nothing is evicted for a plan that has ended"
            assert self.plan.name == name
            assert self.phases[name] in ACTIVE
            assert name in self.reserved
        left = [pod.uid for victim in decision.victims for pod in victim.pods]
        left = [uid for uid in left if not self.deletions[name, uid]]
        for uid in left[:count]:
            self.deletions[name, uid] += 1
        if stranger:
            self.strangers.add("stranger")

    @precondition(lambda self: self.is_offered and not self.todo)
    @rule(ending=st.sampled_from([{"room_taken": "by x"}, {"changed": "n0 is gone"}, {"members_lost": True}]))
    def the_process_dies_in_a_pass(self, ending: dict[str, Any]) -> None:
        """The next one does not know how far it was."""
        self.a_pass_is_offered_all_nodes()
        self.restart(happens=True)
        self.observe(self.seen(**ending))
        self._scheduler_evicts(1)

    @precondition(lambda self: self.is_offered and self.in_pass is None)
    @rule(uid=st.sampled_from(MEMBERS), happens=SELDOM)
    def a_node_is_never_named(self, uid: str, happens: bool) -> None:
        if happens:
            self.observe(NeverNamed(uid, uid))

    @precondition(lambda self: self.is_offered)
    @rule()
    def nominations_are_withdrawn(self) -> None:
        """The scheduler has turned a member down."""
        assert self.plan is not None
        self.nominated.discard(self.plan.name)

    def _steer(self) -> None:
        """The scheduler does what a steered plan waits for."""
        plan = self.plan
        if plan is not None and plan.given_up:
            self.in_pass = None
            self.observe(PassBegan(plan.name))
            return
        if plan is None or not (plan.is_steered and plan.is_open) or self.todo:
            return
        if not plan.begun or plan.phase == "Evicting":  # what is left goes by a later attempt
            self.a_pass_is_offered_all_nodes()
            self._scheduler_evicts(3)

    # ---- carrying effects out

    @precondition(lambda self: bool(self.todo))
    @rule(fails=st.sampled_from(["", "", "", "", "for now", "for good", "fault"]))
    def carry_out(self, fails: str) -> None:
        self._perform(self.todo.pop(0), fails)

    def _perform(self, effect: Effect, fails: str) -> None:
        match effect:
            case Commit(plan):
                self.reserved.add(plan.name)
                self._written(plan, "Planned", fails)
            case Advance(plan, phase):
                assert plan.name in self.phases, "nothing is written for a plan that is not stored"
                self._written(plan, phase, fails)
            case Ask(plan, members):
                assert members
                self.asking, self.asked = plan.name, None
            case Count(by_scheduler, by_model):
                assert by_scheduler + by_model > 0
            case CountObserved():
                raise AssertionError("all is enforced: see tests/property/test_observed_lives.py")
            case Rehearse(plan):
                assert plan.name in self.phases, "a plan is stored before its evictions are rehearsed"
                assert self.rehearsing != plan.name, "one rehearsal for a plan"
                self.rehearsing = plan.name
            case GiveBack(plan):
                self.reserved.discard(plan.name)
            case End(plan, ending):
                assert ending.reason
                assert ending.message
                self._in_a_row(ending)
                self.reserved.discard(plan.name)
                if plan.name in self.phases:
                    self.phases[plan.name] = ending.phase
                    self._ended(plan.name, plan.spec, ending.reason)
                self.held.clear()
            case Judge(former, in_vain, reason, message):
                assert reason
                assert message
                if self._gone(former.name, former.spec):
                    self.judged[former.name] = (in_vain, self.now)
            case Evict(plan):
                assert self.phases.get(plan.name) == "Evicting", "no eviction without a stored plan"
                assert not plan.is_steered, "kube-scheduler evicts"
                assert self.evicting is None or self.evicting[0].name != plan.name, "one evictor for a plan"
                assert plan.releases or plan.name in self.resumed_evicting | self.confirmed, (
                    "nothing is evicted before the plan is confirmed"
                )
                assert plan.name in self.rehearsed | self.resumed_evicting
                self.evicting = (plan, sorted(plan.victims))
            case NominateFirst(plan):
                assert self.phases.get(plan.name) == "Confirmed" or plan.is_steered
                assert plan.name in self.phases
                assert self.name == NATIVE
                if fails == "fault":
                    self.observe(Failed())
                    return
                if not fails:
                    self.nominated.add(plan.name)
                self.observe(Nominated(not fails))
            case Nominate(plan) | Remind(plan):
                if plan.is_steered:
                    assert plan.name in self.phases
                    self.nominated.add(plan.name)
                    return
                assert self.phases.get(plan.name) in ("Ready", "Bound", "Aborted", "Expired")
                self.held -= plan.members.keys()
            case SayAttempt(plan, seconds):
                assert plan.is_steered
                assert seconds > 0.0
            case SayUnplanned(plan, pods):
                assert pods <= self.strangers
                assert pods <= plan.unplanned
            case Record(decision, _, reason):
                assert reason
                assert decision.outcome != "Fits"
            case Wake():
                self.held.clear()
            case CannotSchedule(_, reason):
                assert reason
            case SayPreempting(plan):
                assert plan.spec.victims
                assert not plan.releases
            case SayReleasing(plan):
                assert plan.releases
            case SayKept(reason):
                assert reason
            case SayAstray(message):
                assert message
            case SayScheduled():
                pass

    def _may_be_confirmed(self, plan: ActivePlan, seen: PlanSeen) -> None:
        """Delayed preemption: what must hold when a plan is confirmed."""
        assert plan.spec.victims
        assert seen.presented, "the scheduler must have asked"
        assert plan.name in self.rehearsed, "the API server must have said that it allows every eviction"
        assert Proof.CONTRADICTED not in [shown.proof for shown in seen.proofs.values()]
        first = {
            uid: shown
            for uid, shown in seen.proofs.items()
            if plan.spec.not_modelled or not plan.members[uid].wave
        }
        proofs = [shown.proof for shown in first.values()]
        self.confirmed.add(plan.name)
        if Proof.UNKNOWN not in proofs or (self.setting.confirmation == "Off" and not self.vain):
            return
        assert self.setting.confirmation != "Require"
        unknown = [shown for shown in first.values() if shown.proof is Proof.UNKNOWN]
        assert not self.vain or all(shown.cannot_tell for shown in unknown), "the scheduler must confirm"
        assert self.asked is not None
        times = [shown.attempted for shown in first.values() if shown.proof is Proof.UNKNOWN]
        last = max([self.asked, *(when for when in times if when is not None)])
        assert self.now >= min(last + self.setting.confirmation_seconds, self.asked + ASKED_SECONDS)

    def _ended(self, name: str, decision: PreemptionPlanSpec, reason: str) -> None:
        self.ended[name] = (decision, reason)
        if reason == "Bound":
            self.ended.clear()
            self.judged.clear()

    def _in_a_row(self, ending: Ending) -> None:
        if ending.reason not in ("Contradicted", "TurnedDown"):
            return
        assert ending.contradictions
        self.in_a_row += 1
        if self.plan is None and self.life.due <= self.now:
            assert self.in_a_row <= REPLANS_AT_ONCE

    def _written(self, plan: ActivePlan, phase: Any, fails: str) -> None:
        if fails == "fault":
            self.observe(Failed())
        elif fails:
            self.observe(NotStored(phase, "503", for_good=fails == "for good"))
        else:
            self.phases[plan.name] = phase
            if plan.releases and phase == "Evicting":
                assert not self.releases or self.now >= self.releases[-1] + RELEASE_SECONDS
                self.releases.append(self.now)
            self.observe(Stored(phase))

    @precondition(lambda self: self.plan is None and not self.todo)
    @rule(
        victims=st.lists(st.sampled_from(VICTIMS), unique=True),
        steps=st.integers(0, 5),
    )
    def a_plan_goes_well_for_some_steps(self, victims: list[str], steps: int) -> None:
        """So that lives get far more often than chance alone lets them."""
        self._goes_well(victims, steps, "Fits")

    def _goes_well(self, victims: list[str], steps: int, outcome: str) -> None:
        """`outcome`: of the decision if it has no victims."""
        self.now = max(self.now, self.life.due)
        self.presented = True
        self.observe(MembersSeen(2, 2, 0))
        if self.life.wants_plan:
            self._decided(victims, "Preempts" if victims else outcome, ())
        for _ in range(steps):
            self.what_is_due_goes_well()

    @precondition(lambda self: self.plan is None and not self.todo)
    @rule(
        victims=st.lists(st.sampled_from(VICTIMS), unique=True, min_size=1),
        ending=st.sampled_from([{"room_taken": "by x"}, {"changed": "n0 is gone"}, {"members_lost": True}]),
        patient=st.booleans(),
        then=st.sampled_from(["Unschedulable", "Unschedulable", "Fits"]),
        dies=st.sampled_from([False] * 3 + [True]),
    )
    def a_plan_evicts_in_vain(
        self, victims: list[str], ending: dict[str, Any], patient: bool, then: str, dies: bool
    ) -> None:
        """It ends when everybody has gone. The next decision may not go on with its room. Then the process may die."""
        if patient:
            self.now = max(self.now, self.life.barred)
        self._goes_well(victims, 5, "")
        while self.evicting is not None:
            self._evict_next("", refuses=False)
        if self.plan is not None:
            self.observe(self.seen(**ending))
        while self.todo:
            self._perform(self.todo.pop(0), "")
        self._goes_well([], 0, then)
        self.restart(dies)

    @precondition(lambda self: self.plan is None and not self.todo)
    @rule(victims=st.lists(st.sampled_from(VICTIMS), unique=True, min_size=1), cannot_tell=st.booleans())
    def the_scheduler_shows_nothing(self, victims: list[str], cannot_tell: bool) -> None:
        """It is asked about a plan, and stays silent until the plan waits no longer."""
        self.now = max(self.now, self.life.barred)
        self._goes_well(victims, 1, "")
        silence = MemberProof(Proof.UNKNOWN, "nothing was seen", None, cannot_tell=cannot_tell)
        for _ in range(4):
            if self.asking is not None:
                self.the_scheduler_is_asked()
            if self.rehearsing is not None:
                self._rehearsed("")
            if self.plan is not None and self.plan.phase == "Planned":
                self.observe(self.seen(proofs=dict.fromkeys(MEMBERS, silence)))
            while self.todo:
                self._perform(self.todo.pop(0), "")
            self.now += self.setting.confirmation_seconds

    @rule()
    def what_is_due_goes_well(self) -> None:
        while self.todo:
            self._perform(self.todo.pop(0), "")
        if self.rehearsing is not None:
            self._rehearsed("")
        self._steer()
        if self.plan is not None:
            left = [uid for uid in self.plan.victims if not self.deletions[self.plan.name, uid]]
            self.observe(self.seen(is_free=not left))

    # ---- the evictor

    @precondition(lambda self: self.evicting is not None)
    @rule(
        changed=st.sampled_from(["", "", "", "v0 has a higher priority now"]),
        refuses=st.sampled_from([False] * 5 + [True]),
    )
    def evict_one(self, changed: str, refuses: bool) -> None:
        self._evict_next(changed, refuses=refuses)

    def _evict_next(self, changed: str, *, refuses: bool) -> None:
        assert self.evicting is not None
        plan, left = self.evicting
        left = [uid for uid in left if not self.deletions[plan.name, uid]]
        if left and self.paused:
            self._stop_evicting(plan, done=False, paused=True)
            return
        if not left or not self._may_evict(plan, changed):
            self._stop_evicting(plan, done=not left)
            return
        if refuses:
            self.observe(DeletionRefused(left[0], f"pod {left[0]} cannot be evicted"))
            self._stop_evicting(plan, done=False)
            return
        assert self.phases[plan.name] == "Evicting"
        assert plan.name in self.reserved, "nothing is evicted for room that is not held"
        assert plan.name in self.nominated or plan.releases or self.name != NATIVE, (
            "the scheduler keeps still because of the nominations"
        )
        self.deletions[plan.name, left[0]] += 1
        self.evicting = (plan, left[1:])

    @precondition(lambda self: self.evicting is not None)
    @rule(happens=SELDOM)
    def evictor_fails(self, happens: bool) -> None:
        assert self.evicting is not None
        if happens:
            self._stop_evicting(self.evicting[0], done=False)

    def _may_evict(self, plan: ActivePlan, changed: str) -> bool:
        current = self.plan
        if current is None or current.name != plan.name or not current.may_evict:
            return False
        self.observe(Compared(changed))
        return not changed

    def _stop_evicting(self, plan: ActivePlan, *, done: bool, paused: bool = False) -> None:
        self.evicting = None
        if self.plan is not None and self.plan.name == plan.name:
            self.observe(EvictorStopped(done, paused))

    # ---- the process dies

    @rule(happens=SELDOM)
    def restart(self, happens: bool) -> None:
        """Only what is stored is left, and the pods. The next process wakes everybody who was held."""
        if not happens:
            return
        plan, self.life = self.plan, Life()
        self.todo.clear()
        self.presented, self.asking, self.asked, self.in_a_row = False, None, None, 0
        self.rehearsing = None
        self.evicting = None
        self.held.clear()
        going_on = plan is not None and self.phases.get(plan.name) in ACTIVE
        self.reserved = {plan.name} if plan is not None and going_on else set()
        for name, phase in self.phases.items():
            if phase in ACTIVE and name not in self.reserved:
                self.phases[name] = "Aborted"  # the housekeeping ends what nobody carries out
                self._ended(name, self.specs[name], "NotCarriedOut")
        self._remember()
        if plan is None or not going_on:
            return
        stored = self.phases[plan.name]
        acting = stored not in ("Planned", "Confirmed")
        begun = acting and any(self.deletions[plan.name, uid] for uid in plan.victims)
        resumed = ActivePlan(
            name=plan.name, spec=plan.spec, members=plan.members, deadline=plan.deadline, stored=True
        )
        if plan.is_steered:
            seconds = self.setting.plan_seconds
            resumed = replace(resumed, deadline=self.now + seconds, seconds=seconds)
        if acting:
            self.resumed_evicting.add(plan.name)
            resumed = replace(resumed, phase="Evicting", begun=begun, evicted=stored == "Ready")
            waits = resumed.members.keys() - self.placed.get(plan.name, set())
            resumed = replace(resumed, wave=min((resumed.members[uid].wave for uid in waits), default=0))
            self.phases[plan.name] = "Evicting" if stored == "Evicting" else stored
        self.observe(Resumed(resumed))
        if stored == "Ready":
            self.phases[plan.name] = "Evicting"

    def _remember(self) -> None:
        vain = [at for in_vain, at in self.judged.values() if in_vain]
        open_ = [
            Former(name, decision)
            for name, (decision, reason) in self.ended.items()
            if reason not in FORGIVEN and name not in self.judged and self._gone(name, decision)
            if decision.outcome != "Releases"
        ]
        self.vain, self.barred, self.delay = len(vain), 0.0, 0.0
        if self.vain:
            self.barred = max(vain) + self._least_delay()
        if vain or open_:
            self.observe(Remembered(len(vain), max(vain, default=0.0), open_[-1] if open_ else None))

    # ---- what must hold

    @invariant()
    def only_bound_forgets_what_was_in_vain(self) -> None:
        assert self.life.vain == self.vain

    @invariant()
    def who_evicted_in_vain_and_nobody_else_is_barred(self) -> None:
        assert self.vain or not self.life.barred
        assert self.life.barred >= self.barred

    @invariant()
    def nobody_comes_before_the_members_of_earlier_waves(self) -> None:
        plan = self.plan
        if plan is not None:
            assert all(plan.members[uid].wave >= plan.wave for uid in self._waits())

    @invariant()
    def each_victim_goes_once(self) -> None:
        assert all(count == 1 for count in self.deletions.values())

    @invariant()
    def no_room_is_held_after_an_end(self) -> None:
        if not self.todo:
            expected = {self.plan.name} if self.plan is not None else set()
            assert self.reserved == expected

    @invariant()
    def a_stored_plan_is_carried_out_or_has_ended(self) -> None:
        if not self.todo:
            active = {name for name, phase in self.phases.items() if phase in ACTIVE}
            assert active <= ({self.plan.name} if self.plan is not None else set())

    @invariant()
    def everybody_who_is_held_has_somebody_to_wait_for(self) -> None:
        """Whoever is held without a plan waits for a decision, a member, or the end of a delay, and is not Bound."""
        if not self.todo and self.held and self.plan is None:
            assert self.life.phase != "Bound"

    @invariant()
    def a_plan_in_the_life_is_in_its_phase(self) -> None:
        if self.plan is not None:
            assert self.life.phase == self.plan.phase
            assert self.plan.deadline >= 0.0
        else:
            assert self.life.phase not in ACTIVE

    def teardown(self) -> None:
        """However a life went: once the world agrees, the gang runs, nothing is reserved, and nobody is held."""
        if self.paused:
            self.the_pause_is_over()
        if self.limited is not None:
            self.the_limit_allows_more()
        for _ in range(30):
            self._rest()
        assert self.plan is None, self.plan
        if self.life.phase != "Bound":
            self.observe(MembersSeen(2, 2, 2))
            self._rest()
        assert self.life.phase == "Bound"
        assert not self.held
        assert not self.reserved
        assert not {name for name, phase in self.phases.items() if phase in ACTIVE}
        self.each_victim_goes_once()

    def _rest(self) -> None:
        """Everything that is due goes well."""
        self.now += 1.5
        self.presented = True
        if self.gated and self._removal("Gathering") is Removal.NOW:
            self.gates_are_removed()
        if self.asking is not None:
            self.the_scheduler_is_asked()
        if self.rehearsing is not None:
            self._rehearsed("")
        while self.todo:
            self._perform(self.todo.pop(0), "")
        while self.evicting is not None:
            self._evict_next("", refuses=False)
        self._steer()
        plan = self.plan
        if plan is not None:
            left = [uid for uid in plan.victims if not self.deletions[plan.name, uid]]
            if plan.phase == "Ready":
                turn = {uid for uid, member in plan.members.items() if plan.has_turn(member)}
                self.placed.setdefault(plan.name, set()).update(turn)
            self.observe(self.seen(is_free=not left, all_bound=plan.phase == "Ready" and not self._waits()))


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=LIVES, stateful_step_count=60, deadline=None)
