"""A question to the command, with all that its answer depends on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["NOON", "Case"]

NOON: Final = 1772366400.0
"""2026-03-01T12:00:00Z, what the clock of the machine says unless a case names another moment."""
NAME_LENGTH: Final = 120
DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class Case:
    """It is asked in a folder that has the files, and links to those folders of the checkout that questions name."""

    arguments: tuple[str, ...]
    """Without `reprieve`. Paths are relative to the folder."""
    stdin: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """By their paths in the folder."""
    cluster: tuple[str, ...] = ()
    """Files with the objects of an API server, which is the cluster of the kubeconfig. None: there is no kubeconfig."""
    refused: tuple[str, ...] = ()
    """Plurals of kinds that it does not show."""
    moment: float = NOON
    """Seconds since the epoch."""

    @property
    def name(self) -> str:
        """Command, `/`, and a name that no other question has. It does not depend on other questions."""
        command = self.arguments[0].lstrip("-") if self.arguments else "none"
        words = " ".join(self.arguments[1:]).replace("examples/", "").replace(".yaml", "")
        short = re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-")[:NAME_LENGTH]
        return f"{command}/{short}-{self._digest()}" if short else f"{command}/{self._digest()}"

    def _digest(self) -> str:
        files = sorted(self.files.items())
        everything = (self.arguments, self.stdin, files, self.cluster, self.refused, self.moment)
        return hashlib.sha256(repr(everything).encode()).hexdigest()[:DIGITS]
