"""KEP-3258: delays and counts of retries."""

from __future__ import annotations

from typing import Any

import pytest

from schema.verdict import Verdict
from tests.kit.manifests import TIME, Pairs, condition, pairs, updated, workload
from webhooks.rules import Object

PATH = "status.admissionChecks[0]"


def checked(state: str = "Retry", *conditions: Object, **fields: Any) -> Object:
    check = {"name": "c", "state": state, "lastTransitionTime": TIME, "message": "", **fields}
    return workload(status={"conditions": list(conditions), "admissionChecks": [check]})


def written(old: Object, new: Object) -> Verdict:
    return updated(old, new, subresource="status")


@pytest.mark.parametrize(
    ("before", "after", "causes"),
    [
        (None, 1, []),
        (2, 2, []),
        (2, 7, []),
        (2, 0, []),
        (2, None, []),
        (0, None, []),
        (2, 1, [(f"{PATH}.retryCount", "Invalid")]),
        (2147483647, 1, [(f"{PATH}.retryCount", "Invalid")]),
    ],
)
def test_the_count_grows_or_starts_again(before: int | None, after: int | None, causes: Pairs) -> None:
    assert pairs(written(checked(retryCount=before), checked("Pending", retryCount=after))) == causes


def test_counts_go_by_the_check_not_by_its_place() -> None:
    both = checked(retryCount=5)
    both["status"]["admissionChecks"].insert(0, {"name": "first", "state": "Retry", "retryCount": 1})
    assert written(checked(retryCount=5), both).allowed


@pytest.mark.parametrize("state", ["Pending", "Ready", "Rejected"])
def test_a_delay_without_retry_gets_a_warning_once(state: str) -> None:
    delayed = checked(state, requeueAfterSeconds=60)
    expected = f"{PATH}.requeueAfterSeconds has no effect: the check's state is {state}, not Retry"
    assert written(checked("Pending"), delayed).warnings == (expected,)
    assert written(checked("Retry", requeueAfterSeconds=60), delayed).warnings == (expected,)
    assert written(delayed, delayed).warnings == ()
    assert written(delayed, delayed).allowed
    assert written(checked("Retry"), checked(state)).warnings == ()


def test_a_late_delay_is_accepted() -> None:
    evicted = checked("Pending", condition("Evicted"))
    verdict = written(evicted, checked("Retry", condition("Evicted"), requeueAfterSeconds=600, retryCount=1))
    assert verdict.allowed
    assert verdict.warnings == ()
