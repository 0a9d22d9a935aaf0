"""The dumps of the bench have the shape that they say."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from api.core import Pod
from bench import dump_classes
from bench.dump import dump
from nodes.state.columns.classes import pod_class


def test_no_two_of_100_000_pods_are_of_one_class() -> None:
    numbers = range(0, dump_classes.CLASSES, 997)
    pods = [msgspec.convert(dump_classes.running(i, "n"), Pod) for i in numbers]
    assert len({pod_class(each) for each in pods}) == len(numbers)
    again = msgspec.convert(dump_classes.running(dump_classes.CLASSES, "n"), Pod)
    assert pod_class(again) == pod_class(pods[0])
    assert (
        len({i * dump_classes.STRIDE % dump_classes.CLASSES for i in range(dump_classes.CLASSES)}) == 100_000
    )


def test_pods_fill_their_nodes() -> None:
    items = [*dump_classes.items(nodes=3, pods_per_node=30, racks=1, gang=2)]
    for number in range(3):
        used = sum(milli(each) for each in items if each.get("spec", {}).get("nodeName") == f"n{number:05}")
        room = int(items[number]["status"]["allocatable"]["cpu"].removesuffix("m"))
        assert room - 2 * dump_classes.SPARE < used < room
    assert [each["kind"] for each in items].count("Pod") == 3 * 30 + 2


def milli(pod: dict[str, object]) -> int:
    made = msgspec.convert(pod, Pod)
    return pod_class(made).requests["cpu"]


def test_a_dump_is_a_list(tmp_path: Path) -> None:
    dump(tmp_path / "dump.json", nodes=20, pods_per_node=2)
    written = json.loads((tmp_path / "dump.json").read_bytes())
    kinds = [each["kind"] for each in written["items"]]
    assert (written["kind"], kinds.count("Node"), kinds.count("Pod")) == ("List", 20, 20 * 2 + 4)
