"""How far reprieve goes on the nodes plane, by namespace."""

from __future__ import annotations

from typing import Literal

__all__ = ["Mode", "Modes"]

Mode = Literal["Off", "Enforce"]
"""Off: nothing is decided, and the verbs give back what they get. Enforce: what is decided is done."""


class Modes:
    """The mode of each namespace."""

    def __init__(self, mode: Mode = "Enforce") -> None:
        self._mode: Mode = mode

    def of(self, namespace: str) -> Mode:
        """The mode of this namespace. Today it is the same for all."""
        return self._mode
