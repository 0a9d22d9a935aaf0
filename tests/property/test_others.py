"""Other members than the oldest: found if they fit, and chosen in a bounded number of tries."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.search.cluster import Cluster, lay_out
from nodes.search.others import TRIES, others
from nodes.search.preemptors.preemptor import group_preemptor
from tests.kit.examples import examples
from tests.kit.objects import gang, node, pod, tables
from tests.kit.plans.checker import Case, check
from tests.kit.plans.engine import plan_for

Object = dict[str, Any]

SHAPES = st.fixed_dictionaries(
    {"cpu": st.sampled_from(["1", "2", "3"]), "memory": st.sampled_from(["1Gi", "3Gi"])},
    optional={"disk": st.sampled_from(["ssd", "hdd"])},
)


@st.composite
def mixed_gangs(draw: st.DrawFn) -> list[Object]:
    """Up to three small nodes, a low pod on each or none, and a gang of one or two shapes that hardly fits."""
    nodes: list[Object] = [
        {
            "kind": "Node",
            "metadata": {"name": f"n{index}", "labels": {"disk": draw(st.sampled_from(["ssd", "hdd"]))}},
            "spec": {},
            "status": {
                "allocatable": {"cpu": str(draw(st.integers(1, 5))), "memory": "4Gi", "pods": "9"},
            },
        }
        for index in range(draw(st.integers(1, 3)))
    ]
    low = [
        running(f"low{index}", each["metadata"]["name"])
        for index, each in enumerate(nodes)
        if draw(st.booleans())
    ]
    shapes = draw(st.lists(SHAPES, min_size=1, max_size=2))
    members = draw(st.integers(2, 7))
    group = {
        "kind": "PodGroup",
        "metadata": {"name": "hero", "namespace": "d", "uid": "uid-hero"},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": draw(st.integers(1, members))}},
            "priority": 100,
        },
    }
    waiting = [member(index, draw(st.sampled_from(shapes))) for index in range(members)]
    return [*nodes, *low, group, *waiting]


def running(name: str, on: str) -> Object:
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": f"uid-{name}"},
        "spec": {"nodeName": on, "priority": 1, "containers": [container]},
        "status": {"phase": "Running"},
    }


def member(index: int, shape: Object) -> Object:
    requests = {"cpu": shape["cpu"], "memory": shape["memory"]}
    spec: Object = {"priority": 100, "containers": [{"name": "c", "resources": {"requests": requests}}]}
    if "disk" in shape:
        spec["nodeSelector"] = {"disk": shape["disk"]}
    meta = {
        "name": f"h{index}",
        "namespace": "d",
        "uid": f"uid-h{index}",
        "labels": {"reprieve.dev/pod-group": "hero"},
    }
    return {"kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Pending"}}


@settings(max_examples=examples(300), deadline=None)
@given(mixed_gangs())
def test_members_that_fit_are_found(objects: list[Object]) -> None:
    """As many of one or two shapes as are needed, by brute force over all choices."""
    case = Case.of(objects, "d/hero")
    assert check(case, plan_for(objects, "d/hero"), case.outcome()) == []


def test_a_gang_of_many_shapes_is_no_trouble() -> None:
    """Every member has a shape of its own. There are more shapes than Python's calls may be deep."""
    members = [pod(f"m{i:04}", group="gang", requests={"cpu": f"{i + 1}m"}) for i in range(1100)]
    snapshot = tables(gang(minimum=1099), *members, node("n0", cpu="4")).snapshot()
    preemptor = group_preemptor(snapshot, "default", "gang")
    cluster = Cluster(snapshot, preemptor, lay_out(snapshot, preemptor))
    assert len(list(others(cluster, strict=True))) <= TRIES + 1


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.sampled_from(["1", "2", "3", "9"]), min_size=1, max_size=120),
    st.integers(1, 120),
)
def test_choices_are_few_and_different(sizes: list[str], needed: int) -> None:
    needed = min(needed, len(sizes))
    members = [pod(f"m{i:03}", group="gang", requests={"cpu": size}) for i, size in enumerate(sizes)]
    snapshot = tables(gang(minimum=needed), *members, node("n0", cpu="4")).snapshot()
    preemptor = group_preemptor(snapshot, "default", "gang")
    cluster = Cluster(snapshot, preemptor, lay_out(snapshot, preemptor))
    chosen = [each.required for each in others(cluster, strict=True)]
    assert len(chosen) <= TRIES + 1
    assert len({frozenset(each) for each in (preemptor.required, *chosen)}) == len(chosen) + 1
    fitting = [row for row, size in zip(preemptor.unbound, sizes, strict=True) if size != "9"]
    for each in chosen:
        assert len(each) == needed
        assert set(each) <= set(fitting)
        assert sorted(each) == sorted(each, key=preemptor.unbound.index)
    shapes = {size: [row for row in fitting if sizes[preemptor.unbound.index(row)] == size] for size in "123"}
    tried = [set(each) for each in (preemptor.required, *chosen)]
    for rows in shapes.values():
        if rows and len(fitting) - len(rows) >= needed:
            assert any(not each & set(rows) for each in tried), "each shape is left out in some try"
