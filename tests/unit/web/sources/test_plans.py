"""Stored plans: what they hold is known plan by plan."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import msgspec
import pytest

from api.plans import PreemptionPlan
from api.stored_plans import carried_out
from nodes.answers.picture import room_of
from tests.kit.answers.rooms import plan
from web.sources import plans as module
from web.sources.plans import KeptPlans, WholeSpecs

PHASES = ("Planned", "Evicting", "Ready", "Bound", "Aborted")


def made(name: str, preemptor: str, namespace: str, phase: str, second: int) -> PreemptionPlan:
    item = plan(preemptor, namespace, phase, {f"{preemptor}-0": "n1"}, [])
    item["metadata"] |= {
        "name": name,
        "uid": f"uid-{name}",
        "creationTimestamp": f"2026-03-01T12:00:{second:02}Z",
    }
    return msgspec.convert(item, PreemptionPlan)


@pytest.mark.parametrize("seed", range(20))
def test_what_plans_hold_is_what_all_of_them_say(seed: int) -> None:
    dice, store, there = Random(seed), KeptPlans(WholeSpecs()), dict[tuple[str, str], PreemptionPlan]()
    for _ in range(60):
        namespace, name = dice.choice("ab"), f"plan-{dice.randrange(5)}"
        if dice.random() < 0.3:
            assert store.delete(namespace, name) is (there.pop((namespace, name), None) is not None)
        else:
            given = name, f"gang-{dice.randrange(3)}", namespace, dice.choice(PHASES), dice.randrange(60)
            there[namespace, name] = made(*given)
            store.upsert(made(*given))
        before = store.rooms()
        assert {(each.namespace, each.uid): each for each in before} == {
            (each.metadata.namespace, each.spec.preemptor.uid): room_of(each.spec)
            for each in carried_out(there.values())
        }
        assert store.rooms() is before
        assert {each.brief.metadata.name for each in store.shared().get("a", ())} == {
            name for space, name in there if space == "a"
        }


def test_a_plan_that_changes_looks_at_the_plans_of_its_preemptor_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = list[int]()

    def noted(plans: Iterable[PreemptionPlan]) -> list[Any]:
        found = list(plans)
        looked.append(len(found))
        return carried_out(found)

    monkeypatch.setattr(module, "carried_out", noted)
    store = KeptPlans(WholeSpecs())
    for number in range(50):
        store.upsert(made(f"plan-{number}", f"gang-{number}", "a", "Bound", 0))
    looked.clear()
    rooms = store.rooms()
    store.upsert(made("plan-7", "gang-7", "a", "Aborted", 1))
    assert looked == [1]
    assert store.rooms() is rooms
