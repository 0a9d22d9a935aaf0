"""Taints, labels and the pods that may or may not have the flavor."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.core import PodSpec
from api.kueue import ResourceFlavor
from quota.search.matching import mismatch

LABELS = {"instance": "spot", "zone": "a", "gpus": "4"}
AFFINITY = "flavor spot doesn't match node affinity"


def spot(**spec: Any) -> ResourceFlavor:
    return msgspec.convert({"metadata": {"name": "spot"}, "spec": spec}, ResourceFlavor)


def pod(**spec: Any) -> PodSpec:
    return msgspec.convert(spec, PodSpec)


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


def term(*expressions: tuple[str, str, list[str] | None]) -> dict[str, Any]:
    return {
        "matchExpressions": [
            {"key": key, "operator": operator, **({} if values is None else {"values": values})}
            for key, operator, values in expressions
        ]
    }


def test_plain_pods_may_have_any_flavor() -> None:
    assert mismatch(spot(), pod()) == ""
    assert mismatch(spot(nodeLabels=LABELS), pod()) == ""


@pytest.mark.parametrize(
    ("selector", "suits"),
    [
        ({"instance": "spot"}, True),
        ({"instance": "on-demand"}, False),
        ({"instance": "spot", "zone": "b"}, False),
        ({"disk": "ssd"}, True),
        ({"disk": "ssd", "zone": "b"}, False),
    ],
)
def test_a_node_selector_counts_as_far_as_the_flavor_has_the_labels(
    selector: dict[str, str], suits: bool
) -> None:
    assert mismatch(spot(nodeLabels=LABELS), pod(nodeSelector=selector)) == ("" if suits else AFFINITY)


@pytest.mark.parametrize(
    ("terms", "suits"),
    [
        ([], True),
        ([term(("instance", "In", ["spot", "x"]))], True),
        ([term(("instance", "In", ["x"]))], False),
        ([term(("instance", "NotIn", ["spot"]))], False),
        ([term(("instance", "Exists", None))], True),
        ([term(("instance", "DoesNotExist", None))], False),
        ([term(("gpus", "Gt", ["3"]))], True),
        ([term(("gpus", "Lt", ["3"]))], False),
        # Of this one nothing is left, so that it suits any flavor.
        ([term(("disk", "In", ["ssd"]))], True),
        ([term(("instance", "In", ["x"])), term(("disk", "In", ["ssd"]))], True),
        ([term(("instance", "In", ["x"]), ("disk", "In", ["ssd"]))], False),
        ([term(("instance", "In", ["x"])), term(("zone", "In", ["a"]))], True),
        ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}], True),
    ],
)
def test_so_does_required_affinity(terms: list[dict[str, Any]], suits: bool) -> None:
    assert mismatch(spot(nodeLabels=LABELS), pod(affinity=required(*terms))) == ("" if suits else AFFINITY)


@pytest.mark.parametrize(
    ("effect", "toleration", "suits"),
    [
        ("NoSchedule", None, False),
        ("NoExecute", None, False),
        ("PreferNoSchedule", None, True),
        ("NoSchedule", {"key": "spot", "operator": "Exists"}, True),
        ("NoSchedule", {"key": "spot", "value": "true", "effect": "NoSchedule"}, True),
        ("NoSchedule", {"key": "spot", "value": "true", "effect": "NoExecute"}, False),
        ("NoSchedule", {"key": "spot", "value": "false"}, False),
        ("NoSchedule", {"operator": "Exists"}, True),
    ],
)
def test_taints_must_be_tolerated(effect: str, toleration: dict[str, str] | None, suits: bool) -> None:
    taint = {"key": "spot", "value": "true", "effect": effect}
    tolerations = [toleration] if toleration else []
    problem = f"untolerated taint {{spot true {effect} <nil>}} in flavor spot"
    assert mismatch(spot(nodeTaints=[taint]), pod(tolerations=tolerations)) == ("" if suits else problem)
    # What the flavor itself adds to the pods counts as well.
    assert mismatch(spot(nodeTaints=[taint], tolerations=tolerations), pod()) == ("" if suits else problem)


@pytest.mark.parametrize(("bound", "suits"), [("950", True), ("980", False)])
def test_tolerations_may_compare_numbers(bound: str, suits: bool) -> None:
    """As Kueue does, whatever the scheduler's gate TaintTolerationComparisonOperators is."""
    flavor = spot(nodeTaints=[{"key": "sla", "value": "970", "effect": "NoSchedule"}])
    tolerant = pod(tolerations=[{"key": "sla", "operator": "Gt", "value": bound}])
    assert (mismatch(flavor, tolerant) == "") is suits
