"""Room that is promised to a Workload belongs to it until its pods exist."""

from __future__ import annotations

from typing import Any

from api.core import Pod
from controllers.gangs.keys import spoken, workload_key
from controllers.gangs.mirror.group_members import Claim
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.promised.workload_claims import WorkloadClaims
from nodes.state.tables import Tables
from runtime.exchange.placements import Owner
from tests.kit.clock import ManualClock
from tests.kit.objects import gang, node, pod

KEY = workload_key("default", "job-x", "uid-w")
JOB = Owner("Job", "default", "x", "uid-x")
GROUP = Owner("PodGroup", "default", "gang", "uid-gang")
CLAIMS = [(f"main-{number}", Claim(f"n{number}", {"cpu": 1000})) for number in range(2)]


class Stage:
    def __init__(self) -> None:
        self.tables = Tables()
        roster = Roster(self.tables)
        self.reservations = Reservations(ManualClock())
        self.claims = WorkloadClaims(roster, self.reservations)
        for number in range(2):
            self.tables.upsert_node(node(f"n{number}"))
        self.tables.upsert_group(gang())

    def put(self, each: Pod) -> None:
        self.tables.upsert_pod(each)
        self.claims.pod_changed(each.metadata.uid, each)

    def lose(self, each: Pod) -> None:
        self.tables.delete_pod(each.metadata.namespace, each.metadata.name)
        self.claims.pod_changed(each.metadata.uid, None)

    def hold(self, owner: Owner = JOB, victims: frozenset[str] = frozenset()) -> None:
        self.claims.hold(KEY, owner, 10, CLAIMS, victims)

    @property
    def nodes(self) -> list[str]:
        """With claimed room."""
        return sorted(claim.node for claim in self.reservations.claims(KEY).values())

    def left(self, name: str, *, priority: int, free: int = 4000) -> int:
        return self.reservations.room(name, "cpu", lambda _node, _resource: free, at_least=priority)


def of_job(name: str, **fields: Any) -> Pod:
    return pod(name, controller="x", **fields)


def test_others_of_no_higher_priority_respect_it() -> None:
    stage = Stage()
    stage.hold()
    assert stage.nodes == ["n0", "n1"]
    assert (stage.left("n0", priority=10), stage.left("n0", priority=11)) == (3000, 4000)
    assert stage.claims.release(KEY)
    assert stage.left("n0", priority=10) == 4000
    assert not stage.claims.release(KEY)


def test_each_pod_that_comes_takes_a_claim_away() -> None:
    stage = Stage()
    stage.hold()
    stage.put(of_job("a"))
    assert stage.nodes == ["n1"]
    stage.put(of_job("a", node="n0"))
    stage.lose(of_job("a"))
    assert stage.nodes == ["n1"]
    stage.put(of_job("b"))
    assert stage.nodes == []
    assert len(stage.reservations) == 0
    assert stage.claims.release(KEY)


def test_pods_that_came_before_the_promise_is_known_count() -> None:
    """A process that was cut off hears of the pods before it hears of the plan."""
    stage = Stage()
    stage.put(of_job("a"))
    stage.claims.hold(KEY, JOB, 10, CLAIMS, frozenset(), ["uid-default-a"])
    assert stage.nodes == ["n1"]
    stage.put(of_job("a", node="n0"))
    assert stage.nodes == ["n1"]
    stage.put(of_job("b"))
    assert stage.nodes == []


def test_pods_of_others_and_pods_that_terminate_take_none() -> None:
    stage = Stage()
    stage.hold()
    stage.put(pod("other", controller="y"))
    stage.put(pod("alone"))
    stage.put(of_job("foreign", namespace="theirs"))
    stage.put(of_job("former", node="n0", deleting=True))
    assert stage.nodes == ["n0", "n1"]


def test_a_group_is_planned_as_a_gang_once_its_members_have_quota() -> None:
    stage = Stage()
    stage.hold(GROUP)
    gate = [{"name": "kueue.x-k8s.io/admission"}, {"name": "reprieve.dev/gang"}]
    stage.put(pod("m0", group="gang", schedulingGates=gate))
    assert stage.nodes == ["n0", "n1"]
    stage.put(pod("m0", group="gang", schedulingGates=gate[1:]))
    assert stage.nodes == []


def test_a_member_that_is_also_in_a_native_group_has_the_quota_of_ours() -> None:
    stage = Stage()
    stage.hold(GROUP)
    stage.put(pod("m0", group="gang", schedulingGroup={"podGroupName": "basic"}))
    assert stage.nodes == []


def test_the_room_of_the_victims_counts_for_the_workload() -> None:
    stage = Stage()
    victim = pod("victim", node="n0")
    stage.tables.upsert_pod(victim)
    stage.hold(victims=frozenset({victim.metadata.uid}))
    assert stage.left("n0", priority=10, free=3000) == 3000  # the victim's room covers the claim
    stage.put(pod("victim", node="n0", deleting=True))
    assert stage.left("n0", priority=10, free=4000) == 3000
    stage.lose(victim)
    assert stage.left("n0", priority=10, free=4000) == 3000
    assert stage.reservations.victims(KEY) == {}


def test_messages_name_the_workload() -> None:
    assert spoken(KEY) == "Workload default/job-x"
    assert spoken(("default", "gang")) == "PodGroup default/gang"
