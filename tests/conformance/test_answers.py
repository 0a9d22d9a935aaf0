"""Small clusters and a question about each, with the right answer: plan, quota, queue, why, what-if, diff, validate.

`answers/cases.jsonl.gz` has cases from public bug reports. `answers/own/` has our own, a file for each subject.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kit.answers.questions import ask, wrong

FOLDER = Path(__file__).parent / "answers"
CASES: list[dict[str, Any]] = [
    json.loads(line) for line in gzip.decompress((FOLDER / "cases.jsonl.gz").read_bytes()).splitlines()
]
OWN: list[dict[str, Any]] = [
    case
    for path in sorted((FOLDER / "own").glob("*.yaml"))
    for case in yaml.load(path.read_text(), yaml.CSafeLoader)
]


@pytest.mark.parametrize("case", [*CASES, *OWN], ids=lambda case: case["id"])
def test_the_answer_is_right(case: dict[str, Any]) -> None:
    answer = ask(case)
    assert wrong(case, answer) == [], case["why"]


def test_no_two_cases_have_one_name() -> None:
    names = [case["id"] for case in [*CASES, *OWN]]
    assert len(names) == len(set(names))
