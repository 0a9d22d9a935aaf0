"""The checks of a stress run find what they look for: each in a forged history, and nothing in a clean one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.stress import evictions, vain
from tests.kit.stress.history import asked_deletions
from tests.unit.kit.forged import USER, Forge, Json, audited, group, plan, pod, victim


def check(name: str, forge: Forge) -> list[str]:
    wrong: list[str] = getattr(evictions, name)(forge.done())
    return wrong


@pytest.fixture
def forge() -> Forge:
    """The gang `hero` of priority 100 waits."""
    made = Forge()
    made.tell(group("hero", 100), "ADDED")
    return made


def unit_of(forge: Forge, count: int, *, priority: int = 10, mode: str = "all") -> list[Json]:
    """A running group with its pods u0, u1 and so on."""
    forge.tell(group("unit", priority, mode=mode), "ADDED")
    return [forge.tell(pod(f"u{number}", priority, group="unit"), "ADDED") for number in range(count)]


def evict(forge: Forge, pods: list[Json], *victims: Json, end: str = "Bound", **status: Any) -> None:
    """A plan's whole life."""
    for phase in ("Planned", "Confirmed", "Evicting"):
        forge.tell(plan("plan", phase, victims=victims, **status))
    for each in pods:
        forge.delete(each)
    forge.tell(plan("plan", end, victims=victims, **status))


def all_wrong(forge: Forge) -> list[str]:
    history = forge.done()
    return [wrong for each in (*evictions.CHECKS, vain.too_often_in_vain) for wrong in each(history)]


def test_a_clean_history_passes_every_check(forge: Forge) -> None:
    single = forge.tell(pod("single"), "ADDED")
    unit = unit_of(forge, 3)
    evict(forge, [single, *unit], victim(single), victim(*unit, unit="unit"))
    forge.tell(pod("member", 100, group="hero"), "ADDED")
    assert all_wrong(forge) == []
    assert vain.in_vain(forge.history) == {}


def test_a_pod_of_a_unit_stays(forge: Forge) -> None:
    unit = unit_of(forge, 3)
    evict(forge, unit[:2], victim(*unit, unit="unit"), end="Aborted")
    assert check("broken_units", forge) == ["plan d/plan left ['u2'] of d/unit"]


def test_a_pod_of_a_unit_that_the_plan_did_not_know_stays(forge: Forge) -> None:
    unit = unit_of(forge, 3)
    evict(forge, unit[:2], victim(*unit[:2], unit="unit"))
    assert check("broken_units", forge) == ["plan d/plan left ['u2'] of d/unit"]


def test_a_pod_of_a_unit_that_came_back_is_another_one(forge: Forge) -> None:
    unit = unit_of(forge, 2)
    evict(forge, unit, victim(*unit, unit="unit"))
    forge.tell(unit[0], "ADDED", uid="uid-other")
    assert check("broken_units", forge) == []


def test_a_pod_of_a_unit_that_terminates_is_on_its_way(forge: Forge) -> None:
    unit = unit_of(forge, 2)
    evict(forge, unit[:1], victim(*unit, unit="unit"))
    forge.tell(unit[1], deletionTimestamp="2026-01-01T00:00:00Z")
    assert check("broken_units", forge) == []


@pytest.mark.parametrize(("phase", "wrong"), [("Succeeded", 0), ("Failed", 0), ("Running", 1)])
def test_a_pod_of_a_unit_that_has_ended_is_not_left(forge: Forge, phase: str, wrong: int) -> None:
    """It is still there, and it ended a moment before the others were evicted."""
    unit = unit_of(forge, 2)
    evict(forge, unit[:1], victim(*unit[:1], unit="unit"))
    forge.tell({**unit[1], "status": {"phase": phase}})
    assert len(check("broken_units", forge)) == wrong


