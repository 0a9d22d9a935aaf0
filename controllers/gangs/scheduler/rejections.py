"""How reprieve's own rejections read, and how they are recognised in what the scheduler says of a pod."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["HOLD_MARK", "PROMISED", "RESERVED", "SPARED", "is_kept_out", "is_ours"]

HOLD_MARK: Final = "reprieve: "
"""Begins every reason that our filter gives for a node."""

RESERVED: Final = HOLD_MARK + "room is reserved for a pod group"
"""What filter says of a node on which the pod would take promised room."""

PROMISED: Final = "room is promised to a pod group by reprieve"
"""The same for a pod of an observed namespace. It has no HOLD_MARK, so nobody of ours brings the pod back."""

SPARED: Final = HOLD_MARK + "a group there is evicted whole or not at all, and the node has no free room"
"""What filter says of a node on which kube-scheduler would break a unit for a pod group of its own."""

OURS: Final = re.compile(rf"(?:^0/\d+ nodes are available: |, )\d+ {re.escape(HOLD_MARK)}")
"""kube-scheduler (FitError) writes each reason behind the number of nodes that have it."""
KEPT_OUT: Final = re.compile(rf"(?:^0/\d+ nodes are available: |, )\d+ {re.escape(RESERVED)}")


def is_ours(message: str) -> bool:
    """Whether our filter has turned the pod down on a node, by the message of its condition PodScheduled."""
    return OURS.search(message) is not None


def is_kept_out(message: str) -> bool:
    """Whether our filter has kept the pod out of promised room, by the same message."""
    return KEPT_OUT.search(message) is not None
