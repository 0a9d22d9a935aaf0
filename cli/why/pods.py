"""The pods that `reprieve why` reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from api.core import Pod
from cli.common.documents import Kind, Reader

__all__ = ["Pods"]


class Pods(Reader):
    """Pods by namespace and name."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {("v1", "Pod"): Kind(Pod, True)}
    matter: ClassVar[str] = "the answer"

    def __init__(self) -> None:
        super().__init__()
        self.pods: dict[tuple[str, str], Pod] = {}

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`."""
        self.pods[thing.metadata.namespace, thing.metadata.name] = thing
