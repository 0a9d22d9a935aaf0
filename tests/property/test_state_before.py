"""A scheduler binds members and evicts pods for them. Put back, the decision is the one of before, field for field."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from nodes.search.decision import DecisionError, group_decision
from nodes.search.preemptors.before import NotPutBackError, put_back, with_gone
from nodes.state.kept import keep
from nodes.state.snapshot import Snapshot
from tests.kit.examples import examples
from tests.kit.objects import budget, gang, member, node, pod, tables
from tests.kit.plans.clusters import clusters
from tests.kit.plans.engine import snapshot_of, tables_of

Object = dict[str, Any]
THEN = "2026-01-01T00:10:00Z"


def is_hero(item: Object) -> bool:
    labels = item["metadata"].get("labels") or {}
    return item["metadata"]["namespace"] == "d" and "hero" in labels.values()


def has_ended(item: Object) -> bool:
    return (item.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def waits(item: Object) -> bool:
    spec = item["spec"]
    free = not (spec.get("nodeName") or spec.get("schedulingGates"))
    return free and not (has_ended(item) or item["metadata"].get("deletionTimestamp"))


def is_evictable(item: Object) -> bool:
    meta = item["metadata"]
    mirror = "kubernetes.io/config.mirror" in (meta.get("annotations") or {})
    return bool(item["spec"].get("nodeName")) and not (
        meta.get("deletionTimestamp") or mirror or has_ended(item)
    )


def decided(snapshot: Snapshot) -> object:
    """The decision, or why there is none."""
    try:
        return group_decision(snapshot, "d", "hero").spec
    except DecisionError as error:
        return str(error)


@settings(max_examples=examples(300), deadline=None)
@given(clusters(budgets=False), st.data())
def test_put_back_is_the_state_before(objects: list[Object], data: st.DataObject) -> None:
    names = [each["metadata"]["name"] for each in objects if each["kind"] == "Node"]
    pods = [each for each in objects if each["kind"] == "Pod" and each["metadata"].get("uid")]
    members = [each for each in pods if is_hero(each) and waits(each)]
    running = [each for each in pods if not is_hero(each) and is_evictable(each)]
    assume(members)
    bound = data.draw(st.lists(st.sampled_from(members), unique_by=id, min_size=1))
    evicted = data.draw(st.lists(st.sampled_from(running), unique_by=id)) if running else []
    gone = [each for each in evicted if data.draw(st.booleans())]
    state = tables_of(objects)
    before = state.snapshot()
    kept = [pod for each in gone if (pod := keep(state, state.pod(each["metadata"]["uid"]) or 0)) is not None]

    def uids(some: list[Object]) -> list[str]:
        return [each["metadata"]["uid"] for each in some]

    later = [each for each in deepcopy(objects) if each["metadata"].get("uid") not in uids(gone)]
    for each in later:
        if each["kind"] != "Pod":
            continue
        if each["metadata"].get("uid") in uids(bound):
            each["spec"]["nodeName"] = data.draw(st.sampled_from(names))
            each.setdefault("status", {})["startTime"] = data.draw(st.sampled_from((None, THEN)))
        elif each["metadata"].get("uid") in uids(evicted):
            each["metadata"]["deletionTimestamp"] = THEN
    after = snapshot_of(later)
    try:
        whole = with_gone(after, kept)
    except NotPutBackError as error:
        said = str(error)
        assert said.endswith(("its group is gone", "its node is gone")), "nothing else says that it was there"
        reject()
    again = put_back(whole, uids(bound), [uid for uid in uids(evicted) if uid not in uids(gone)])
    if not gone:
        for name in ("used", "leaving", "pod_node", "pod_flags", "pod_start", "pod_class"):
            assert np.array_equal(getattr(again, name), getattr(before, name)), name
    assert decided(again) == decided(before)


def test_what_is_gone_or_counts_against_a_budget_cannot_be_put_back() -> None:
    objects = [
        node("n0"),
        gang(minimum=1),
        member(0, node="n0"),
        pod("v", node="n0", deleting=True, labels={"a": "b"}),
    ]
    with pytest.raises(NotPutBackError, match="pod uid-gone is gone"):
        put_back(tables(*objects).snapshot(), [], ["uid-gone"])
    uid = "uid-default-v"
    put_back(tables(*objects).snapshot(), [], [uid])
    with pytest.raises(NotPutBackError, match="default/v was preempted, and counts against a budget"):
        put_back(tables(*objects, budget("b", selector={"matchLabels": {"a": "b"}})).snapshot(), [], [uid])
