"""Who is nobody's victim."""

from __future__ import annotations

from typing import Any

from controllers.gangs.planning.refusals import Refusals, spare_nodes, spare_pods
from nodes.search.decision import decide_group
from nodes.state.snapshot import Snapshot
from tests.kit.objects import gang, node, pod, tables


def snapshot(*others: Any) -> Snapshot:
    """A gang of one, which fits on either node once a pod is evicted; it takes `n0` and evicts `v0`."""
    objects = [node("n0"), node("n1"), gang(minimum=1, priority=100), pod("m", group="gang"), *others]
    objects += others or [pod(f"v{i}", node=f"n{i}", requests={"cpu": "4"}) for i in range(2)]
    return tables(*objects).snapshot()


def victims(snapshot: Snapshot) -> list[str]:
    return [pod.name for each in decide_group(snapshot, "default", "gang").victims for pod in each.pods]


def test_a_spared_pod_is_nobodys_victim() -> None:
    before = snapshot()
    assert victims(before) == ["v0"]
    assert victims(spare_pods(before, ["uid-default-v0"])) == ["v1"]
    assert victims(spare_pods(before, ["uid-default-v0", "uid-default-v1"])) == []
    assert victims(before) == ["v0"], "the snapshot itself stays as it is"


def test_on_a_spared_node_nobody_is_a_victim() -> None:
    before = snapshot()
    assert victims(spare_nodes(before, {"n0"})) == ["v1"]
    assert victims(spare_nodes(before, {"n0", "n1"})) == []
    assert victims(spare_nodes(spare_pods(before, ["uid-default-v1"]), {"n0"})) == []


def test_whom_nobody_knows_changes_nothing() -> None:
    before = snapshot()
    assert spare_pods(before, []) is before
    assert spare_pods(before, ["gone"]) is before
    assert spare_nodes(before, {"gone"}) is before
    assert spare_nodes(before, ()) is before


def test_a_group_that_goes_whole_is_spared_with_one_of_its_pods() -> None:
    pods = [pod(f"w{i}", group="whole", node=f"n{i}", requests={"cpu": "4"}) for i in range(2)]
    before = snapshot(gang("whole", minimum=1, mode="all", priority=0), *pods)
    assert victims(before) == ["w0", "w1"]
    assert victims(spare_nodes(before, {"n1"})) == []
    assert victims(spare_pods(before, ["uid-default-w1"])) == []


def test_free_room_on_a_spared_node_may_be_taken() -> None:
    before = snapshot(pod("v0", node="n0", requests={"cpu": "4"}))
    decided = decide_group(spare_nodes(before, {"n0", "n1"}), "default", "gang")
    assert [each.node for each in decided.placements] == ["n1"]


def test_a_refusal_is_believed_for_five_minutes() -> None:
    refusals = Refusals()
    refusals.note(["uid-default-v0"], now=1000)
    assert victims(refusals.exempt(snapshot())) == ["v1"]
    assert not refusals.expire(1299)
    assert refusals.expire(1300)
    assert victims(refusals.exempt(snapshot())) == ["v0"]
