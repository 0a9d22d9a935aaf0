"""Native groups are shown as PodGroups, in a history and at rest. So the other checks see them."""

from __future__ import annotations

import pytest

from tests.kit.stress import evictions, natives, rest
from tests.kit.stress.rest import Rest
from tests.unit.kit.forged import Forge, Json, group, node, plan, pod, victim
from tests.unit.kit.stress.forged_natives import member, native

NAME = "podgroups.scheduling.k8s.io:unit"


def unit_of(forge: Forge) -> list[Json]:
    """A native group that goes whole, with the pods u0 and u1."""
    forge.tell(native("unit", 10, mode="all"), "ADDED")
    return [forge.tell(member(f"u{number}", "unit", 10, "n0"), "ADDED") for number in range(2)]


def test_reprieve_breaks_a_native_unit() -> None:
    """A driven plan takes it whole, or not at all."""
    forge = Forge()
    forge.tell(group("hero", 100), "ADDED")
    unit = unit_of(forge)
    forge.tell(plan("plan", "Evicting", victims=[{**victim(*unit, unit="unit"), "name": NAME}]))
    forge.delete(unit[0])
    history = forge.done()
    natives.show_natives(history)
    assert evictions.broken_units(history) == [f"plan d/plan left ['u1'] of d/{NAME}"]


def test_who_did_not_watch_native_groups_does_not_know_groups() -> None:
    forge = Forge()
    [first, _] = unit_of(forge)
    forge.miss(natives.WATCHED)
    history = forge.done()
    natives.show_natives(history)
    assert not history.knows("PodGroup", "uid-unit", 0, 1000)
    assert history.group_of(first, 3) is not None


@pytest.mark.parametrize(
    ("policy", "name"), [({"basic": {}}, "ours"), ({"gang": {"minCount": 1}}, NAME)], ids=["basic", "gang"]
)
def test_a_basic_native_group_takes_no_pod_from_a_gang(policy: Json, name: str) -> None:
    forge = Forge()
    forge.tell(group("ours", 100), "ADDED")
    forge.tell(native("unit", 100, policy=policy), "ADDED")
    both = pod("both", 100, group="ours")
    both["spec"]["schedulingGroup"] = {"podGroupName": "unit"}
    told = forge.tell(both, "ADDED")
    history = forge.done()
    natives.show_natives(history)
    of = history.group_of(told, 3)
    assert of is not None
    assert of["metadata"]["name"] == name


def at_rest(policy: Json, priority: int = 100, count: int = 1) -> Rest:
    """A node with room for one, and pods of a native group that wait."""
    of = native("unit", 100, policy=policy)
    pods = [member(f"u{number}", "unit", priority) for number in range(count)]
    return natives.show_natives_at_rest(Rest(pods, [node("n0", "1")], [], [], []), [of])


@pytest.mark.parametrize(
    ("policy", "count", "wrong"),
    [
        ({"gang": {"minCount": 1}}, 1, [f"gang d/{NAME} waits though it fits: ['u0']"]),
        ({"gang": {"minCount": 2}}, 2, []),
        ({"basic": {}}, 1, ["pod d/u0 waits though it fits on n0"]),
    ],
)
def test_a_native_group_waits_though_it_fits(policy: Json, count: int, wrong: list[str]) -> None:
    assert rest.waiting_though_it_fits(at_rest(policy, count=count)) == wrong


@pytest.mark.parametrize("policy", [{"gang": {"minCount": 1}}, {"basic": {}}])
def test_a_group_of_which_a_member_differs_is_never_tried(policy: Json) -> None:
    """Its members may wait for ever, though they fit."""
    assert rest.waiting_though_it_fits(at_rest(policy, priority=50)) == []


def test_nothing_is_said_of_the_status_of_a_native_group() -> None:
    assert rest.untrue_status(at_rest({"gang": {"minCount": 2}}, count=2)) == []


def test_an_ordinary_pod_is_in_no_native_group() -> None:
    around = natives.show_natives_at_rest(Rest([pod("single")], [node("n0")], [], [], []), [native("unit")])
    assert around.group_key(around.pods[0]) is None