def test_a_unit_of_which_nobody_was_deleted_is_whole(forge: Forge) -> None:
    unit = unit_of(forge, 2)
    evict(forge, [], victim(*unit, unit="unit"), end="Aborted")
    assert check("broken_units", forge) == []


def stopped_event(named: str) -> Json:
    return {
        "kind": "Event",
        "metadata": {"namespace": "d", "name": "event", "uid": "uid-event"},
        "reason": "PreemptionStopped",
        "regarding": {"kind": "PodGroup", "namespace": "d", "name": "unit"},
        "note": f"plan plan stopped: no; still there: {named}",
    }


@pytest.mark.parametrize("withheld", [{}, {"namespace": "", "name": ""}], ids=["named", "withheld"])
@pytest.mark.parametrize(("named", "wrong"), [("u1, u2", 0), ("u1", 1)])
def test_a_pod_that_stays_is_named(forge: Forge, named: str, wrong: int, withheld: Json) -> None:
    """Also if the plan is of another namespace, and does not name the unit."""
    unit = unit_of(forge, 3)
    evict(forge, unit[:1], {**victim(*unit, unit="unit"), **withheld}, end="Aborted")
    forge.tell(stopped_event(named), "ADDED")
    assert len(check("broken_units", forge)) == wrong


def test_a_condition_may_name_it_too(forge: Forge) -> None:
    unit = unit_of(forge, 2)
    evict(forge, unit[:1], victim(*unit, unit="unit"), end="Aborted")
    said = {"type": "DisruptionTarget", "reason": "PreemptionStopped", "message": "still there: u1"}
    forge.tell({**group("unit", 10, mode="all"), "status": {"conditions": [said]}})
    assert check("broken_units", forge) == []


@pytest.mark.parametrize("priority", [100, 1000])
def test_a_victim_is_as_important_as_its_preemptor(forge: Forge, priority: int) -> None:
    single = forge.tell(pod("single", priority), "ADDED")
    evict(forge, [single], victim(single))
    assert len(check("unlawful_victims", forge)) == 1


def test_in_single_mode_the_groups_priority_counts(forge: Forge) -> None:
    forge.tell(group("unit", 100, mode="single"), "ADDED")
    member = forge.tell(pod("u0", 10, group="unit"), "ADDED")
    evict(forge, [member], victim(member))
    assert len(check("unlawful_victims", forge)) == 1


def test_in_all_mode_the_lowest_priority_counts(forge: Forge) -> None:
    forge.tell(group("unit", 1000, mode="all"), "ADDED")
    unit = [forge.tell(pod(f"u{each}", each, group="unit"), "ADDED") for each in (10, 1000)]
    evict(forge, unit[:1], victim(*unit, unit="unit"))
    assert check("unlawful_victims", forge) == []


def test_a_priority_that_rose_this_moment_cannot_be_known(forge: Forge) -> None:
    forge.tell(group("unit", 10, mode="single"), "ADDED")
    member = forge.tell(pod("u0", 1000, group="unit"), "ADDED")
    forge.tell(plan("plan", "Evicting", victims=[victim(member)]))
    forge.tell(group("unit", 10, mode="single"), "DELETED")
    forge.delete(member)
    assert check("unlawful_victims", forge) == []


def test_a_priority_that_rose_long_ago_is_known(forge: Forge) -> None:
    forge.tell(group("unit", 10, mode="single"), "ADDED")
    member = forge.tell(pod("u0", 1000, group="unit"), "ADDED")
    forge.tell(plan("plan", "Evicting", victims=[victim(member)]))
    forge.tell(group("unit", 10, mode="single"), "DELETED")
    forge.now += 10
    forge.delete(member)
    assert len(check("unlawful_victims", forge)) == 1


def test_a_deletion_without_any_plan(forge: Forge) -> None:
    forge.delete(forge.tell(pod("single"), "ADDED"))
    assert check("unplanned_deletions", forge) == [
        "pod d/single was deleted without a plan that evicts it: no plan names it"
    ]


