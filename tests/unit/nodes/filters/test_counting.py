"""The domains of nodes do not depend on the order in which nodes came."""

from __future__ import annotations

from nodes.filters.counting import Nodes
from nodes.filters.filter import EVERYWHERE, NodeShape


def nodes(*zones: str | None) -> Nodes:
    shapes = [
        NodeShape(b"", {} if zone is None else {"zone": zone}, (), unschedulable=False) for zone in zones
    ]
    return Nodes([*shapes, None], [f"n{number}" for number in range(len(zones))])


def test_places_are_numbered_by_their_values() -> None:
    assert nodes("b", None, "a", "b").places("zone").tolist() == [1, -1, 0, 1, -1]
    assert nodes("a", "b", None, "b").places("zone").tolist() == [0, 1, -1, 1, -1]
    assert nodes("b", "a").places(EVERYWHERE).tolist() == [0, 0, 0]
