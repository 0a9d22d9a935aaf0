"""Room of pods that are gone: from the scheduler's log, and from the watch of pods."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.kit.stress import natives
from tests.kit.stress.kept_room import KeptRoom, kept_room, worked_on
from tests.kit.stress.scheduler_evictions import Told, unplanned_evictions
from tests.unit.kit.forged import Forge, Json, evict_for, pod
from tests.unit.kit.stress.forged_natives import member, native

LINE = (
    'I1126 18:23:47.648383    3552 schedule_one.go:1205] "Pod doesn\'t exist in informer cache" '
    'podGroupType="podgroup" podGroup="d/gone" pod="d/gone-0" err="pod \\"gone-0\\" not found"'
)


def nominated(name: str, node: str = "n0", **spec: Any) -> Json:
    body = pod(name, node=None)
    return {**body, "spec": {**body["spec"], **spec}, "status": {"nominatedNodeName": node}}


def test_the_log_tells_when_the_scheduler_ended_its_work_on_a_pod_that_was_gone() -> None:
    at = datetime(2026, 11, 26, 18, 23, 47, 648383).astimezone().timestamp()
    other = LINE.replace("Pod doesn't exist in informer cache", "Unable to schedule pod")
    assert worked_on([other, LINE, LINE[1:]], 2026) == {"d/gone-0": [at]}


def test_from_the_pod_s_end_to_the_end_of_that_work() -> None:
    forge = Forge()
    forge.tell(nominated("gone-0"), "ADDED")
    forge.tell(nominated("gone-0"), "DELETED")
    history = forge.done()
    end = history.states["Pod"]["uid-gone-0"][-1].at
    assert kept_room(history, {"d/gone-0": [end - 1.0, end + 300.0]}) == [
        KeptRoom("d/gone-0", "n0", end, end + 300.0)
    ]
    assert kept_room(history, {"d/gone-0": [end - 1.0], "d/other": [end + 1.0]}) == []


@pytest.mark.parametrize("body", [nominated("p", nodeName="n0"), pod("p", node=None)])
def test_not_of_a_pod_that_was_bound_or_was_to_go_nowhere(body: Json) -> None:
    forge = Forge()
    forge.tell(body, "ADDED")
    forge.tell(body, "DELETED")
    history = forge.done()
    assert kept_room(history, {"d/p": [history.states["Pod"]["uid-p"][-1].at + 300.0]}) == []


@pytest.mark.parametrize(("node", "is_wrong"), [("n0", False), ("n1", True)])
def test_an_eviction_on_that_node_is_not_judged(node: str, is_wrong: bool) -> None:
    forge = Forge()
    forge.tell(native("hero"), "ADDED")
    forge.tell(member("hero-0", "hero"), "ADDED")
    evict_for(forge, forge.tell(pod("low"), "ADDED"))
    history = forge.done()
    natives.show_natives(history)
    last = history.states["Pod"]["uid-low"][-1].at
    kept = KeptRoom("d/gone-0", node, last - 60.0, last + 60.0)
    assert bool(unplanned_evictions(history, Told({}, kept=[kept]))) == is_wrong
