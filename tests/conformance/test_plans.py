"""Clusters with the outcome and, for small ones, the least cost there is: every plan is right."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kit.plans.checker import Case, check, stated
from tests.kit.plans.engine import plan_for

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in gzip.decompress((Path(__file__).parent / "plans.jsonl.gz").read_bytes()).splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_plan_is_right(case: dict[str, Any]) -> None:
    plan = plan_for(case["objects"], case["for"])
    assert check(Case.of(case["objects"], case["for"]), plan, case["expect"]["outcome"]) == []


def test_how_many_plans_are_the_best_there_is(say: Callable[[str], None]) -> None:
    best = {case["id"]: tuple(case["expect"]["best"].values()) for case in CASES if "best" in case["expect"]}
    reached = {
        case["id"]: stated(plan_for(case["objects"], case["for"])["domains"][0]["score"])
        for case in CASES
        if case["id"] in best
    }
    missed = {name: (reached[name], best[name]) for name in best if reached[name] != best[name]}
    say(f"{len(best) - len(missed)} of {len(best)} plans cost the least there is")
    assert missed == {}


def test_the_order_of_the_objects_changes_nothing() -> None:
    for case in CASES:
        forwards = plan_for(case["objects"], case["for"])
        assert plan_for(case["objects"][::-1], case["for"]) == forwards, case["id"]