@pytest.mark.parametrize("phase", ["Planned", "Confirmed", "Ready", "Aborted"])
def test_a_deletion_for_a_plan_that_does_not_evict(forge: Forge, phase: str) -> None:
    single = forge.tell(pod("single"), "ADDED")
    forge.tell(plan("plan", phase, victims=[victim(single)]))
    forge.now += 10
    forge.delete(single)
    assert check("unplanned_deletions", forge) == [
        f"pod d/single was deleted without a plan that evicts it: d/plan was {phase}"
    ]


def test_a_deletion_for_a_plan_that_has_just_ended(forge: Forge) -> None:
    single = forge.tell(pod("single"), "ADDED")
    forge.tell(plan("plan", "Evicting", victims=[victim(single)]))
    forge.tell(plan("plan", "Aborted", victims=[victim(single)]))
    forge.delete(single)
    assert check("unplanned_deletions", forge) == []


@pytest.mark.parametrize(("begun", "wrong"), [(["uid-unit"], 0), ([], 1)])
def test_a_unit_that_has_begun_is_finished_after_its_plan(forge: Forge, begun: list[str], wrong: int) -> None:
    unit = unit_of(forge, 2)
    whole = victim(*unit, unit="unit")
    evict(forge, unit[:1], whole, end="Aborted", begun=begun)
    forge.now += 10
    forge.delete(unit[1])
    assert len(check("unplanned_deletions", forge)) == wrong
    assert check("broken_units", forge) == []


def test_a_pod_is_deleted_twice_for_one_plan(forge: Forge) -> None:
    single = forge.tell(pod("single"), "ADDED")
    forge.tell(plan("plan", "Evicting", victims=[victim(single)]))
    forge.ask(single)
    forge.delete(single)
    assert check("repeated_deletions", forge) == ["plan d/plan asked 2 times for pod d/single"]


# ---- the audit log


def test_granted_deletions_of_pods_are_read_from_the_audit_log() -> None:
    lines = [
        audited("one"),
        audited("dry", dryRun=["All"]),
        audited("refused", code=409),
        audited("stranger", user="somebody"),
        audited("a-plan", resource="preemptionplans"),
        audited("one").replace('"verb":"delete"', '"verb":"patch"'),
    ]
    (asked,) = asked_deletions(lines, USER)
    assert (asked.uid, asked.namespace, asked.name) == ("uid-one", "d", "one")
    assert asked.answered - asked.received == 0.25


def release(forge: Forge, group_name: str, *, ran: bool = False) -> None:
    """A plan releases a bound pod of a group for the gang `hero`, which may have run whole."""
    member = forge.tell(pod("member", 100, group=group_name), "ADDED")
    if ran:
        said = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled"}
        forge.tell({**group("hero", 100), "status": {"conditions": [said]}})
    unit = victim(member, unit="hero")
    for phase in ("Planned", "Evicting"):
        told = plan("plan", phase, victims=[unit])
        told["spec"]["outcome"] = "Releases"
        forge.tell(told)
    forge.delete(member)
    told = plan("plan", "Released", victims=[unit])
    told["spec"]["outcome"] = "Releases"
    forge.tell(told)


def test_a_gang_that_never_ran_whole_may_be_released(forge: Forge) -> None:
    release(forge, "hero")
    assert all_wrong(forge) == []
    assert vain.in_vain(forge.history) == {}


@pytest.mark.parametrize(
    ("group_name", "ran", "why"),
    [("hero", True, "whose gang has run whole"), ("other", False, "which is no member of its gang")],
)
def test_nobody_else_may_be_released(forge: Forge, group_name: str, ran: bool, why: str) -> None:
    forge.tell(group("other", 10), "ADDED")
    release(forge, group_name, ran=ran)
    assert check("unlawful_releases", forge) == [f"plan d/plan released pod d/member, {why}"]
