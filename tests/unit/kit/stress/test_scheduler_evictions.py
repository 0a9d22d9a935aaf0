"""The checks of evictions by kube-scheduler find what they look for: each in a forged history, and nothing in a clean
one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.stress import natives, scheduler_evictions
from tests.kit.stress.history import History
from tests.kit.stress.scheduler_evictions import Told
from tests.unit.kit.forged import Forge, Json, evict_for, group, plan, pod, preempted, take, victim
from tests.unit.kit.stress.forged_natives import member, native

ANSWERED = Told({})


def steered(phase: str, *victims: Json, by: str = "Scheduler", **status: Any) -> Json:
    """A plan of the native gang."""
    body = plan("plan", phase, victims=victims, **status)
    return {**body, "spec": {**body["spec"], "evictedBy": by}}


class NativeForge(Forge):
    """A history with native groups."""

    def shown(self) -> History:
        """Ready to be checked."""
        history = self.done()
        natives.show_natives(history)
        return history


def check(name: str, forge: NativeForge, told: Told = ANSWERED) -> list[str]:
    wrong: list[str] = getattr(scheduler_evictions, name)(forge.shown(), told)
    return wrong


@pytest.fixture
def forge() -> NativeForge:
    """The native gang `hero` of priority 100 waits."""
    made = NativeForge()
    made.tell(native("hero"), "ADDED")
    made.tell(member("hero-0", "hero"), "ADDED")
    return made


def wait(forge: NativeForge, seconds: int) -> None:
    """Nothing happens for a while, that matters."""
    for number in range(seconds):
        forge.tell({"kind": "Node", "metadata": {"name": "n9", "uid": "uid-n9"}, "number": number})


def test_a_steered_eviction_is_right(forge: NativeForge) -> None:
    low = forge.tell(pod("low"), "ADDED")
    forge.tell(steered("Planned", victim(low)))
    evict_for(forge, low)
    forge.tell(steered("Evicting", victim(low)))
    forge.tell(steered("Bound", victim(low)))
    history = forge.shown()
    assert [wrong for each in scheduler_evictions.CHECKS for wrong in each(history, ANSWERED)] == []
    assert [str(each) for each in scheduler_evictions.taken(history)] == ["pod d/low"]


def test_a_gang_without_a_plan_evicts_nobody(forge: NativeForge) -> None:
    low = forge.tell(pod("low"), "ADDED")
    evict_for(forge, low)
    expected = ["kube-scheduler evicted pod d/low for d/podgroups.scheduling.k8s.io:hero: it had no plan"]
    assert check("unplanned_evictions", forge) == expected
    assert check("unplanned_evictions", forge, Told({}, holds=False)) == []


def test_a_plan_that_is_younger_than_the_mark_is_no_reason(forge: NativeForge) -> None:
    low = forge.tell(pod("low"), "ADDED")
    take(forge, low)
    forge.tell(preempted(low), "ADDED")
    forge.tell(steered("Planned", victim(low)))
    assert len(check("unplanned_evictions", forge)) == 1


@pytest.mark.parametrize(("seconds", "wrong"), [(2, 0), (15, 1)])
def test_a_plan_that_ended_long_ago_is_no_reason(forge: NativeForge, seconds: int, wrong: int) -> None:
    low = forge.tell(pod("low"), "ADDED")
    forge.tell(steered("Planned", victim(low)))
    forge.tell(steered("Aborted", victim(low)))
    wait(forge, seconds)
    evict_for(forge, low)
    assert len(check("unplanned_evictions", forge)) == wrong


def test_a_driven_plan_is_no_reason(forge: NativeForge) -> None:
    low = forge.tell(pod("low"), "ADDED")
    forge.tell(steered("Evicting", victim(low), by="Reprieve"))
    evict_for(forge, low)
    [wrong] = check("unplanned_evictions", forge)
    assert wrong.endswith("hero: d/plan by Reprieve was Evicting")


def test_a_plan_of_another_gang_is_no_reason(forge: NativeForge) -> None:
    low = forge.tell(pod("low"), "ADDED")
    forge.tell(native("other"), "ADDED")
    forge.tell(steered("Planned", victim(low)))
    evict_for(forge, low, "uid-other")
    assert len(check("unplanned_evictions", forge)) == 1


@pytest.mark.parametrize(("recorded", "wrong"), [(["uid-low"], 0), (["uid-other"], 1), (None, 1)])
def test_a_victim_that_the_plan_does_not_name_is_recorded(
    forge: NativeForge, recorded: list[str] | None, wrong: int
) -> None:
    low, other = forge.tell(pod("low"), "ADDED"), forge.tell(pod("named"), "ADDED")
    forge.tell(steered("Planned", victim(other)))
    evict_for(forge, low)
    forge.tell(steered("Evicting", victim(other), unplanned=recorded))
    assert len(check("unplanned_evictions", forge)) == wrong
    assert scheduler_evictions.unplanned(forge.history) == ["pod d/low"] * (1 - wrong)


def test_a_basic_group_evicts_without_a_plan(forge: NativeForge) -> None:
    forge.tell(native("basic", policy={"basic": {}}), "ADDED")
    low = forge.tell(pod("low"), "ADDED")
    evict_for(forge, low, "uid-basic")
    assert check("unplanned_evictions", forge) == []


def test_an_eviction_for_a_group_that_nobody_names_needs_a_plan(forge: NativeForge) -> None:
    """No event is there yet. Any steered plan may be the reason."""
    low, other = forge.tell(pod("low"), "ADDED"), forge.tell(pod("other"), "ADDED")
    forge.tell(steered("Planned", victim(low)))
    take(forge, low)
    take(forge, other)
    expected = "kube-scheduler evicted pod d/other for a group that is not known: it had no plan"
    assert check("unplanned_evictions", forge) == [expected]


@pytest.mark.parametrize(
    ("told", "basic", "bound", "wrong"),
    [
        (ANSWERED, True, False, 0),
        (ANSWERED, True, True, 1),
        (ANSWERED, False, False, 1),
        (Told({}, holds=False), False, False, 0),
    ],
)
def test_the_scheduler_cannot_always_write_for_whom_it_evicts(
    forge: NativeForge, told: Told, *, basic: bool, bound: bool, wrong: int
) -> None:
    """An event is refused in a namespace that terminates, and there is none if the deletion is refused."""
    forge.tell(native("other", policy={"basic": {}} if basic else {"gang": {"minCount": 1}}), "ADDED")
    forge.tell(member("other-0", "other", node="n0" if bound else None), "ADDED")
    take(forge, forge.tell(pod("low"), "ADDED"))
    assert len(check("unplanned_evictions", forge, told)) == wrong


@pytest.mark.parametrize(("scheduler", "preemptor"), [("second", "podgroup"), ("default-scheduler", "pod")])
def test_other_evictions_are_not_judged(forge: NativeForge, scheduler: str, preemptor: str) -> None:
    """Those by a scheduler that does not know reprieve, and those that preempt allowed."""
    low = forge.tell(pod("low"), "ADDED")
    take(forge, low, scheduler=scheduler, preemptor=preemptor)
    assert scheduler_evictions.taken(forge.shown()) == []


@pytest.mark.parametrize(
    ("pod_name", "ago", "wrong"), [("d/hero-0", 3.0, 0), ("d/hero-0", 30.0, 1), ("d/stranger", 3.0, 1)]
)
def test_what_follows_an_answer_that_was_lost_is_not_judged(
    forge: NativeForge, pod_name: str, ago: float, wrong: int
) -> None:
    low = forge.tell(pod("low"), "ADDED")
    at = forge.now
    evict_for(forge, low)
    told = Told({pod_name: [at + 1.0 - ago]})
    assert len(check("unplanned_evictions", forge, told)) == wrong


def test_what_nobody_watched_is_not_judged(forge: NativeForge) -> None:
    low = forge.tell(pod("low"), "ADDED")
    forge.miss("PreemptionPlan")
    evict_for(forge, low)
    assert check("unplanned_evictions", forge) == []


# ---- units


def unit_of(forge: NativeForge, mode: str = "all") -> list[Json]:
    """A running group of ours with the pods u0 and u1."""
    forge.tell(group("unit", 10, mode=mode), "ADDED")
    return [forge.tell(pod(f"u{number}", group="unit"), "ADDED") for number in range(2)]


@pytest.mark.parametrize("has_plan", [True, False])
def test_the_scheduler_breaks_a_unit(forge: NativeForge, *, has_plan: bool) -> None:
    """Also if a plan says so."""
    unit = unit_of(forge)
    if has_plan:
        forge.tell(steered("Planned", victim(unit[0])))
    evict_for(forge, unit[0])
    [wrong] = check("broken_by_the_scheduler", forge)
    assert wrong.endswith("hero and left ['u1'] of d/unit")


def test_a_unit_of_which_all_go_is_not_broken(forge: NativeForge) -> None:
    for each in unit_of(forge):
        evict_for(forge, each)
    assert check("broken_by_the_scheduler", forge) == []


def test_a_group_that_loses_single_pods_is_no_unit(forge: NativeForge) -> None:
    evict_for(forge, unit_of(forge, "single")[0])
    assert check("broken_by_the_scheduler", forge) == []


def test_the_scheduler_knows_its_own_units(forge: NativeForge) -> None:
    forge.tell(native("unit", 10, mode="all"), "ADDED")
    unit = [forge.tell(member(f"u{number}", "unit", 10, "n0"), "ADDED") for number in range(2)]
    evict_for(forge, unit[0])
    assert check("broken_by_the_scheduler", forge) == []


@pytest.mark.parametrize(("phase", "wrong"), [("Succeeded", 0), ("Running", 1)])
def test_a_pod_that_has_ended_is_not_left(forge: NativeForge, phase: str, wrong: int) -> None:
    unit = unit_of(forge)
    evict_for(forge, unit[0])
    forge.tell({**unit[1], "status": {"phase": phase}})
    assert len(check("broken_by_the_scheduler", forge)) == wrong


# ---- two evictors


@pytest.mark.parametrize(("seconds", "wrong"), [(0, 0), (5, 1)])
def test_reprieve_evicts_what_the_scheduler_has_evicted(forge: NativeForge, seconds: int, wrong: int) -> None:
    """The pod terminates for a while."""
    low = forge.tell(pod("low"), "ADDED")
    marked = forge.tell(take(forge, low), deletionTimestamp="2026-01-01T00:00:00Z")
    wait(forge, seconds)
    forge.ask(forge.mark(marked))
    expected = ["reprieve evicted pod d/low after kube-scheduler had evicted it"]
    assert check("evicted_by_both", forge) == expected[:wrong]


@pytest.mark.parametrize(("seconds", "wrong"), [(0, 0), (5, 1)])
def test_the_scheduler_evicts_what_reprieve_has_evicted(forge: NativeForge, seconds: int, wrong: int) -> None:
    low = forge.tell(pod("low"), "ADDED")
    marked = forge.mark(low)
    forge.ask(marked)
    leaving = forge.tell(marked, deletionTimestamp="2026-01-01T00:00:00Z")
    wait(forge, seconds)
    take(forge, leaving)
    expected = ["kube-scheduler evicted pod d/low after reprieve had evicted it"]
    assert check("evicted_by_both", forge) == expected[:wrong]


def test_a_pod_that_the_scheduler_could_not_delete_is_evicted_later(forge: NativeForge) -> None:
    """The API server refused it. The pod lives on with its mark until a plan evicts it."""
    low = forge.tell(pod("low"), "ADDED")
    marked = take(forge, low)
    wait(forge, 5)
    forge.delete(marked)
    assert check("evicted_by_both", forge) == []
