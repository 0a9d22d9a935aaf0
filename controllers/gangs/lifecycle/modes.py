"""How far reprieve goes on the nodes plane, by namespace."""

from __future__ import annotations

from typing import Literal

__all__ = ["Mode", "Modes"]

Mode = Literal["Off", "Observe", "Enforce"]
"""Off: nothing is decided, and the verbs give back what they get. Observe: what would be done is decided and written
down, and no pod is touched. Enforce: it is done."""


class Modes:
    """The mode of each namespace."""

    def __init__(self, mode: Mode = "Enforce") -> None:
        self._mode: Mode = mode

    def of(self, namespace: str) -> Mode:
        """The mode of this namespace. Today it is the same for all."""
        return self._mode

    def observes(self, namespace: str) -> bool:
        """Whether what is decided for this namespace is not done."""
        return self.of(namespace) == "Observe"

    @property
    def enforces(self) -> bool:
        """Whether anything is done, in whatever namespace."""
        return self._mode == "Enforce"
