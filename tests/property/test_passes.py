"""Random attempts of kube-scheduler on a native gang against the passes: no pass mixes two plans.

The test is the scheduler, and what keeps the plans. It goes call by call, and plans are stored, replaced and ended, and
processes restarted, between any two calls. `REPRIEVE_PASSES` sets how many such stories there are.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Literal

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from controllers.gangs.lifecycle.observations import HandedOver, PassBegan
from controllers.gangs.lifecycle.passes import Call, Offering, Pass, answer, closed, resumed
from tests.kit.examples import examples

STORIES = int(os.environ.get("REPRIEVE_PASSES", examples(1000)))
MEMBERS = ("m0", "m1", "m2", "m3")
SELDOM = st.sampled_from([False] * 5 + [True])
BETWEEN = st.sampled_from([(), (), (), ("replaced",), ("restarted",), ("replaced", "restarted")])
"""What happens before the next call."""
OFTEN = st.sampled_from([True] * 4 + [False])


@dataclass
class Plan:
    """What is stored of a plan, and what the gang's life knows of it."""

    name: str
    nodes: dict[str, str]
    stored_in: int
    """The number of the pass in which it was stored."""
    given_up: bool = False
    handed_over: bool = False
    offered: set[str] = field(default_factory=set)
    """The members that were offered their nodes, whether or not the scheduler took them."""


@dataclass
class Attempt:
    """An attempt of the scheduler. Both passes present the members in the same order."""

    order: list[str]
    kind: Literal["real", "simulated"] = "real"
    next: int = 0
    placed: dict[str, str | None] = field(default_factory=dict)
    """Where the members of this pass that have had their turn are placed, None if nowhere."""
    offers: list[str] = field(default_factory=list)
    """The plans of all offers of this pass, in order."""
    again: bool = False
    """The member that comes next was tried on its nominated node, which it did not get."""
    unlucky: set[str] = field(default_factory=set)
    """Members that are not bound if they are placed in the real pass."""
    strange: bool = False
    """A member of this pass was placed although we held it: the answer was lost, or a process did not answer."""


