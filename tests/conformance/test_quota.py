"""Scenarios of quota with the answers of Kueue's own code (ff69552e): every answer is the same, in every field."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from tests.conformance.quota_engine import answer, scenarios

FILES = {"classic": 1400, "hard": 200, "fair": 300}
BIG = ("big-3000-1pct", "big-10000-10pct", "big-30000-1pct")


@pytest.mark.parametrize("name", [*FILES, *BIG])
def test_the_answer_is_kueues(name: str, say: Callable[[str], None]) -> None:
    wrong, ran = {}, 0
    for scenario in scenarios(name):
        got, expected = answer(scenario), {"message": "", **scenario["expect"]}
        ran += 1
        if got != expected:
            wrong[scenario["id"]] = {field: (got[field], expected[field]) for field in got}
    say(f"{ran - len(wrong)} of {ran} answers are Kueue's")
    assert wrong == {}
    assert ran == FILES.get(name, 1)


@pytest.mark.parametrize("name", FILES)
def test_to_explain_it_changes_nothing(name: str) -> None:
    wrong = [
        scenario["id"]
        for scenario in scenarios(name)
        if answer(scenario, explain=True) != {"message": "", **scenario["expect"]}
    ]
    assert wrong == []


@pytest.mark.parametrize("name", ["hard", "fair"])
def test_the_order_of_the_objects_changes_nothing(name: str) -> None:
    random = Random(name)
    for scenario in scenarios(name):
        shuffled = random.sample(scenario["objects"], len(scenario["objects"]))
        assert answer({**scenario, "objects": shuffled}) == answer(scenario), scenario["id"]
