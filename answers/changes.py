"""Objects that would take the place of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Changes"]


@dataclass(frozen=True, slots=True)
class Changes:
    """What is changed, and who looks at it."""

    things: Sequence[tuple[str, str, bool]]
    """Kind, [NAMESPACE/]NAME, and whether the cluster has it already."""
    nodes: bool
    """Whether the nodes plane looks at any of them."""
    quota: bool
    """Whether the quota plane looks at any of them."""
    renewed: int
    """How many objects count as created anew, because their class changes."""
