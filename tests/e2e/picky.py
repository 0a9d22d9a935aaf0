"""A scheduler profile that disagrees with our model: it keeps its pods away from some nodes."""

from __future__ import annotations

from typing import Final

from tests.e2e.support import Sandbox

__all__ = ["PICKY", "PROFILES", "refuse"]

PICKY: Final = "picky-scheduler"
"""A profile of the scheduler with a filter that is nowhere to be seen but in its configuration."""
REFUSED: Final = "refused"
"""Label of the nodes that the profile keeps its pods away from."""
_ADDED: Final = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": REFUSED, "operator": "DoesNotExist"}]}]
    }
}
PROFILES: Final = [
    {"schedulerName": "default-scheduler"},
    {"schedulerName": PICKY, "pluginConfig": [{"name": "NodeAffinity", "args": {"addedAffinity": _ADDED}}]},
]
"""The usual profile and the picky one."""


def refuse(sandbox: Sandbox, node: str, *, refused: bool = True) -> None:
    """Have the picky profile refuse the node, or take it."""
    label = {REFUSED: "yes" if refused else None}
    sandbox.client.patch("v1", "Node", node, {"metadata": {"labels": label}})
