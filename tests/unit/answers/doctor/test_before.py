"""What is said of the moment at which Enforce begins, from objects as a cluster has them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from answers.doctor import enforcing
from answers.doctor.before import with_at_once
from answers.doctor.enforcing import Wanted
from answers.doctor.findings import Findings
from answers.reading.before import BeforeEnforce
from answers.reading.documents import JsonDocument
from api.core import Namespace
from api.meta import LabelSelector
from controllers.gangs.lifecycle.limits import EvictionLimits
from controllers.gangs.lifecycle.modes import Modes
from hack.controlplane import objects
from tests.kit.full_nodes import cluster
from tests.kit.healthy import NOW

Json = dict[str, Any]


def found(things: list[Json], wanted: Wanted | None = None, unset: str = "") -> Findings:
    reader = BeforeEnforce()
    document = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": things})
    reader.add(JsonDocument(document), "test")
    return with_at_once(Findings(()), reader.seen(), reader.looked(), wanted or Wanted(), NOW, unset)


def said(findings: Findings, check: str) -> list[str]:
    assert not findings.faulty
    return [each.message for each in findings.found if each.check == check]


def test_who_would_be_evicted_for_whom_is_said_gang_by_gang() -> None:
    findings = found(cluster())
    first, *gangs = said(findings, "at once")
    assert first == (
        "as of this moment, Enforce would evict 2 pods (2 units) for 2 gangs, of 2 gangs that wait; each was decided "
        "after those before it"
    )
    assert gangs == [
        "for team/g0, priority 100: 1 pod (1 unit): Pod team/low-0, priority 1",
        "for team/g1, priority 100: 1 pod (1 unit): Pod team/low-1, priority 1",
    ]
    assert said(findings, "first hour") == ["planning.limits is not set: nothing limits how much is evicted"]
    assert said(findings, "in pieces") == ["no gang is in pieces"]


def test_programs_get_the_same() -> None:
    plain = found(cluster(gangs=1)).plain()
    assert plain["atOnce"] == {
        "looked": 1,
        "notLooked": 0,
        "inObservedNamespaces": 0,
        "evicting": [
            {
                "namespace": "team",
                "name": "g0",
                "priority": 100,
                "pods": 1,
                "units": 1,
                "victims": ["Pod team/low-0, priority 1"],
                "state": "Evicts",
                "reason": None,
            }
        ],
        "firstHour": {"pods": 1, "byNamespace": {"team": 1}},
        "inPieces": [],
    }
    assert "atOnce" not in Findings(()).plain()


def test_what_the_limits_stop_is_said() -> None:
    findings = found(cluster(gangs=3), Wanted(limits=EvictionLimits(per_hour=2)))
    assert said(findings, "first hour") == [
        "within planning.limits, 2 pods would be evicted in the first hour (team: 2)",
        "1 pod for 1 gang would wait for planning.limits: team/g2",
    ]
    per_plan = found([*cluster(gangs=0), *both()], Wanted(limits=EvictionLimits(per_plan=1)))
    assert said(per_plan, "first hour") == [
        "Blocked: team/big: it would evict 2 pods, and planning.limits.podsPerPlan is 1",
        "within planning.limits, 0 pods would be evicted in the first hour",
    ]


def both() -> list[Json]:
    """A gang that needs two whole nodes."""
    group = objects.pod_group("big", "team", min_count=2, priority=100)
    pods = [objects.pod(f"big-{each}", "team", cpu="4", group="big") for each in range(2)]
    for each in pods:
        each["spec"]["priority"], each["metadata"]["uid"] = 100, each["metadata"]["name"]
    return [group, *pods]


def test_a_gang_in_pieces_gets_room_or_is_released_or_stays() -> None:
    things = cluster(nodes=1, gangs=0)
    things += both()
    things[-1]["spec"]["nodeName"] = "n0"
    things[-1]["spec"]["containers"][0]["resources"] = {}
    things += [objects.node("free", cpu="4")]
    things[-1]["status"] = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
    assert said(found(things), "in pieces") == [
        "team/big has 1 of 2 members bound: it would get room for the others"
    ]
    (says,) = said(
        found(things[:-1], Wanted(limits=EvictionLimits(per_hour=1), namespace="team")), "in pieces"
    )
    assert says == "team/big has 1 of 2 members bound: it would get room for the others"
    without = [each for each in things if each["metadata"]["name"] not in ("free", "low-0")]
    without[1]["spec"]["unschedulable"] = True
    (stays,) = said(found(without), "in pieces")
    assert stays == (
        "team/big has 1 of 2 members bound: they would stay: reprieve has never said of this PodGroup that it waits"
    )


def test_a_namespace_that_is_not_selected_is_said() -> None:
    modes = Modes("Enforce", LabelSelector(match_labels={"act": "yes"}))
    modes.upsert(msgspec.convert(cluster()[0], Namespace))
    first, second, third = said(found(cluster(), Wanted(modes, "team")), "at once")
    assert first == (
        "planning.enforcedNamespaceSelector does not select namespace team: its gangs would stay observed"
    )
    assert (
        second
        == "as of this moment, Enforce would evict nobody; 0 gangs of namespace team that wait were decided"
    )
    assert third.startswith(
        "2 gangs that wait are in namespaces that planning.enforcedNamespaceSelector does not"
    )


def test_where_it_stopped_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enforcing, "MOST_SEARCHES", 1)
    *_, last = said(found(cluster(gangs=3)), "at once")
    assert last.startswith("2 gangs later in the queue were not decided: this command stops after ")


def test_many_gangs_have_one_line_together() -> None:
    *_, last = said(found(cluster(nodes=13, gangs=13)), "at once")
    assert last == "and 3 pods for 3 more gangs"


def test_what_cannot_be_used_does_not_count_and_is_named() -> None:
    things = cluster()
    things[1]["status"]["allocatable"]["cpu"] = "many"
    (first, *_) = said(found(things), "at once")
    assert first.startswith("these objects do not count: test, items[1], Node n0: ")


def test_a_right_that_is_missing_is_named() -> None:
    reader = BeforeEnforce()
    assert reader.do_without(("v1", "Node"), "a right is missing: list nodes")
    assert not reader.do_without(("v1", "Pod"), "a right is missing: list pods"), "doctor needs them"
    answer = with_at_once(Findings(()), reader.seen(), reader.looked(), Wanted(), NOW)
    assert said(answer, "at once") == [
        "whom Enforce would evict at once is not known: a right is missing: list nodes"
    ]
    assert answer.enforced is None


def test_why_the_defaults_count_is_said() -> None:
    first, *_ = said(found(cluster(), unset="it cannot be read"), "at once")
    assert first == "the defaults of the Configuration count: it cannot be read"
