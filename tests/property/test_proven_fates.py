"""A diff says the same whether or not its searches end once their plans are proven to be the best."""

from __future__ import annotations

from random import Random
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from hack.controlplane import objects
from nodes.answers.fates import node_fates
from nodes.search.decision import USUAL
from tests.kit.examples import examples
from tests.kit.plans.engine import snapshot_of

Object = dict[str, Any]


def crowded(dice: Random) -> list[Object]:
    """Full nodes with pods of many sizes and ages, some in groups that go as a whole, and gangs that all differ."""
    nodes, each = dice.randint(5, 40), dice.randint(4, 9)
    found: list[Object] = [objects.node(f"n{number}") for number in range(nodes)]
    for node in found:
        node["status"] = {"allocatable": {"cpu": str(each), "memory": f"{2 * each}Gi", "pods": "110"}}
    pairs = dice.choice((0, 0, 3))
    found += [objects.pod_group(f"pair{number}", min_count=2, mode="all") for number in range(pairs)]
    for group in found[nodes:]:
        group["spec"]["priority"] = 0
    for number in range(nodes * each):
        asked = {"cpu": f"{dice.choice((800, 1000, 1500))}m", "memory": f"{dice.randint(500, 2500)}Mi"}
        group_name = f"pair{number % pairs}" if number < 2 * pairs else None
        pod = objects.pod(f"p{number}", requests=asked, group=group_name, node_name=f"n{number % nodes}")
        pod["metadata"]["labels"] = {**(pod["metadata"].get("labels") or {}), "app": f"a{number % 4}"}
        pod["spec"]["priority"] = 0 if group_name else dice.choice((0, 0, 5, 90))
        pod["status"] = {"phase": "Running", "startTime": f"2026-01-01T0{dice.randint(0, 9)}:00:00Z"}
        found.append(pod)
    if dice.random() < 0.4:
        budget = objects.pod_disruption_budget("some", "default", {"app": "a1"}, min_available=0)
        found.append(budget | {"status": {"disruptionsAllowed": dice.randint(0, 5)}})
    for number in range(3):
        group = objects.pod_group(f"gang{number}", min_count=dice.randint(1, 4))
        group["spec"]["priority"] = 50
        asked = {"cpu": f"{dice.randint(700, 2000 * each // 4)}m", "memory": f"{dice.randint(100, 3000)}Mi"}
        found.append(group)
        for member in range(group["spec"]["schedulingPolicy"]["gang"]["minCount"]):
            pod = objects.pod(f"w{number}-{member}", requests=asked, group=f"gang{number}")
            pod["spec"]["priority"] = 50
            found.append(pod)
    return found


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32))
def test_a_search_that_proves_changes_no_fate(seed: int) -> None:
    snapshot = snapshot_of(crowded(Random(seed)))
    proven = node_fates(snapshot)
    with patch("nodes.answers.waiting.PROVING", USUAL):
        assert proven == node_fates(snapshot)
