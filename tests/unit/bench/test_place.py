"""Which gangs `make load` calls in pieces."""

from __future__ import annotations

from typing import Any

import pytest

from bench.place import gangs_in_pieces
from hack.controlplane import objects
from hack.controlplane.client import Json


def member(name: str, *, bound: bool, phase: str = "Running", **meta: Any) -> Json:
    body = objects.pod(name, group="hero", node_name="n0" if bound else None)
    body["metadata"] |= meta
    return {**body, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("members", "in_pieces"),
    [
        ([], False),
        ([member("a", bound=False), member("b", bound=False)], False),
        ([member("a", bound=True), member("b", bound=False)], True),
        ([member("a", bound=True), member("b", bound=True)], False),
        ([member("a", bound=True, phase="Failed"), member("b", bound=False)], False),
        ([member("a", bound=True, deletionTimestamp="2026-01-01T00:00:00Z")], False),
    ],
    ids=["empty", "waits", "in pieces", "whole", "failed", "leaves"],
)
def test_a_gang_in_pieces(members: list[Json], *, in_pieces: bool) -> None:
    found = gangs_in_pieces([objects.pod_group("hero", min_count=2)], members)
    assert found == (["hero"] if in_pieces else [])


def test_a_basic_group_has_no_pieces() -> None:
    assert gangs_in_pieces([objects.pod_group("hero")], [member("a", bound=True)]) == []
