"""Where a history has a gap, the checks judge only what is known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kit.stress import evictions, marked, vain
from tests.kit.stress.history import Gap
from tests.unit.kit.forged import START, Forge, Json, group, plan, pod, victim


@pytest.fixture
def forge() -> Forge:
    """The gang `hero` of priority 100 waits."""
    made = Forge()
    made.tell(group("hero", 100), "ADDED")
    return made


def wrong(forge: Forge) -> list[str]:
    history = forge.done()
    checks = (*evictions.CHECKS, *marked.CHECKS, vain.too_often_in_vain)
    return [each for check in checks for each in check(history)]


# ---- what a history knows


def test_a_list_tells_what_came_and_what_went(forge: Forge) -> None:
    stays, changes, goes = (forge.tell(pod(name), "ADDED") for name in ("stays", "changes", "goes"))
    changed = {**changes, "metadata": {**changes["metadata"], "resourceVersion": ""}}
    forge.miss("Pod", stays, changed, pod("comes"))
    history = forge.done()
    assert [state.gone for state in history.of("Pod", "uid-goes")] == [False, True]
    assert len(history.of("Pod", "uid-stays")) == 1
    assert len(history.of("Pod", "uid-changes")) == 2
    assert len(history.of("Pod", "uid-comes")) == 1
    assert history.gaps == [Gap("Pod", 4, 14)]
    known = {
        name: history.knows("Pod", f"uid-{name}", 5, 6) for name in ("stays", "changes", "goes", "comes")
    }
    assert known == {"stays": True, "changes": False, "goes": False, "comes": False}
    assert history.knows("Pod", "uid-goes", 0, 4)
    assert history.knows("Pod", "uid-goes", 14, 20)
    assert history.knows("Node", "uid-goes", 0, 20), "that kind was watched"
    assert history.has_gap(0, 5)
    assert not history.has_gap(0, 4)
    assert not history.has_gap(14, 20)
    assert not goes["metadata"].get("deletionTimestamp")


def test_what_another_watch_told_before_the_cut_this_one_had_told(forge: Forge) -> None:
    """A kind that is quiet has not been unwatched since its last event."""
    forge.tell(pod("single"), "ADDED")
    forge.tell(pod("other"), "ADDED")
    forge.history.list_anew("Node", [], cut=START + 3, version=9, at=START + 8)
    assert forge.history.gaps == [Gap("Node", 2, 9)], "the third came less than a second before"


def test_gaps_are_written_before_the_states(forge: Forge, tmp_path: Path) -> None:
    forge.miss("Pod")
    forge.done().write(tmp_path / "history.jsonl")
    first, *states = map(json.loads, (tmp_path / "history.jsonl").read_text().splitlines())
    assert first == {"gap": "Pod", "first": 1, "last": 11}
    assert [each["kind"] for each in states] == ["PodGroup"]


# ---- deletions


def evicting(forge: Forge, name: str = "single") -> tuple[Json, Json]:
    """A pod that a plan evicts, and the plan as it is stored."""
    made = forge.tell(pod(name), "ADDED")
    return made, forge.tell(plan("plan", "Evicting", victims=[victim(made)]))


def test_what_has_not_changed_in_a_gap_is_judged(forge: Forge) -> None:
    single = forge.tell(pod("single"), "ADDED")
    told = forge.tell(plan("plan", "Confirmed", victims=[victim(single)]))
    hero = forge.history.of("PodGroup", "uid-hero")[-1].body
    forge.miss("PreemptionPlan", told)
    forge.miss("PodGroup", hero)
    forge.miss("Pod", single)
    forge.delete(single)
    found = wrong(forge)
    assert len(found) == 2, found
    assert found[0].startswith("pod d/single was deleted without a plan that evicts it")
    assert found[1] == "pod d/single was marked, and no plan evicted it"


@pytest.mark.parametrize("seen", [True, False])
def test_a_plan_that_may_have_evicted_in_a_gap(forge: Forge, seen: bool) -> None:
    single = forge.tell(pod("single"), "ADDED")
    ended = plan("plan", "Aborted", victims=[victim(single)])
    forge.tell(plan("plan", "Confirmed", victims=[victim(single)]))
    if seen:
        forge.tell(ended)
    else:
        forge.miss("PreemptionPlan", ended)
    forge.delete(single)
    assert bool(wrong(forge)) == seen


@pytest.mark.parametrize("seen", [True, False])
def test_a_plan_that_may_have_come_and_gone_in_a_gap(forge: Forge, seen: bool) -> None:
    single = forge.tell(pod("single"), "ADDED")
    if not seen:
        forge.miss("PreemptionPlan")
    forge.delete(single)
    assert bool(wrong(forge)) == seen


@pytest.mark.parametrize("seen", [True, False])
def test_a_pod_that_may_have_been_marked_in_a_gap(forge: Forge, seen: bool) -> None:
    single, _ = evicting(forge)
    forge.ask(single)
    if seen:
        forge.tell(single, "DELETED")
    else:
        forge.miss("Pod")
    assert bool(wrong(forge)) == seen


@pytest.mark.parametrize("seen", [True, False])
def test_a_version_that_may_have_been_in_a_gap(forge: Forge, seen: bool) -> None:
    """Somebody wrote the pod twice; the mark is in the second version."""
    single, _ = evicting(forge)
    marked_pod = forge.mark(single)
    forge.history.states["Pod"]["uid-single"].pop()
    if not seen:
        forge.miss("Pod", marked_pod)
    else:
        forge.mark(single, 2)
    forge.ask(marked_pod)
    forge.tell(marked_pod, "DELETED")
    assert bool(wrong(forge)) == seen


@pytest.mark.parametrize("seen", [True, False])
def test_a_priority_that_may_have_changed_in_a_gap(forge: Forge, seen: bool) -> None:
    forge.tell(group("low", 100), "ADDED")
    member = forge.tell(pod("m", 10, group="low"), "ADDED")
    forge.tell(plan("plan", "Evicting", victims=[victim(member)]))
    if not seen:
        forge.miss("PodGroup", group("hero", 100), group("low", 100))
    forge.delete(member)
    assert bool(wrong(forge)) == seen


@pytest.mark.parametrize("seen", [True, False])
def test_a_word_about_a_unit_may_have_been_said_in_a_gap(forge: Forge, seen: bool) -> None:
    forge.tell(group("unit", 10, mode="all"), "ADDED")
    pods = [forge.tell(pod(f"u{each}", 10, group="unit"), "ADDED") for each in range(2)]
    forge.tell(plan("plan", "Evicting", victims=[victim(*pods, unit="unit")]))
    forge.delete(pods[0])
    forge.now += 10
    if not seen:
        forge.miss("PodGroup", group("unit", 10, mode="all"))
    assert bool(wrong(forge)) == seen


@pytest.mark.parametrize("seen", [True, False])
def test_a_gang_may_have_run_in_a_gap(forge: Forge, seen: bool) -> None:
    """Three plans in vain are wrong."""
    for number in range(3):
        single = forge.tell(pod(f"single-{number}", node=f"n{number}"), "ADDED")
        named = victim(single)
        named["pods"][0]["node"] = f"n{number}"
        for phase in ("Evicting", "Aborted"):
            told = plan(f"plan-{number}", phase, victims=[named])
            told["spec"]["placements"] = [
                {"pod": "m", "uid": "uid-m", "node": f"n{number}", "beyondMinCount": False}
            ]
            forge.tell(told)
            if phase == "Evicting":
                forge.delete(single)
        if number == 0 and not seen:
            forge.miss("Node")
    assert bool(wrong(forge)) == seen
