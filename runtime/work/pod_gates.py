"""How one scheduling gate is removed from a pod. Gates of others stay, whoever else changes the list meanwhile."""

from __future__ import annotations

from typing import Any

__all__ = ["gate_removal", "removed_gate"]


def gate_removal(uid: str, gate: str) -> dict[str, Any]:
    """A strategic merge patch of the pod with this UID. The API server finds the gate by its name."""
    return {"metadata": {"uid": uid}, "spec": {"schedulingGates": [removed_gate(gate)]}}


def removed_gate(gate: str) -> dict[str, str]:
    """The entry of spec.schedulingGates in such a patch."""
    return {"name": gate, "$patch": "delete"}
