"""What our reading makes of manifests is what a real API server stores: `make fidelity` compares ten times as many."""

from __future__ import annotations

from hack.controlplane.plane import ControlPlane
from hack.fidelity.stored import compare_stored
from hack.fidelity.written import COMPARED

STORED = 200
OBJECTS = 250
"""Some are pods that an API server refuses: 200 are stored."""


def test_an_api_server_stores_manifests_as_we_read_them(api_plane: ControlPlane) -> None:
    result = compare_stored(api_plane.client, OBJECTS, 0, "stored")
    assert result.differences == []
    assert result.compared.keys() == {kind for _, kind in COMPARED}
    assert result.invalid == []
    assert result.compared.total() >= STORED
