"""Evictions in vain are found by the later state of pods and nodes, whatever the plans say of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.stress import vain
from tests.unit.kit.forged import Forge, Json, evict_for, group, node, plan, pod, victim

HERO = "d/hero (uid-hero)"


@pytest.fixture
def forge() -> Forge:
    """The gang `hero` of one pod and priority 100 waits. There are two nodes."""
    made = Forge()
    for name in ("n0", "n1"):
        body = node(name)
        body["metadata"]["uid"] = f"uid-{name}"
        made.tell({**body, "kind": "Node"}, "ADDED")
    made.tell(group("hero", 100), "ADDED", generation=1)
    made.tell(pod("m", 100, node=None, group="hero"), "ADDED")
    return made


def placed(where: str = "n0", name: str = "m") -> list[Json]:
    return [{"pod": name, "uid": f"uid-{name}", "node": where, "beyondMinCount": False}]


def of_plan(forge: Forge, name: str, phase: str, *victims: Json, where: str = "n0", **spec: Any) -> None:
    told = plan(name, phase, preemptor=spec.pop("preemptor", "hero"), victims=victims)
    told["spec"] |= {"placements": placed(where), **spec}
    forge.tell(told)


def attempt(
    forge: Forge,
    name: str,
    *,
    where: str = "n0",
    phase: str = "Aborted",
    evicts: bool = True,
    bound: bool = False,
    **spec: Any,
) -> None:
    """A plan of hero that evicts one pod, if it evicts, and ends."""
    single = forge.tell(pod(f"pod-{name}", node=where), "ADDED")
    named = victim(single)
    named["pods"][0]["node"] = where
    of_plan(forge, name, "Evicting", named, where=where, **spec)
    if evicts:
        forge.delete(single)
    if bound:
        forge.tell(pod("m", 100, node=where, group="hero"))
    of_plan(forge, name, phase, named, where=where, **spec)


def attempts(forge: Forge, count: int) -> None:
    """`count` in vain: on another node each time, so that none uses the room of the one before."""
    for number in range(count):
        attempt(forge, f"plan-{number}", where=f"n{number % 2}")


def found(forge: Forge) -> list[str]:
    return vain.in_vain(forge.done()).get(HERO, [])


def too_often(forge: Forge) -> list[str]:
    return vain.too_often_in_vain(forge.done())


def steer(forge: Forge, name: str, where: str, by: str = "Scheduler") -> None:
    """A steered plan of hero by which kube-scheduler evicts one pod, and that ends."""
    single = forge.tell(pod(f"pod-{name}", node=where), "ADDED")
    named = victim(single)
    named["pods"][0]["node"] = where
    of_plan(forge, name, "Planned", named, where=where, evictedBy=by)
    evict_for(forge, single, "uid-hero")
    of_plan(forge, name, "Aborted", named, where=where, evictedBy=by)


@pytest.mark.parametrize(("by", "wrong"), [("Scheduler", 1), ("Reprieve", 0)])
def test_what_kube_scheduler_evicts_by_a_steered_plan_counts(forge: Forge, by: str, wrong: int) -> None:
    for number in range(3):
        steer(forge, f"plan-{number}", f"n{number % 2}", by)
    assert found(forge) == [f"d/plan-{number}" for number in range(3 * wrong)]
    assert len(too_often(forge)) == wrong


# ---- what is in vain


def test_plans_that_come_to_nothing_are_in_vain(forge: Forge) -> None:
    attempt(forge, "one")
    attempt(forge, "two", where="n1", phase="Expired")
    attempt(forge, "three", evicts=False)
    assert found(forge) == ["d/one", "d/two"]


def test_a_gang_that_runs_is_not_evicted_for_in_vain(forge: Forge) -> None:
    attempt(forge, "one", phase="Bound", bound=True)
    assert found(forge) == []


def test_a_plan_that_calls_itself_bound_is_in_vain_all_the_same(forge: Forge) -> None:
    attempt(forge, "one", phase="Bound")
    assert found(forge) == ["d/one"]


def test_a_gang_that_was_bound_while_nobody_looked(forge: Forge) -> None:
    forge.tell(pod("m", 100, node="n0", group="hero"))
    forge.tell(pod("m", 100, node="n0", group="hero"), "DELETED")
    attempt(forge, "one")
    assert found(forge) == []


def test_a_plan_that_has_not_ended_is_not_judged(forge: Forge) -> None:
    attempt(forge, "one", phase="Ready")
    assert found(forge) == []


def test_a_victim_that_goes_after_the_end_counts(forge: Forge) -> None:
    single = forge.tell(pod("single"), "ADDED")
    of_plan(forge, "one", "Evicting", victim(single))
    of_plan(forge, "one", "Aborted", victim(single))
    forge.delete(single)
    assert found(forge) == ["d/one"]


def test_a_victim_goes_for_the_plan_that_evicts_it(forge: Forge) -> None:
    single = forge.tell(pod("single"), "ADDED")
    of_plan(forge, "one", "Planned", victim(single))
    of_plan(forge, "one", "Aborted", victim(single))
    of_plan(forge, "two", "Evicting", victim(single))
    forge.delete(single)
    of_plan(forge, "two", "Aborted", victim(single))
    assert found(forge) == ["d/two"]


def test_a_plan_that_only_waits_evicts_nobody(forge: Forge) -> None:
    """Two gangs may plan with the same victim: the one of higher priority does not see the other's promise."""
    single = forge.tell(pod("single"), "ADDED")
    of_plan(forge, "one", "Evicting", victim(single))
    of_plan(forge, "other", "Planned", victim(single), preemptor="other")
    forge.delete(single)
    of_plan(forge, "other", "Aborted", victim(single), preemptor="other")
    of_plan(forge, "one", "Aborted", victim(single))
    assert vain.in_vain(forge.done()) == {HERO: ["d/one"]}


