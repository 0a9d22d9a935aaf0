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


def test_a_late_mark_of_a_plan_that_has_ended(forge: Forge, single: Json) -> None:
    forge.tell(plan("plan", "Aborted", victims=[victim(single)]))
    forge.mark(single)
    assert check("marks_without_plan", forge) == []
