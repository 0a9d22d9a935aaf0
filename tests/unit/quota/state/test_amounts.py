"""Quantities in canonical units, and what does not fit them."""

from __future__ import annotations

from functools import partial

import pytest

from native.quota.quotas import UNLIMITED
from quota.state.amounts import QuotaError, fair_weight, quota_amount, request_amount, shown


@pytest.mark.parametrize(
    ("resource", "quantity", "amount"),
    [
        ("cpu", "1", 1000),
        ("cpu", 1.5, 1500),
        ("cpu", "1500m", 1500),
        ("cpu", "1u", 1),
        ("memory", "1Gi", 2**30),
        ("memory", "1.5", 2),
        ("memory", "1n", 1),
        ("nvidia.com/gpu", 8, 8),
        ("pods", None, 0),
        ("cpu", "0", 0),
        ("cpu", "-0", 0),
        ("memory", "1e3", 1000),
        ("memory", "1e-2147483647", 1),
    ],
)
def test_cpu_is_in_thousandths_and_everything_is_rounded_up(
    resource: str, quantity: str | float | None, amount: int
) -> None:
    assert quota_amount(resource, quantity, "", "") == amount
    assert request_amount(resource, quantity, "", "") == amount


@pytest.mark.parametrize(
    ("resource", "quantity"),
    [
        ("cpu", "9223372036854775"),
        ("cpu", "1E"),
        ("memory", "9223372036854775807"),
        ("memory", "8Ei"),
        ("memory", "1e2147483647"),
        ("memory", "9" * 5000),
    ],
)
def test_a_quota_that_does_not_fit_is_unlimited(resource: str, quantity: str) -> None:
    assert quota_amount(resource, quantity, "", "") == UNLIMITED


@pytest.mark.parametrize(
    ("resource", "quantity"),
    [("cpu", "9223372036854774"), ("memory", "9223372036854775806"), ("memory", "7Ei")],
)
def test_one_that_just_fits_is_not(resource: str, quantity: str) -> None:
    assert quota_amount(resource, quantity, "", "") < UNLIMITED
    assert request_amount(resource, quantity, "", "") == quota_amount(resource, quantity, "", "")


def test_a_request_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(QuotaError) as caught:
        request_amount("memory", "8Ei", "Workload ns/a", "spec.podSets[0]")
    assert (caught.value.subject, caught.value.field) == ("Workload ns/a", "spec.podSets[0]")
    assert str(caught.value) == "Workload ns/a: spec.podSets[0]: is too much: it does not fit 64 bits"


@pytest.mark.parametrize("quantity", ["-1", -1, "-1n", "-1e2147483647"])
def test_less_than_nothing_is_an_error(quantity: str | int) -> None:
    for read in (partial(quota_amount, "cpu"), partial(request_amount, "cpu"), fair_weight):
        with pytest.raises(QuotaError, match=r"S: f: must be greater than or equal to 0"):
            read(quantity, "S", "f")


@pytest.mark.parametrize("quantity", ["", "x", "1 Gi", True, float("nan"), float("inf")])
def test_what_is_no_quantity_is_an_error_that_shows_it(quantity: str | float) -> None:
    with pytest.raises(QuotaError, match="f: not a quantity: "):
        request_amount("cpu", quantity, "S", "f")


@pytest.mark.parametrize(
    ("quantity", "weight"),
    [("1", 1.0), ("0", 0.0), ("0.7", 0.7), ("333m", 0.333), ("2k", 2000.0), ("2n", 2e-9)],
)
def test_a_weight_is_the_nearest_number(quantity: str, weight: float) -> None:
    assert fair_weight(quantity, "", "") == weight


def test_a_weight_so_small_is_refused() -> None:
    with pytest.raises(QuotaError, match="must be more than 1n where it is not 0"):
        fair_weight("1n", "Cohort all", "spec.fairSharing.weight")


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 0, "0"),
        ("cpu", 500, "500m"),
        ("cpu", 12_000, "12"),
        ("cpu", 12_000_000, "12k"),
        ("memory", 1024, "1Ki"),
        ("memory", 1536 * 2**20, "1536Mi"),
        ("memory", 1000, "1k"),
        ("ephemeral-storage", 2**40, "1Ti"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("nvidia.com/gpu", 8, "8"),
        ("nvidia.com/gpu", 3000, "3k"),
        ("cpu", UNLIMITED, "unlimited"),
    ],
)
def test_amounts_are_shown_as_kubectl_does(resource: str, amount: int, text: str) -> None:
    assert shown(resource, amount) == text