def test_the_same_plan_counts_for_each_time_that_it_evicts(forge: Forge) -> None:
    pods = [forge.tell(pod(name), "ADDED") for name in ("first", "second")]
    victims = [victim(each) for each in pods]
    for each in pods:
        of_plan(forge, "one", "Evicting", *victims)
        forge.delete(each)
        of_plan(forge, "one", "Aborted", *victims)
        change_node(forge, "n0", taints=[{"key": each["metadata"]["name"], "effect": "NoSchedule"}])
    assert found(forge) == ["d/one", "d/one"]


@pytest.mark.parametrize("before", [True, False])
def test_the_group_is_gone_before_the_plan_ends(forge: Forge, before: bool) -> None:
    """A word of ours about it counts for nothing."""
    if before:
        single = forge.tell(pod("single"), "ADDED")
        of_plan(forge, "one", "Evicting", victim(single))
        forge.delete(single)
        forge.tell(group("hero", 100), "DELETED")
        of_plan(forge, "one", "Aborted", victim(single))
    else:
        attempt(forge, "one")
        forge.tell(group("hero", 100), "DELETED")
    assert found(forge) == ([] if before else ["d/one"])


@pytest.mark.parametrize(
    ("priority", "where", "excused"), [(1000, "n0", True), (100, "n0", False), (1000, "n1", False)]
)
def test_the_room_is_handed_over(forge: Forge, priority: int, where: str, excused: bool) -> None:
    """To whoever has a higher priority and plans there."""
    forge.tell(group("other", priority), "ADDED")
    single = forge.tell(pod("single"), "ADDED")
    of_plan(forge, "one", "Evicting", victim(single))
    forge.delete(single)
    of_plan(forge, "other", "Planned", where=where, preemptor="other")
    of_plan(forge, "one", "Aborted", victim(single))
    assert found(forge) == ([] if excused else ["d/one"])


def test_whoever_planned_before_has_taken_nothing(forge: Forge) -> None:
    forge.tell(group("other", 1000), "ADDED")
    of_plan(forge, "other", "Planned", preemptor="other")
    attempt(forge, "one")
    assert found(forge) == ["d/one"]


# ---- the next plan goes on


def next_plan(forge: Forge, where: str, victim_on: str) -> list[str]:
    """A second plan of hero. Returns the plans in vain; the second one always is."""
    single = forge.tell(pod("more", node=victim_on), "ADDED")
    named = victim(single)
    named["pods"][0]["node"] = victim_on
    of_plan(forge, "two", "Evicting", named, where=where)
    forge.delete(single)
    of_plan(forge, "two", "Aborted", named, where=where)
    return found(forge)


@pytest.mark.parametrize(
    ("where", "victim_on", "goes_on"),
    [("n0", "n1", True), ("n1", "n1", False), ("n0", "n0", False)],
    ids=["there", "elsewhere", "somebody new goes there"],
)
def test_the_next_plan_goes_on_with_the_room(forge: Forge, where: str, victim_on: str, goes_on: bool) -> None:
    attempt(forge, "one")
    assert next_plan(forge, where, victim_on) == (["d/two"] if goes_on else ["d/one", "d/two"])


