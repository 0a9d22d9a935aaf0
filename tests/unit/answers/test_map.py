"""The map: whose room it is, what is promised, and what a reader may not know."""

from __future__ import annotations

import json
from collections.abc import Set
from dataclasses import dataclass, field
from typing import Any

import pytest

from answers.map.blocks import blocks_by, keys_of, natural, resources_of
from answers.map.panel import node_of
from answers.map.whole import map_of
from answers.names import ALL, EVERYWHERE, Listed, Names
from answers.picture import Picture
from answers.reading.details import DetailedObjects
from answers.reading.quota_objects import read_time
from tests.kit.answers.rooms import GPU, NOW, WORLD, gang, node, plan, pod

Object = dict[str, Any]


@dataclass(frozen=True)
class Reader:
    """Who may list nodes, and some kinds in some namespaces."""

    namespaces: Set[str] = field(default_factory=frozenset)
    kinds: Set[Listed] = frozenset({"pods", "podgroups", "preemptionplans"})

    def lists(self, what: Listed, namespace: str = EVERYWHERE) -> bool:
        return what == "nodes" or (namespace in self.namespaces and what in self.kinds)


def picture(*objects: Object) -> tuple[Picture, DetailedObjects]:
    read = DetailedObjects(read_time(NOW, "now"))
    read.add_file(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}).encode(), "file")
    return read.picture(), read


def shown(names: Names = ALL, objects: tuple[Object, ...] = WORLD, **chosen: Any) -> dict[str, Any]:
    return map_of(picture(*objects)[0], names, **chosen).plain()


def panel(name: str, names: Names = ALL, objects: tuple[Object, ...] = WORLD) -> dict[str, Any]:
    made, read = picture(*objects)
    found = node_of(made, read.details, names, name)
    assert found is not None
    return found.plain()


def amounts(found: dict[str, Any], name: str) -> dict[str, int]:
    at = found["nodes"]["name"].index(name)
    return {key: column[at] for key, column in found["nodes"].items() if key not in ("name", "block")}


# ---- what everybody sees who may list everything


def test_nodes_stand_in_blocks_by_the_key_that_most_pod_groups_name() -> None:
    found = shown()
    assert (found["topologyKey"], found["topologyKeys"]) == ("rack", [{"key": "rack", "podGroups": 1}])
    assert found["blocks"] == ["r1", "r2", None]
    assert found["nodes"]["name"] == ["n10", "n1", "n2", "plain"]
    assert found["nodes"]["block"] == [0, 1, 1, 2]


def test_an_extended_resource_is_shown_first() -> None:
    found = shown()
    assert (found["resource"], found["resources"]) == (GPU, [GPU, "cpu", "memory", "pods"])
    assert shown(objects=(node("n", None, 0),))["resources"] == ["cpu", "memory", "pods"]


def test_room_is_used_leaving_promised_or_free() -> None:
    found = shown()
    assert amounts(found, "n2") == {
        "allocatable": 8,
        "used": 7,
        "leaving": 1,
        "promised": 4,
        "free": 1,
        "anonymous": 0,
    }, "the victim covers all that is promised here"
    assert amounts(found, "n10") == {
        "allocatable": 8,
        "used": 2,
        "leaving": 0,
        "promised": 3,
        "free": 3,
        "anonymous": 0,
    }
    assert shown(resource="cpu")["nodes"]["promised"] == [500, 0, 500, 0]


def test_parts_are_those_of_gangs_and_of_pods_without_one() -> None:
    found = shown()
    assert found["gangs"] == {"namespace": ["a", "b"], "name": ["train", "old"], "key": ["train", "old"]}
    assert found["parts"] == {
        "node": [0, 2, 2],
        "gang": [-1, -1, 1],
        "pods": [1, 1, 1],
        "used": [2, 1, 6],
        "leaving": [0, 1, 0],
    }


