"""How often our quota decisions are those of Kueue: the observer of quota tells whoever reports it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

__all__ = ["Agreements", "Agrees"]

Agrees = Literal["true", "false", "unknown"]


class Agreements:
    """Nothing is kept: who is not there when a decision is compared does not hear of it."""

    def __init__(self) -> None:
        self._hooks: list[Callable[[str, Agrees], object]] = []

    def on_compared(self, hook: Callable[[str, Agrees], object]) -> None:
        """Call `hook` for each decision, with the Workload's namespace ("" if that is not known) and the result."""
        self._hooks.append(hook)

    def compared(self, namespace: str, agrees: Agrees) -> None:
        """A decision was compared."""
        for hook in self._hooks:
            hook(namespace, agrees)
