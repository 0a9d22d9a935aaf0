"""Topology spread: whom a constraint counts."""

from __future__ import annotations

from typing import Any

import pytest

from api.selectors import selects
from nodes.filters.pod_topology_spread import PodTopologySpread
from tests.kit.objects import pod

MERGED = [{"key": "rev", "operator": "In", "values": ["1"]}]


@pytest.mark.parametrize(
    ("selector", "own", "counted"),
    [
        ({"matchLabels": {"app": "a"}}, {"rev": "1"}, {"1"}),
        ({"matchLabels": {"app": "a"}}, {}, {"1", "2"}),
        ({"matchLabels": {"app": "a"}, "matchExpressions": MERGED}, {"rev": "1"}, {"1"}),
        ({"matchLabels": {"app": "a"}, "matchExpressions": MERGED}, {"rev": "2"}, set()),
    ],
    ids=["a file", "no such label", "as the API server stores it", "the label has changed since"],
)
def test_label_keys_mean_the_labels_of_now(
    selector: dict[str, Any], own: dict[str, str], counted: set[str]
) -> None:
    constraint = {
        "topologyKey": "zone",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
        "matchLabelKeys": ["rev"],
    }
    needs = PodTopologySpread().needs(
        pod("m0", labels={"app": "a", **own}, topologySpreadConstraints=[constraint])
    )
    assert needs is not None
    (known,) = needs.constraints
    assert known.selector is not None
    assert {rev for rev in "12" if selects(known.selector, {"app": "a", "rev": rev})} == counted