def test_a_node_that_changed_is_no_room_to_go_on_with(forge: Forge) -> None:
    attempt(forge, "one")
    change_node(forge, "n0")
    assert next_plan(forge, "n0", "n1") == ["d/one", "d/two"]


def test_the_rest_of_a_gang_goes_on(forge: Forge) -> None:
    """One member has settled in the room, so the next plan is not about it."""
    forge.tell(group("hero", 100, minimum=2), generation=1)
    attempt(forge, "one")
    forge.tell(pod("settled", 100, node="n0", group="hero"), "ADDED")
    assert next_plan(forge, "n1", "n1") == ["d/two"]


# ---- too often


def change_node(forge: Forge, name: str, **spec: Any) -> None:
    body = node(name)
    body["spec"] = spec or {"unschedulable": True}
    forge.tell({**body, "kind": "Node"}, uid=f"uid-{name}")


def test_two_plans_in_vain_are_allowed(forge: Forge) -> None:
    attempts(forge, 2)
    assert too_often(forge) == []


def test_a_third_plan_in_vain_is_wrong(forge: Forge) -> None:
    attempts(forge, 3)
    assert too_often(forge) == [f"gang {HERO}: plan d/plan-2 evicted in vain, the 3. time"]


def test_our_own_verdict_excuses_nothing(forge: Forge) -> None:
    for number in range(3):
        single = forge.tell(pod(f"single-{number}", node=f"n{number % 2}"), "ADDED")
        named, where = victim(single), f"n{number % 2}"
        named["pods"][0]["node"] = where
        of_plan(forge, f"plan-{number}", "Evicting", named, where=where)
        forge.delete(single)
        ended = plan(f"plan-{number}", "Bound", victims=[named], reason="Overrun")
        ended["status"]["conditions"] += [{"type": "InVain", "status": "False", "reason": "Continued"}]
        ended["spec"]["placements"] = placed(where)
        forge.tell(ended)
    assert len(too_often(forge)) == 1


def test_a_gang_that_ran_begins_anew(forge: Forge) -> None:
    attempts(forge, 2)
    attempt(forge, "good", phase="Bound", bound=True)
    forge.tell(pod("m", 100, node=None, group="hero"))
    for number, where in enumerate(("n0", "n1")):
        attempt(forge, f"again-{number}", where=where)
    assert too_often(forge) == []


@pytest.mark.parametrize(("generation", "wrong"), [(2, 0), (1, 1)])
def test_a_group_that_changes_may_try_once_more(forge: Forge, generation: int, wrong: int) -> None:
    """Its spec; anything else of it is no change."""
    attempts(forge, 2)
    forge.now += 10
    forge.tell(group("hero", 100), generation=generation, labels={"other": "label"})
    attempt(forge, "third")
    assert len(too_often(forge)) == wrong


def test_after_a_change_somebody_may_go_once(forge: Forge) -> None:
    attempts(forge, 2)
    forge.now += 10
    forge.tell(group("hero", 100), generation=2)
    attempt(forge, "third")
    forge.now += 10
    attempt(forge, "fourth", where="n1")
    assert too_often(forge) == [f"gang {HERO}: plan d/fourth evicted in vain, the 4. time"]


@pytest.mark.parametrize(("excluded", "wrong"), [("n1", 0), ("n0", 1)])
def test_a_node_that_was_left_out_changes(forge: Forge, excluded: str, wrong: int) -> None:
    """Another node that changes says nothing."""
    attempts(forge, 2)
    of_plan(forge, "no", "Unschedulable", excluded=[{"pod": "d/m", "node": excluded, "seen": "refused"}])
    forge.now += 10
    change_node(forge, "n1")
    attempt(forge, "third")
    assert len(too_often(forge)) == wrong


def test_a_node_that_only_beats_has_not_changed(forge: Forge) -> None:
    attempts(forge, 2)
    of_plan(forge, "no", "Unschedulable", excluded=[{"pod": "d/m", "node": "n1", "seen": "refused"}])
    forge.now += 10
    forge.tell({**node("n1"), "kind": "Node"}, uid="uid-n1", annotations={"beat": "1"})
    attempt(forge, "third")
    assert len(too_often(forge)) == 1


def test_half_an_hour_later_somebody_may_go_again(forge: Forge) -> None:
    attempts(forge, 2)
    forge.now += vain.FORGET_SECONDS
    attempt(forge, "third")
    assert too_often(forge) == []
