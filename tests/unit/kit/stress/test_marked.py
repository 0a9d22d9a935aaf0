"""The checks of marks find what they look for, each in a forged history, and nothing in a clean one."""

from __future__ import annotations

import pytest

from tests.kit.stress import marked
from tests.unit.kit.forged import Forge, Json, group, plan, pod, victim


def check(name: str, forge: Forge) -> list[str]:
    wrong: list[str] = getattr(marked, name)(forge.done())
    return wrong


@pytest.fixture
def forge() -> Forge:
    made = Forge()
    made.tell(group("hero", 100), "ADDED")
    return made


@pytest.fixture
def single(forge: Forge) -> Json:
    """A victim whose plan evicts."""
    made = forge.tell(pod("single"), "ADDED")
    forge.tell(plan("plan", "Evicting", victims=[victim(made)]))
    return made


def test_a_clean_history_passes_every_check(forge: Forge, single: Json) -> None:
    forge.delete(single)
    forge.tell(plan("plan", "Bound", victims=[victim(single)]))
    history = forge.done()
    assert [wrong for each in marked.CHECKS for wrong in each(history)] == []


def test_a_deletion_without_mark(forge: Forge, single: Json) -> None:
    forge.ask(single)
    forge.tell(single, "DELETED")
    assert len(check("deletions_without_mark", forge)) == 1


def test_a_mark_that_was_withdrawn_is_none(forge: Forge, single: Json) -> None:
    forge.mark(single)
    forge.ask(forge.tell(single))
    forge.tell(single, "DELETED")
    assert len(check("deletions_without_mark", forge)) == 1


def test_a_deletion_that_names_no_version(forge: Forge, single: Json) -> None:
    made = forge.mark(single)
    forge.ask({**made, "metadata": {**made["metadata"], "resourceVersion": ""}})
    forge.tell(made, "DELETED")
    assert len(check("deletions_of_another_mark", forge)) == 1


def test_a_deletion_of_a_mark_that_another_term_has_replaced(forge: Forge, single: Json) -> None:
    old = forge.mark(single)
    forge.mark(single, 2)
    forge.ask(old)
    forge.tell(old, "DELETED")
    assert len(check("deletions_of_another_mark", forge)) == 1


def test_a_mark_before_the_plan_evicts(forge: Forge) -> None:
    made = forge.tell(pod("single"), "ADDED")
    forge.tell(plan("plan", "Confirmed", victims=[victim(made)]))
    forge.mark(made)
    assert len(check("marks_without_plan", forge)) == 1


def test_a_mark_by_nobodys_plan(forge: Forge) -> None:
    forge.mark(forge.tell(pod("single"), "ADDED"))
    assert len(check("marks_without_plan", forge)) == 1


def test_the_schedulers_own_mark_is_not_ours(forge: Forge) -> None:
    forge.mark(forge.tell(pod("single"), "ADDED"), None)
    assert check("marks_without_plan", forge) == []


def lease(number: int, holder: str) -> Json:
    """The Lease of reprieve."""
    meta = {"namespace": "reprieve-system", "name": "reprieve", "uid": "uid-lease"}
    spec = {"holderIdentity": holder, "leaseTransitions": number}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": meta,
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("holder", "later", "wrong"),
    [("another", 10.0, 1), ("another", 1.0, 0), ("nobody", 10.0, 1), ("", 10.0, 1), ("one", 10.0, 0)],
    ids=["late", "on its way", "created for nobody", "released", "its own"],
)
def test_a_mark_of_a_term_that_has_ended(
    forge: Forge, single: Json, holder: str, later: float, wrong: int
) -> None:
    forge.tell(lease(1, "one"), "ADDED")
    forge.tell(lease(2, holder))
    forge.now += later
    forge.mark(single, 1)
    assert len(check("marks_without_lease", forge)) == wrong


def test_a_lease_that_was_deleted_ends_the_term(forge: Forge, single: Json) -> None:
    forge.tell(lease(1, "one"), "ADDED")
    forge.tell(lease(1, "one"), "DELETED")
    forge.now += 10
    forge.mark(single, 1)
    assert len(check("marks_without_lease", forge)) == 1


def test_terms_that_are_counted_anew(forge: Forge, single: Json) -> None:
    """The Lease was deleted, and no process was left that knew it."""
    forge.tell(lease(3, "former"), "ADDED")
    forge.tell(lease(3, "former"), "DELETED")
    forge.tell(lease(1, "one"), "ADDED", uid="uid-lease-2")
    forge.now += 10
    forge.mark(single, 1)
    assert check("marks_without_lease", forge) == []


def test_a_holder_that_the_lease_never_named_has_no_election(forge: Forge, single: Json) -> None:
    forge.tell(lease(1, "another"), "ADDED")
    forge.now += 10
    forge.mark(single, 1)
    assert check("marks_without_lease", forge) == []


def test_who_had_the_lease_in_a_gap_is_not_known(forge: Forge, single: Json) -> None:
    forge.tell(lease(1, "one"), "ADDED")
    other = forge.tell(lease(2, "another"))
    forge.miss("Lease", other)
    forge.mark(single, 1)
    assert check("marks_without_lease", forge) == []


def test_a_mark_that_only_stays_is_not_late(forge: Forge, single: Json) -> None:
    forge.tell(lease(1, "one"), "ADDED")
    made = forge.mark(single, 1)
    forge.tell(lease(2, "another"))
    forge.now += 10
    forge.tell(made, labels={"new": "label"})
    assert check("marks_without_lease", forge) == []


@pytest.mark.parametrize(
    ("conditions", "wrong"),
    [
        ([{"type": "DisruptionTarget", "status": "False", "reason": "PreemptionByScheduler"}], 1),
        ([], 0),
    ],
    ids=["by the disruption controller", "by us"],
)
def test_a_mark_that_is_taken_off(forge: Forge, single: Json, conditions: list[Json], wrong: int) -> None:
    made = forge.mark(single)
    forge.tell({**made, "status": {**made["status"], "conditions": conditions}})
    assert len(check("marks_that_others_removed", forge)) == wrong


def test_a_late_mark_of_a_plan_that_has_ended(forge: Forge, single: Json) -> None:
    forge.tell(plan("plan", "Aborted", victims=[victim(single)]))
    forge.mark(single)
    assert check("marks_without_plan", forge) == []
