"""Whether a ClusterQueue takes a namespace whose labels are not known."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.meta import LabelSelector
from quota.answers.selected import taking
from tests.kit.quota.objects import cluster_queue, cpu, snapshot

BY_NAME = {"kubernetes.io/metadata.name": "ns"}
IN = {"key": "team", "operator": "In", "values": ["a"]}
NOT_NAMED = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["ns"]}

CASES: dict[str, tuple[Any, bool, int]] = {
    "everything": ({}, True, 0),
    "nothing": (None, False, 0),
    "by name": ({"matchLabels": BY_NAME}, True, 0),
    "by another name": ({"matchLabels": {**BY_NAME, "kubernetes.io/metadata.name": "x"}}, False, 0),
    "all but this name": ({"matchExpressions": [NOT_NAMED, IN]}, False, 0),
    "by a label": ({"matchLabels": {"team": "a"}}, True, 1),
    "by name and an expression": ({"matchLabels": BY_NAME, "matchExpressions": [IN]}, True, 1),
}
"""The selector, whether the namespace is taken, and how much is named."""


@pytest.mark.parametrize("case", CASES)
def test_only_the_name_is_known_of_every_namespace(case: str) -> None:
    written, taken, named = CASES[case]
    queue = cluster_queue("q", cpu(1))
    queue.spec.namespace_selector = None if written is None else msgspec.convert(written, LabelSelector)
    world = snapshot(queue)
    found, names = taking(world, world.queues["q"], "ns", {})
    assert (found is not world, len(names)) == (taken, named)
    assert taking(world, world.queues["q"], "ns", {"ns": {}}) == (world, ())
