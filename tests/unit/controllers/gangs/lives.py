"""One life for the tests of the reducer, decisions, and plans in every phase."""

from __future__ import annotations

from typing import Any

from api.backoff import Backoff
from api.plans import Placement, PreemptionPlanSpec, Preemptor, Victim, VictimPod
from controllers.gangs.lifecycle.effects import (
    Count,
    Effect,
    End,
)
from controllers.gangs.lifecycle.life import ActivePhase, ActivePlan, Life, PlannedPod
from controllers.gangs.lifecycle.observations import Decided, Observation
from controllers.gangs.lifecycle.plan_seen import MemberProof, PlanSeen
from controllers.gangs.lifecycle.reducer import reduce
from controllers.gangs.lifecycle.settings import Settings
from controllers.gangs.scheduler.proofs import Proof

__all__ = ["CONFIRMED", "MEMBERS", "NOT_NOW", "RULES", "UNKNOWN", "Gang", "decided", "in_phase", "kinds"]

RULES = Settings(Backoff(1.0, 60.0, jitter=0.0), plan_seconds=300.0)
MEMBERS = {uid: PlannedPod(uid, uid, f"node-of-{uid}", {"cpu": 1}) for uid in ("m0", "m1")}
CONFIRMED = {uid: MemberProof(Proof.CONFIRMED, "offered", 0.0) for uid in MEMBERS}
UNKNOWN = {**CONFIRMED, "m1": MemberProof(Proof.UNKNOWN, "nothing was seen", None)}
NOT_NOW = "0/1 nodes are available: 1 Insufficient cpu."


class Gang:
    """One life, and its clock."""

    def __init__(self, life: Life | None = None, rules: Settings = RULES) -> None:
        self.life, self.rules, self.now = life or Life(), rules, 0.0

    def __call__(self, observation: Observation, *, after: float = 0.0) -> list[Effect]:
        """What is to be done once this was observed, `after` seconds later. Counting is left out."""
        self.now += after
        self.life, effects = reduce(self.life, observation, self.now, self.rules)
        return [effect for effect in effects if not isinstance(effect, Count)]

    @property
    def plan(self) -> ActivePlan:
        assert self.life.plan is not None
        return self.life.plan

    def looks(self, *, after: float = 0.0, **fields: Any) -> list[Effect]:
        """The plan is looked at; of the scheduler's word all is well if nothing else is said."""
        seen = {"trusted": True, "proofs": CONFIRMED, "presented": True, **fields}
        return self(PlanSeen(**seen), after=after)

    def ending(self, **fields: Any) -> str:
        """The reason for which the plan ends; empty if it goes on."""
        ends = [effect.ending.reason for effect in self.looks(**fields) if isinstance(effect, End)]
        assert bool(ends) == (self.life.plan is None)
        return ends[0] if ends else ""


def spec(outcome: Any = "Preempts", victims: int = 2, **fields: Any) -> PreemptionPlanSpec:
    pods = [VictimPod("team", f"v{number}", f"v{number}", "n0") for number in range(victims)]
    return PreemptionPlanSpec(
        preemptor=Preemptor("PodGroup", "reprieve.dev/v1alpha1", "team", "gang", "uid", 100),
        outcome=outcome,
        reason="why",
        placements=[Placement(uid, planned.node, uid) for uid, planned in MEMBERS.items()],
        victims=[Victim("Pod", "team", pod.name, pod.uid, 1, False, [pod]) for pod in pods],
        **fields,
    )


def decided(version: int = 1, **fields: Any) -> Decided:
    return Decided(f"plan-{version}", spec(**fields), MEMBERS)


def in_phase(phase: ActivePhase, victims: int = 2, **fields: Any) -> Gang:
    """A gang whose plan, which is stored, is in that phase."""
    given = {
        "stored": True,
        "phase": phase,
        "deadline": 300.0,
        "rehearsed": True,
        "members": MEMBERS,
        **fields,
    }
    plan = ActivePlan(name="plan", spec=spec(victims=victims), **given)
    return Gang(Life(phase=phase, plan=plan))


def kinds(effects: list[Effect]) -> list[type]:
    return [type(effect) for effect in effects]
