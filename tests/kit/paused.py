"""Pauses on a stage: who writes them, and when."""

from __future__ import annotations

from collections.abc import Mapping

from api.core import Namespace
from api.meta import ObjectMeta
from api.pauses import PAUSED, PAUSED_UNTIL
from api.published import NAMESPACE
from kube.errors import ApiError
from tests.kit.stage import Stage

__all__ = ["annotate", "pause", "pause_after", "pause_at_mark", "resume"]


def pause(stage: Stage, namespace: str = NAMESPACE, why: str = "upgrade", *, until: str = "") -> None:
    said = {PAUSED: why} | ({PAUSED_UNTIL: until} if until else {})
    annotate(stage, namespace, said)


def resume(stage: Stage, namespace: str = NAMESPACE) -> None:
    annotate(stage, namespace, {})


def annotate(stage: Stage, namespace: str, annotations: Mapping[str, str]) -> None:
    stage.add(Namespace(ObjectMeta(name=namespace, annotations=dict(annotations))))


def pause_after(stage: Stage, deletions: int, namespace: str = NAMESPACE) -> None:
    """The pause begins while the request after that many deletions is answered."""
    seen: list[str] = []

    def answer(method: str, path: str) -> ApiError | None:
        if method == "DELETE" and "/pods/" in path and len(stage.api.deleted) >= deletions and not seen:
            seen.append(path)
            pause(stage, namespace)
        return None

    stage.api.refuse = answer


def pause_at_mark(stage: Stage, number: int) -> None:
    """The pause begins while that mark is written."""
    seen: list[str] = []

    def answer(method: str, path: str) -> ApiError | None:
        if method == "PATCH" and path.endswith("/status") and "/pods/" in path and "/pods/m" not in path:
            seen.append(path)
            if len(seen) == number:
                pause(stage)
        return None

    stage.api.refuse = answer