def test_a_plan_that_is_carried_out_has_its_nodes_and_its_victims() -> None:
    (each,) = shown()["plans"]
    assert each == {
        "kind": "PodGroup",
        "namespace": "a",
        "name": "train",
        "uid": "uid-train",
        "priority": 1000,
        "gang": 0,
        "promised": {"node": [0, 2], "gang": [0, 0], "pods": [1, 1], "amount": [3, 4]},
        "victims": {"node": [2], "gang": [1], "pods": [1], "amount": [6]},
    }


@pytest.mark.parametrize("phase", ["Planned", "Ready", "Bound", "Aborted", "Unschedulable", "Observed"])
def test_only_plans_that_are_carried_out_promise_room(phase: str) -> None:
    other = plan("train", "a", phase, {"train-0": "n2"}, [])
    found = shown(objects=(*WORLD[:-1], other))
    assert (sum(found["nodes"]["promised"]) > 0) == (phase in ("Planned", "Ready"))


def test_a_member_that_has_its_node_is_promised_nothing() -> None:
    bound = pod("train-0", "a", 4, "n2", "train")
    found = shown(objects=(*(each for each in WORLD if each["metadata"]["name"] != "train-0"), bound))
    assert amounts(found, "n2")["promised"] == 0
    assert amounts(found, "n2")["used"] == 11, "it is counted as what it is"
    assert amounts(found, "n2")["free"] == 0


def test_a_label_and_a_resource_that_nobody_has() -> None:
    found = shown(topology_key="none", resource="none")
    assert (found["topologyKey"], found["blocks"], found["resource"]) == ("none", [None], "none")
    assert {value for key in ("allocatable", "used", "free") for value in found["nodes"][key]} == {0}
    assert shown(objects=())["nodes"]["name"] == []
    assert shown(objects=(pod("p", "a", 1, "nowhere"),))["parts"]["node"] == []


def test_a_node_has_a_panel() -> None:
    found = panel("n2")
    room = {each["name"]: each for each in found["resources"]}
    assert (room[GPU]["used"], room[GPU]["promised"], room["pods"]["used"]) == (7, 4, 2)
    gone, old = found["pods"]
    assert (gone["name"], gone["gang"], gone["leaving"], gone["victimOf"]) == ("gone", "", True, "")
    assert (old["name"], old["gang"], old["leaving"], old["victimOf"]) == ("old-0", "old", False, "a/train")
    assert old["requests"] == {"cpu": 500, "pods": 1, GPU: 6}
    assert [(each["name"], each["gang"], each["plan"]) for each in found["promised"]] == [
        ("train-0", "train", "a/train-1")
    ]
    assert found["labels"] == {"kubernetes.io/hostname": "n2", "rack": "r2"}


def test_a_panel_says_what_keeps_pods_away() -> None:
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    found = panel("n", objects=(node("n", unschedulable=True, taints=[taint]),))
    assert (found["unschedulable"], found["taints"]) == (True, ["k=v:NoSchedule"])


def test_a_node_that_does_not_exist_has_none() -> None:
    made, read = picture(*WORLD)
    assert node_of(made, read.details, ALL, "nothing") is None


# ---- what a reader may not know


def test_what_is_forbidden_is_one_amount() -> None:
    found = shown(Reader({"a"}))
    assert amounts(found, "n2") == {
        "allocatable": 8,
        "used": 0,
        "leaving": 0,
        "promised": 4,
        "free": 1,
        "anonymous": 7,
    }
    assert found["gangs"] == {"namespace": ["a"], "name": ["train"], "key": ["train"]}
    assert found["plans"][0]["victims"]["node"] == []
    assert "list pods in all namespaces" in found["missing"]


def test_room_that_is_promised_to_others_is_in_that_amount() -> None:
    found = shown(Reader({"b"}))
    assert amounts(found, "n10") == {
        "allocatable": 8,
        "used": 0,
        "leaving": 0,
        "promised": 0,
        "free": 3,
        "anonymous": 5,
    }
    assert (found["plans"], panel("n10", Reader({"b"}))["promised"]) == ([], [])
    assert panel("n2", Reader({"b"}))["pods"][1]["victimOf"] == ""


