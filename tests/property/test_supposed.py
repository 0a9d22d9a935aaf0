"""Supposed pods find the places that they would find if they existed; pods supposed to go count as gone."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields
from typing import Any

import msgspec
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from api.core import Pod
from nodes.search.decision import DecisionError, group_decision, workload_decision
from nodes.search.preemptors.supposed import SupposedPods, WorkloadName, leaving_with
from tests.kit.examples import examples
from tests.kit.plans.clusters import clusters
from tests.kit.plans.engine import snapshot_of

Object = dict[str, Any]
WORKLOAD = WorkloadName("kueue.x-k8s.io/v1beta2", "d", "hero", "uid-workload")


def is_hero(item: Object) -> bool:
    labels = item["metadata"].get("labels") or {}
    return item["kind"] == "Pod" and item["metadata"]["namespace"] == "d" and "hero" in labels.values()


def waits(item: Object) -> bool:
    meta, spec = item["metadata"], item["spec"]
    return not (spec.get("nodeName") or meta.get("deletionTimestamp") or spec.get("schedulingGates"))


@settings(max_examples=examples(300), deadline=None)
@given(clusters())
def test_supposed_as_if_they_existed(objects: list[Object]) -> None:
    objects = deepcopy(objects)
    members = [each for each in objects if is_hero(each) and waits(each)]
    others = [each for each in objects if not is_hero(each)]
    hero = next(each for each in others if each["kind"] == "PodGroup" and each["metadata"]["name"] == "hero")
    hero["spec"]["schedulingPolicy"] = {"gang": {"minCount": len(members)}}
    hero.pop("status", None)
    assume(members)
    for number, each in enumerate(members):
        each["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:{number:02d}Z"
        each["spec"].pop("nodeName", None)
        each.pop("status", None)
    try:
        real = group_decision(snapshot_of([*others, *members]), "d", "hero").spec
    except DecisionError:
        return
    assume(real.mismatch is UNSET)
    sets = [SupposedPods(f"p{number}", 1, msgspec.convert(each, Pod)) for number, each in enumerate(members)]
    asked = workload_decision(snapshot_of(others), WORKLOAD, sets).spec
    assert (asked.outcome, asked.victims, asked.not_modelled) == (
        real.outcome,
        real.victims,
        real.not_modelled,
    )
    names = {each["metadata"]["name"]: f"p{number}-0" for number, each in enumerate(members)}
    assert [(each.pod, each.node) for each in asked.placements] == [
        (names[each.pod], each.node) for each in real.placements
    ]
    assert asked.preemptor.priority == real.preemptor.priority


@settings(max_examples=examples(200), deadline=None)
@given(clusters(), st.data())
def test_supposed_to_go_as_if_deleted(objects: list[Object], data: st.DataObject) -> None:
    before = snapshot_of(objects)
    pods = [each for each in objects if each["kind"] == "Pod"]
    going = data.draw(st.lists(st.sampled_from(pods), unique_by=id)) if pods else []
    asked = leaving_with(before, [each["metadata"].get("uid", "") for each in going] + ["nobody"])
    objects = deepcopy(objects)
    for each, copy in zip(pods, [x for x in objects if x["kind"] == "Pod"], strict=True):
        if any(each is other for other in going) and each["metadata"].get("uid"):
            copy["metadata"].setdefault("deletionTimestamp", "2026-01-01T00:00:00Z")
    real = snapshot_of(objects)
    for field in fields(real):
        mine, theirs = getattr(asked, field.name), getattr(real, field.name)
        if isinstance(mine, np.ndarray):
            assert np.array_equal(mine, theirs), field.name
