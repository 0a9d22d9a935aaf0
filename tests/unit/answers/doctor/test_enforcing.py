"""What Enforce would do at once: each gang after those before it, within limits, pauses and the selector."""

from __future__ import annotations

from typing import Any

import pytest

from answers.doctor import enforcing
from answers.doctor.enforcing import AtOnce, Wanted, at_once
from api.core import Namespace
from api.meta import LabelSelector, ObjectMeta
from api.pauses import PAUSED
from controllers.gangs.lifecycle.limits import EvictionLimits
from controllers.gangs.lifecycle.modes import Modes
from tests.kit.objects import gang, group, node, pod, tables

NOW = 1_800_000_000.0


def world(nodes: int = 4, gangs: int = 3, *, namespace: str = "default") -> list[Any]:
    """Nodes that are full of two pods each, and gangs of one member that need a whole node."""
    things: list[Any] = [node(f"n{each}", cpu="4") for each in range(nodes)]
    things += [
        pod(f"low-{each}-{which}", namespace=namespace, node=f"n{each}", requests={"cpu": "2"}, priority=1)
        for each in range(nodes)
        for which in range(2)
    ]
    for number in range(gangs):
        things += [
            gang(f"g{number}", 1),
            pod(f"g{number}-0", group=f"g{number}", requests={"cpu": "4"}, priority=100),
        ]
    return things


def asked(things: list[Any], *spaces: Namespace, **wanted: Any) -> AtOnce:
    return at_once(tables(*things).snapshot(), Wanted(**wanted), spaces, NOW)


def said(answer: AtOnce) -> list[tuple[str, str, int]]:
    return [(each.name, each.state, each.pods) for each in answer.judged]


def space(name: str, *, labels: dict[str, str] | None = None, paused: str = "") -> Namespace:
    notes = {PAUSED: paused} if paused else None
    return Namespace(metadata=ObjectMeta(name=name, labels=labels, annotations=notes))


def test_each_gang_finds_the_room_promised_that_those_before_it_hold() -> None:
    answer = asked(world(nodes=2, gangs=3))
    assert said(answer) == [("g0", "Evicts", 2), ("g1", "Evicts", 2)]
    victims = {unit for each in answer.judged for unit in each.victims}
    assert len(victims) == 4, "nobody is a victim twice"
    assert (answer.looked, answer.unlooked) == (3, 0)
    assert answer.completed == {("default", "g0"), ("default", "g1")}


def test_free_room_is_used_and_nobody_goes_for_it() -> None:
    answer = asked([*world(nodes=1, gangs=1), node("free", cpu="4")])
    assert said(answer) == []
    assert answer.completed == {("default", "g0")}


def test_a_plan_with_more_victims_than_a_plan_may_have_is_blocked_and_holds_no_room() -> None:
    answer = asked(world(), limits=EvictionLimits(per_plan=1))
    assert said(answer) == [("g0", "Blocked", 2), ("g1", "Blocked", 2), ("g2", "Blocked", 2)]
    assert "planning.limits.podsPerPlan is 1" in answer.judged[0].reason
    assert answer.pods == {}


def test_what_an_hour_does_not_allow_waits_and_so_do_those_behind_it() -> None:
    things = world(gangs=2)
    things += [
        gang("small", 1, priority=50),
        pod("small-0", group="small", requests={"cpu": "2"}, priority=50),
    ]
    answer = asked(things, limits=EvictionLimits(per_hour=3))
    assert said(answer) == [("g0", "Evicts", 2), ("g1", "LimitReached", 2), ("small", "LimitReached", 1)]
    assert answer.pods == {"default": 2}


def test_an_hour_is_counted_by_namespace_too() -> None:
    answer = asked(world(), limits=EvictionLimits(per_namespace=4))
    assert [each.state for each in answer.judged] == ["Evicts", "Evicts", "LimitReached"]
    assert answer.pods == {"default": 4}
    assert answer.plain()["firstHour"] == {"pods": 4, "byNamespace": {"default": 4}}


@pytest.mark.parametrize("where", ["reprieve-system", "default"])
def test_while_evictions_are_paused_nobody_is_evicted(where: str) -> None:
    answer = asked(world(gangs=1), space(where, paused="an upgrade"))
    assert said(answer) == [("g0", "Paused", 2)]
    assert answer.judged[0].reason == f"evictions are paused: {where}"


def modes(*enforced: str, others: tuple[str, ...] = ()) -> Modes:
    made = Modes("Enforce", LabelSelector(match_labels={"act": "yes"}))
    for name in enforced:
        made.upsert(space(name, labels={"act": "yes"}))
    for name in others:
        made.upsert(space(name))
    return made


def test_gangs_of_namespaces_that_are_not_selected_are_counted_and_left_alone() -> None:
    answer = asked(world(gangs=2), modes=modes("team", others=("default",)))
    assert (said(answer), answer.looked, answer.observed) == ([], 0, 2)


def test_pods_of_namespaces_that_are_not_selected_are_spared() -> None:
    answer = asked(world(namespace="team"), modes=modes("default", others=("team",)))
    assert (said(answer), answer.looked) == ([], 3)


def test_only_gangs_of_the_namespace_that_is_asked_about_are_looked_at() -> None:
    things = world(gangs=2)
    things += [
        group("other", namespace="team", minimum=1, priority=100),
        pod("other-0", namespace="team", group="other", requests={"cpu": "4"}, priority=100),
    ]
    answer = asked(things, namespace="team")
    assert said(answer) == [("other", "Evicts", 2)]
    assert answer.looked == 1


def test_it_stops_after_a_number_of_searches_and_says_for_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enforcing, "MOST_SEARCHES", 1)
    answer = asked(world())
    assert (said(answer), answer.looked, answer.unlooked) == ([("g0", "Evicts", 2)], 1, 2)
