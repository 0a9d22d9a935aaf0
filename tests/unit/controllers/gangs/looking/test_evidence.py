"""What the scheduler's attempts prove of a plan, from the calls and pods that we see to the proof of a member."""

from __future__ import annotations

from typing import Any, Final

import pytest

from api.plans import Placement, PreemptionPlanSpec, Preemptor, Victim, VictimPod
from controllers.gangs.lifecycle.life import ActivePlan, PlannedPod
from controllers.gangs.lifecycle.plan_seen import MemberProof
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.scheduler.configuration import SchedulerConfiguration
from controllers.gangs.scheduler.offers import Offers, Shown
from controllers.gangs.scheduler.proofs import Doubt, Proof
from tests.kit.clock import ManualClock
from tests.kit.objects import gang, node, pod, tables

REFUSED: Final = (
    "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: "
    "3 No preemption victims found for incoming pod."
)
HELD: Final = REFUSED.replace("3 Insufficient cpu", "1 reprieve: room is being freed, 2 Insufficient cpu")
OTHER: Final = "0/3 nodes are available: 3 Insufficient cpu. preemption: no candidate node for preemption."
PLANNED: Final = PlannedPod("uid-default-m", "m", "n0", {"cpu": 1000})


def the_plan() -> ActivePlan:
    pods = [VictimPod("default", "v", "uid-default-v", "n0")]
    spec = PreemptionPlanSpec(
        preemptor=Preemptor("PodGroup", "reprieve.dev/v1alpha1", "default", "gang", "uid-gang", 100),
        outcome="Preempts",
        reason="",
        placements=[Placement("m", "n0", PLANNED.uid)],
        victims=[Victim("Pod", "default", "v", "uid-default-v", 1, False, pods)],
    )
    return ActivePlan(name="plan", spec=spec, members={PLANNED.uid: PLANNED}, deadline=300.0)


class Witness:
    """A gang of one, the pod m, whose plan evicts the pod v on n0. There are the nodes n1 and n2, too."""

    def __init__(self, *objects: Any, said: str = "") -> None:
        """`said`: what m's condition says when the witness comes."""
        self.clock = ManualClock()
        nodes = [node(name) for name in ("n0", "n1", "n2")]
        victim = pod("v", node="n0", priority=1)
        self.tables = tables(*nodes, gang(minimum=1), victim, *objects)
        scheduler, roster = SchedulerConfiguration(), Roster(self.tables)
        self.evidence = Evidence(roster, scheduler, self.clock, lambda _group, _uid: None, offer_seconds=60.0)
        self.plan = the_plan()
        self.says(said)
        self.passes(2.0)

    def passes(self, seconds: float) -> None:
        for _ in range(round(seconds)):
            self.clock.advance(1.0)
            self.evidence.tick(trusted=True)

    def says(self, message: str) -> None:
        """The pod has this message. Nothing is to be seen if it had the message before."""
        said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        self.member = pod("m", group="gang", labels={"app": "m"}, conditions=[said] if message else None)
        self.tables.upsert_pod(self.member)
        self.evidence.pod_changed(self.member.metadata.uid, self.member)

    def filter(self, *nodes: str) -> None:
        self.evidence.filter_called(self.member, list(nodes))

    def preempt(self, **victims: str) -> None:
        """Candidates: the victim on each node."""
        found = {name: frozenset({f"uid-default-{victim}"}) for name, victim in victims.items()}
        self.evidence.preempt_called(self.member, found)

    def room_changes(self) -> None:
        """A pod leaves n0 that was no victim; a moment later the scheduler knows that."""
        self.tables.upsert_pod(pod("small", node="n0", priority=1))
        self.tables.delete_pod("default", "small")
        self.passes(2.0)

    def proof(self) -> MemberProof:
        return self.evidence.proofs(self.plan)[PLANNED.uid]

    @property
    def verdict(self) -> tuple[Proof, Doubt | None]:
        return self.proof().proof, self.proof().doubt


Seen = tuple[Proof, Doubt | None]
CONFIRMED: Seen = (Proof.CONFIRMED, None)
CONTRADICTED: Seen = (Proof.CONTRADICTED, None)
UNKNOWN: Seen = (Proof.UNKNOWN, None)
STANDS: Seen = (Proof.UNKNOWN, Doubt.STANDS)
STALE: Seen = (Proof.UNKNOWN, Doubt.STALE)


# ---- anti-affinity of pods on other nodes