@pytest.mark.parametrize("spaces", [set(), {"a"}, {"b"}, {"a", "b"}])
def test_free_room_is_the_same_for_everybody_and_nothing_is_counted_twice(spaces: set[str]) -> None:
    whole, found = shown(), shown(Reader(spaces))
    for key in ("name", "block", "allocatable", "free"):
        assert found["nodes"][key] == whole["nodes"][key]
    used, anonymous = found["nodes"]["used"], found["nodes"]["anonymous"]
    held = [mine + others for mine, others in zip(used, anonymous, strict=True)]
    assert all(one >= other for one, other in zip(held, whole["nodes"]["used"], strict=True))


def test_the_number_of_pods_is_not_told_to_who_may_not_list_them() -> None:
    """`pods` is a resource, and what is used of it is how many there are."""
    reader = Reader({"a"})
    assert "pods" not in shown(reader)["resources"]
    assert set(shown(reader, resource="pods")["nodes"]["anonymous"]) == {0}
    assert "pods" not in [each["name"] for each in panel("n2", reader)["resources"]]


def test_a_reader_of_nodes_alone_sees_amounts() -> None:
    found = shown(Reader())
    assert (found["parts"]["node"], found["plans"], found["gangs"]["name"]) == ([], [], [])
    assert sum(found["nodes"]["anonymous"]) == 12
    assert found["topologyKeys"] == [{"key": "rack", "podGroups": 0}]


def test_the_name_of_a_plan_needs_a_right_of_its_own() -> None:
    reader = Reader({"a"}, {"pods"})
    (each,) = panel("n2", reader)["promised"]
    assert (each["name"], each["plan"]) == ("train-0", "")
    assert panel("n2", reader)["missing"] == [
        "list pods in all namespaces",
        "list preemptionplans in all namespaces",
    ]


def test_rights_are_missed_where_the_reader_looks() -> None:
    found = shown(Reader({"a"}, {"pods"}), namespaces=["a", "b"])
    assert found["missing"] == ["list pods in b", "list podgroups in a", "list podgroups in b"]


# ---- blocks


def test_numbers_in_names_are_compared_as_numbers() -> None:
    names = ["rack-10", "rack-9", "rack-09", "a", "", "7", "10" * 5000, "rack-9b", "é"]
    ordered = sorted(names, key=lambda name: (natural(name), name))
    assert ordered == ["", "7", "10" * 5000, "a", "rack-09", "rack-9", "rack-9b", "rack-10", "é"]


def test_labels_that_tell_each_node_apart_make_no_blocks() -> None:
    made, _ = picture(*WORLD)
    snapshot = made.nodes.snapshot
    assert [each.key for each in keys_of(snapshot, lambda _: False)] == ["rack"]
    assert blocks_by(snapshot, "kubernetes.io/hostname").values == ["n1", "n2", "n10", "plain"]


def test_a_key_of_pod_groups_comes_first_and_one_that_no_node_has_not_at_all() -> None:
    zoned = [node(f"z{at}", f"r{at % 2}") for at in range(4)]
    for each in zoned:
        each["metadata"]["labels"] |= {
            "topology.kubernetes.io/zone": "z",
            "disk": each["metadata"]["labels"]["rack"],
        }
    made, _ = picture(*zoned, gang("g", "a", "disk"), gang("h", "a", "nowhere"))
    keys = [each.key for each in keys_of(made.nodes.snapshot, lambda _: True)]
    assert keys == ["disk", "topology.kubernetes.io/zone", "rack"]
    assert resources_of(made.nodes.snapshot, counts_pods=False) == [GPU, "cpu", "memory"]


def test_a_plan_that_names_a_pod_of_another_namespace_tells_nothing_of_it() -> None:
    """Somebody may write such a plan, and know a UID from elsewhere. Room is promised to members alone."""
    hidden = pod("secret-0", "b", 2, group="secret")
    forged = plan("train", "a", "Evicting", {"train-0": "n2", "secret-0": "n10"}, [])
    objects = (*WORLD[:-1], hidden, forged)
    for reader in (ALL, Reader({"a"})):
        found = shown(reader, objects)
        assert "secret" not in json.dumps(found)
        assert amounts(found, "n10")["promised"] == 0
        assert amounts(found, "n10")["free"] == 6
