"""How reprieve's own rejections read, so that they are recognised."""

from __future__ import annotations

from typing import Final

__all__ = ["HOLD_MARK", "RESERVED"]

HOLD_MARK: Final = "reprieve: "
"""Begins every rejection of ours, and so stands in the PodScheduled message of a pod that we hold."""

RESERVED: Final = HOLD_MARK + "room is reserved for a pod group"
"""What filter says of a node whose reserved room the pod would take."""