class Passes(RuleBasedStateMachine):
    """One gang."""

    def __init__(self) -> None:
        super().__init__()
        self.state = Pass()
        self.minimum = 0
        self.bound: set[str] = set()
        self.plan: Plan | None = None
        self.plans = 0
        self.ended_in = 0
        """The number of the pass in which a plan ended last."""
        self.number = 1
        """Of the pass that goes on, or comes next."""
        self.attempt: Attempt | None = None
        self.nominated: dict[str, str] = {}
        self.is_down = 0
        """No process answers this many more calls."""

    @initialize(minimum=st.integers(1, len(MEMBERS)))
    def gang_comes(self, minimum: int) -> None:
        self.minimum = minimum

    # ---- the scheduler

    @property
    def needed(self) -> int:
        return self.minimum - len(self.bound)

    @rule(
        order=st.permutations(MEMBERS),
        presented=OFTEN,
        fits=OFTEN,
        alone=SELDOM,
        lost=SELDOM,
        refused=SELDOM,
        unlucky=SELDOM,
        then=BETWEEN,
    )
    def member_has_its_turn(
        self,
        order: list[str],
        presented: bool,
        fits: bool,
        alone: bool,
        lost: bool,
        refused: bool,
        unlucky: bool,
        then: tuple[str, ...],
    ) -> None:
        """`order`: of the attempt that begins, if none goes on. `presented`: a node passes in-tree.

        `fits`: the planned and the nominated node do. `alone`: no other one does. `lost`: the answer comes too late.
        `refused`: another extender turns the node down. `unlucky`: if it is placed in the real pass, it is not bound.
        """
        if self.attempt is None:
            self._begin(order)
        self._turn(presented=presented, fits=fits, alone=alone, lost=lost, refused=refused, unlucky=unlucky)
        if "replaced" in then:
            self._is_to_end(order)
        if "restarted" in then:
            self._restarts(0, knows=True)

    @rule(order=st.permutations(MEMBERS), calls=st.integers(1, len(MEMBERS)))
    def several_members_have_their_turns(self, order: list[str], calls: int) -> None:
        """The usual case: no node passes in the real pass, and all do in the simulated one."""
        if self.attempt is None:
            self._begin(order)
        for _ in range(calls):
            if self.attempt is not None:
                self._turn(presented=self.attempt.kind == "simulated")

    @precondition(lambda self: self.attempt is None and self.plan and not self.is_down)
    @rule(real=st.booleans())
    def two_quiet_attempts_follow_the_plan(self, real: bool) -> None:
        """`real`: nodes pass in-tree without the evictions.

        In one of the passes all planned members get their offers. If the time of the plan is over, it ends.
        """
        assert self.plan is not None
        is_over, waiting, seen = self.plan.given_up, set(self.plan.nodes) - self.bound, list[set[str]]()
        for _ in range(2):
            self._begin(list(MEMBERS))
            while (attempt := self.attempt) is not None:
                self._turn(presented=real or attempt.kind == "simulated", refused=attempt.kind == "real")
                seen.append({uid for uid, node in attempt.placed.items() if node is not None})
        assert self.plan is None if is_over else waiting in seen

    def _begin(self, order: list[str]) -> None:
        self.attempt = Attempt([uid for uid in order if uid not in self.bound])

    def _turn(
        self,
        *,
        presented: bool = True,
        fits: bool = True,
        alone: bool = False,
        lost: bool = False,
        refused: bool = False,
        unlucky: bool = False,
    ) -> None:
        """One call, or none, for the member whose turn it is."""
        attempt = self.attempt
        assert attempt is not None
        uid = attempt.order[attempt.next]
        if unlucky:
            attempt.unlucky.add(uid)
        nominated = self.nominated.get(uid)
        if not presented:
            self._placed(uid, None)
        elif nominated is not None and not attempt.again and fits:
            node = self._call(uid, [nominated], lost=lost, refused=refused)
            if node is not None:
                self._placed(uid, node)
            else:
                attempt.again = True
        else:
            own = self.plan.nodes.get(uid) if self.plan is not None else None
            planned = [own] if own is not None and fits else []
            node = self._call(uid, [*planned, "elsewhere"][: 1 if alone else 2], lost=lost, refused=refused)
            self._placed(uid, node)

    def _call(self, uid: str, nodes: list[str], *, lost: bool, refused: bool) -> str | None:
        """The node that the scheduler takes for the member."""
        attempt, plan = self.attempt, self.plan
        assert attempt is not None
        if self.is_down:
            self.is_down -= 1
            attempt.strange = True
            return nodes[0]
        offering = self._offering(uid)
        self.state, node, observations = answer(self.state, Call(uid, nodes), offering)
        if node is None or node not in nodes:
            self._observe(observations)
            attempt.strange |= lost
            return nodes[0] if lost else None
        assert plan is not None
        assert node == plan.nodes[uid], "a member is offered its planned node"
        assert not plan.given_up
        attempt.offers.append(plan.name)
        plan.offered.add(uid)
        assert set(attempt.offers) == {plan.name}, "no pass mixes two plans"
        self._observe(observations)
        return None if refused and not lost else node

    def _offering(self, uid: str) -> Offering | None:
        plan = self.plan
        if plan is None:
            return None
        return Offering(plan.name, plan.nodes.get(uid), self.needed, given_up=plan.given_up)

    def _placed(self, uid: str, node: str | None) -> None:
        """The member's turn in this pass is over."""
        attempt = self.attempt
        assert attempt is not None
        attempt.placed[uid], attempt.again, attempt.next = node, False, attempt.next + 1
        placed = sum(node is not None for node in attempt.placed.values())
        left = len(attempt.order) - attempt.next
        if left and placed + left >= self.needed:
            return
        if placed < self.needed:
            self._fails()
        elif attempt.kind == "real":
            self._binds()
        else:
            self._evicts()

    def _fails(self) -> None:
        attempt = self.attempt
        assert attempt is not None
        self._attempt_ends()
        if attempt.kind == "real":
            self.attempt = Attempt(attempt.order, "simulated")

    def _binds(self) -> None:
        """Members that were placed in the real pass are bound, if their bindings do not fail.

        When minCount is reached, the plan is Bound, and a gang of the same name and with the same pods comes.
        """
        attempt = self.attempt
        assert attempt is not None
        placed = {uid for uid, node in attempt.placed.items() if node is not None}
        self.bound |= placed - attempt.unlucky
        self._attempt_ends()
        if self.needed <= 0:
            self.bound, self.plan, self.nominated = set(), None, {}

    def _evicts(self) -> None:
        """The scheduler evicts whoever stands where the members of the simulated pass are placed."""
        attempt = self.attempt
        assert attempt is not None
        if not attempt.strange:
            assert self.plan is not None, "nobody is evicted for a plan that has ended"
            assert set(attempt.offers) == {self.plan.name}, "nobody is evicted for a plan that has ended"
            assert self.plan.handed_over, "the plan cannot end any longer"
            places = {uid: node for uid, node in attempt.placed.items() if node is not None}
            assert places.items() <= self.plan.nodes.items(), "a lost answer changes no victim"
        self._attempt_ends()

    def _attempt_ends(self) -> None:
        self.attempt = None
        self.number += 1

    # ---- the gang's life

    @precondition(lambda self: self.plan is None)
    @rule(chosen=st.permutations(MEMBERS))
    def plan_is_stored(self, chosen: list[str]) -> None:
        """Its members are nominated before it is offered."""
        self._store(chosen)

    def _store(self, chosen: list[str]) -> None:
        waiting = [uid for uid in chosen if uid not in self.bound]
        self.plans += 1
        name = f"plan-{self.plans}"
        self.plan = Plan(name, {uid: f"{name}/{uid}" for uid in waiting[: self.needed]}, self.number)
        self.nominated = dict(self.plan.nodes)

    @precondition(lambda self: self.plan)
    @rule(chosen=st.permutations(MEMBERS), replaced=OFTEN)
    def plan_is_to_end(self, chosen: list[str], replaced: bool) -> None:
        self._is_to_end(chosen if replaced else None)

    def _is_to_end(self, chosen: list[str] | None) -> None:
        """The plan has expired, is contradicted, or is overrun. If it is handed over, it ends after the pass.

        `chosen`: whom the next plan is for, if that takes its place at once.
        """
        if self.plan is not None and self.plan.handed_over:
            self.plan.given_up = True
            return
        self._end()
        if chosen is not None:
            self._store(chosen)

    def _end(self) -> None:
        self.plan, self.ended_in = None, self.number

    @precondition(lambda self: self.plan and self.plan.handed_over and self.attempt is None)
    @rule()
    def something_came_of_it(self) -> None:
        """After the attempt, the condition of the PodGroup has changed, or a victim is marked."""
        assert self.plan is not None
        self.plan.handed_over = False

    @rule(group=SELDOM, attempt=SELDOM)
    def something_goes(self, group: bool, attempt: bool) -> None:
        """`attempt`: the scheduler restarts, or a plugin fails. `group`: another group of the same name comes.

        The end of its group ends a plan that is handed over, too.
        """
        if group:
            self._end()
            self.nominated = {}
        if group or attempt:
            self._attempt_ends()

    @precondition(lambda self: self.plans)
    @rule(really=st.booleans(), calls=st.sampled_from([0, 0, 0, 1]), knows=st.booleans())
    def process_restarts(self, really: bool, calls: int, knows: bool) -> None:
        """Nobody answers the next calls. Then a process finds the plan, if there is one.

        `knows`: the time that has passed proves which plans cannot have made offers in this pass.
        """
        if really:
            self._restarts(calls, knows=knows)

    def _restarts(self, calls: int, *, knows: bool) -> None:
        self.is_down, plan = calls, self.plan
        if plan is None:
            self.state = resumed(None, others=self.plans > 0 and (self.ended_in == self.number or not knows))
            return
        others = self.plans > 1 and (plan.stored_in == self.number or not knows)
        self.state = resumed(plan.name, others=others)
        plan.handed_over, plan.given_up = True, False

    @precondition(lambda self: self.attempt is None and self.state.is_open)
    @rule()
    def two_minutes_pass(self) -> None:
        """The pass in which the process took over is over."""
        self.state = closed(self.state)

    def _observe(self, observations: tuple[HandedOver | PassBegan, ...]) -> None:
        """What the gang's life makes of it."""
        for each in observations:
            plan = self.plan
            if plan is None or each.plan != plan.name:
                continue
            plan.handed_over = isinstance(each, HandedOver)
            if plan.handed_over and not self.state.is_open:
                assert len(plan.offered) >= self.needed, "it is handed over too early"
            if plan.given_up and not plan.handed_over:
                self._end()


TestPasses = Passes.TestCase
TestPasses.settings = settings(max_examples=STORIES, stateful_step_count=40, deadline=None)
