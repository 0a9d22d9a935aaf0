"""The annotations of partial admission, as Go reads them."""

from __future__ import annotations

import pytest

from api.partial_jobs import boolean, completions_follow, min_parallelism

LEAST = "kueue.x-k8s.io/job-min-parallelism"
FOLLOWS = "kueue.x-k8s.io/job-completions-equal-parallelism"


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), ("2147483647", 2**31 - 1), ("0", None), ("-1", None), ("2147483648", None), ("two", None)],
)
def test_the_fewest_pods(text: str, number: int | None) -> None:
    assert min_parallelism({LEAST: text}) == number


def test_without_the_annotation_all_pods_are_needed() -> None:
    assert min_parallelism(None) is None
    assert min_parallelism({}) is None
    assert not completions_follow(None)


@pytest.mark.parametrize(
    ("text", "value"), [("T", True), ("1", True), ("FALSE", False), ("yes", None), ("", None)]
)
def test_booleans(text: str, value: bool | None) -> None:
    assert boolean(text) is value
    assert completions_follow({FOLLOWS: text}) is (value is True)