def keeper(name: str = "keeper", **fields: Any) -> Any:
    """A running pod that keeps pods with the label app=m away from its zone."""
    where: dict[str, Any] = {"node": "n1", "topology": "zone", "app": "m", **fields}
    term = {"topologyKey": where["topology"], "labelSelector": {"matchLabels": {"app": where["app"]}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return pod(name, node=where["node"], affinity={"podAntiAffinity": required})


@pytest.mark.parametrize(
    ("running", "verdict"),
    [
        (keeper(), UNKNOWN),
        (keeper(app="other"), CONTRADICTED),
        (keeper(topology="kubernetes.io/hostname"), CONTRADICTED),
        (keeper(node=""), CONTRADICTED),
        # The scheduler looks at the planned node without the victims there, so it is about this node.
        (keeper(node="n0"), CONTRADICTED),
    ],
    ids=["zone", "selects others", "host name", "not running", "on the planned node"],
)
def test_an_attempt_does_not_contradict_if_pods_elsewhere_may_keep_the_member_off(
    running: Any, verdict: Seen
) -> None:
    witness = Witness(running)
    witness.says(REFUSED)
    assert witness.verdict == verdict


def test_a_refusal_that_stands_is_no_doubt_if_pods_elsewhere_may_keep_the_member_off() -> None:
    witness = Witness(keeper())
    witness.says(REFUSED)
    witness.room_changes()
    assert witness.verdict == UNKNOWN
    witness.tables.delete_pod("default", "keeper")
    assert witness.verdict == STANDS


# ---- a refusal by message


def refused(witness: Witness) -> None:
    """No node passes the filters before ours."""
    witness.says(REFUSED)


def held_and_refused(witness: Witness) -> None:
    """Filter holds the member: its list is part of the attempt."""
    witness.filter("n1")
    witness.says(HELD)


def tried_again(witness: Witness) -> None:
    """The attempt ends with the same message, which is not written again."""


def held_again(witness: Witness) -> None:
    witness.filter("n1")


FIRST_AND_AGAIN: Final = [(refused, tried_again), (held_and_refused, held_again)]


@pytest.mark.parametrize(("first", "again"), FIRST_AND_AGAIN)
@pytest.mark.parametrize("planned", ["before", "after"])
def test_a_message_contradicts_before_the_plan_and_after_it(first: Any, again: Any, planned: str) -> None:
    witness = Witness()
    if planned == "before":
        assert witness.verdict == UNKNOWN
    first(witness)
    assert witness.verdict == CONTRADICTED
    again(witness)
    assert witness.verdict == CONTRADICTED


@pytest.mark.parametrize(("first", "again"), FIRST_AND_AGAIN)
@pytest.mark.parametrize("planned", ["before", "after"])
@pytest.mark.parametrize("lapses", [Witness.room_changes, lambda witness: witness.passes(61.0)])
def test_a_message_that_is_not_written_again_stands(
    first: Any, again: Any, planned: str, lapses: Any
) -> None:
    """Whether the node changes before the plan is made or while it waits: an attempt that ends the same is not seen."""
    witness = Witness()
    first(witness)
    if planned == "before":
        assert witness.verdict == CONTRADICTED
    lapses(witness)
    assert witness.verdict == STANDS
    again(witness)
    witness.passes(5.0)
    assert witness.verdict == STANDS
    assert "has changed since" in witness.proof().seen


@pytest.mark.parametrize(("first", "again"), FIRST_AND_AGAIN)
@pytest.mark.parametrize(
    ("then", "verdict"),
    [
        (lambda witness: witness.filter("n0"), CONFIRMED),
        (lambda witness: witness.preempt(n0="v"), CONFIRMED),
        (lambda witness: witness.preempt(n1="x"), CONTRADICTED),
        (lambda witness: witness.says(REFUSED.replace("3 Insuff", "2 Insuff")), CONTRADICTED),
        (lambda witness: witness.says(OTHER), UNKNOWN),
    ],
    ids=["filter", "preempt", "preempt elsewhere", "another message", "a message that refuses nothing"],
)
def test_what_ends_a_message_that_stands(first: Any, again: Any, then: Any, verdict: Seen) -> None:
    witness = Witness()
    first(witness)
    witness.room_changes()
    again(witness)
    then(witness)
    assert witness.verdict == verdict


def test_a_refusal_without_a_message_does_not_stand() -> None:
    witness = Witness()
    witness.preempt(n1="x")
    assert witness.verdict == CONTRADICTED
    witness.room_changes()
    assert witness.verdict == STALE


def test_a_message_from_before_this_process_stands() -> None:
    """It proves nothing, because nobody knows when it was written. It does not show that a scheduler tries, either."""
    witness = Witness(said=REFUSED)
    assert witness.verdict == STANDS
    assert witness.proof().attempted is None
    assert not witness.evidence.is_presented(("default", "gang"))
    witness.says(OTHER)
    assert witness.verdict == UNKNOWN


@pytest.mark.parametrize(("listed", "verdict"), [(1, STANDS), (100, UNKNOWN)])
def test_a_held_member_s_message_from_before_this_process_stands_once_its_list_is_known(
    listed: int, verdict: Seen
) -> None:
    witness = Witness(said=HELD)
    assert witness.verdict == UNKNOWN
    witness.filter(*(f"other-{number}" for number in range(listed)))
    assert witness.verdict == verdict


# ---- proofs are kept


def test_a_proof_is_kept_until_the_scheduler_shows_something_or_the_cluster_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    witness = Witness()
    asked: list[str] = []
    shown = Offers.shown

    def counted(offers: Offers, uid: str, at: str) -> Shown:
        asked.append(uid)
        return shown(offers, uid, at)

    monkeypatch.setattr(Offers, "shown", counted)

    def times() -> int:
        asked.clear()
        assert witness.verdict == witness.verdict
        return len(asked)

    assert times() == 1
    assert times() == 0
    witness.filter("n1")
    assert times() == 1
    witness.says(REFUSED)
    assert times() == 1
    witness.room_changes()
    assert times() == 1
    assert times() == 0
    witness.evidence.forget_plan(("default", "gang"))
    assert times() == 1


def test_a_member_that_is_gated_or_was_is_untried_until_a_scheduler_says_something() -> None:
    """The API server's own condition stays when the gate has gone, until the scheduler writes another one."""
    gated = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked",
    }
    witness = Witness(pod("m", group="gang", conditions=[gated]))
    assert witness.evidence.is_untried(("default", "gang"), ())
    refused = {**gated, "reason": "Unschedulable", "message": REFUSED}
    witness.tables.upsert_pod(pod("m", group="gang", conditions=[refused]))
    assert not witness.evidence.is_untried(("default", "gang"), ())
