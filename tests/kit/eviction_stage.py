"""A stage with a gang of one, and in its way a PodGroup that goes whole, or single pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from controllers.gangs.evicting import evictions
from kube.errors import ApiError
from kube.sender import Sender
from tests.kit.objects import gang, node, pod
from tests.kit.stage import Stage

__all__ = [
    "BIG",
    "Requests",
    "away",
    "conditions",
    "denied",
    "events",
    "finalized",
    "hero",
    "marked",
    "refuse",
    "singles",
    "the_plan",
    "unit",
]

BIG = {"cpu": "4"}


def away() -> ApiError:
    """The API server is away."""
    return ApiError(503, "ServiceUnavailable", "away")


def denied() -> ApiError:
    """An admission webhook says no."""
    return ApiError(403, "Forbidden", "denied")


def unit(pods: int, *, priority: int = 1, name: str = "unit", first: int = 0, running: int = 0) -> list[Any]:
    """A PodGroup that is evicted whole, a pod on each of `pods` nodes. `running`: how many run, 0 for all."""
    numbers = range(first, first + pods)
    return [
        gang(name, minimum=pods, mode="all", priority=priority),
        *(node(f"n{number}") for number in numbers),
        *(
            pod(f"u{number}", group=name, node=f"n{number}", requests=BIG, priority=1)
            for number in numbers[: running or pods]
        ),
    ]


def singles(pods: int) -> list[Any]:
    """A node for each of `pods` pods."""
    return [
        each
        for number in range(pods)
        for each in (
            node(f"n{number}"),
            pod(f"v{number}", node=f"n{number}", requests=BIG, priority=1),
        )
    ]


def hero(members: int = 1) -> list[Any]:
    """The gang; each member needs a node for itself."""
    pods = (pod(f"m{number}", group="gang", requests=BIG) for number in range(members))
    return [gang(minimum=members), *pods]


class Requests:
    """Real and rehearsed writes to pods, in order, with their bodies. `answer` decides which of them fail."""

    def __init__(self, stage: Stage) -> None:
        self.sent: list[tuple[str, str, Any]] = []
        """(method, name of the pod, body); the method ends in `dry run` if it is one."""
        real = stage.api.request

        async def request(method: str, path: str, **options: Any) -> bytes:
            if "/pods/" in path and method in ("PATCH", "DELETE"):
                body = orjson.loads(options.get("body") or b"{}")
                dry = "dryRun" in (options.get("query") or {}) or "dryRun" in body
                name = path.removesuffix("/status").rpartition("/")[2]
                self.sent.append((f"{method} dry run" if dry else method, name, body))
            return await real(method, path, **options)

        stage.api.request = request  # type: ignore[method-assign]

    def names(self, method: str) -> list[str]:
        """Pods to which such a request was sent."""
        return [name for sent, name, _ in self.sent if sent == method]


def refuse(
    stage: Stage, method: str, error: Callable[[], ApiError], *pods: str, times: int = 10**9
) -> list[str]:
    """Answer requests of the method about these pods (all if none is named) with the error, `times` times.

    Returns the pods that were refused, as it happens.
    """
    refused: list[str] = []

    def answer(asked: str, path: str) -> ApiError | None:
        name = path.removesuffix("/status").rpartition("/")[2]
        if asked == method and "/pods/" in path and (name in pods or not pods) and len(refused) < times:
            refused.append(name)
            return error()
        return None

    stage.api.refuse = answer
    return refused


def the_plan(stage: Stage) -> dict[str, Any]:
    """The only stored plan."""
    (plan,) = stage.api.plans.values()
    return plan


def finalized(plan: dict[str, Any]) -> bool:
    """Whether it has a finalizer."""
    return bool(plan["metadata"].get("finalizers"))


def conditions(stage: Stage, name: str) -> list[str]:
    """The types of the pod's conditions."""
    status = stage.api.of("/api/v1/pods")[name].get("status", {})
    return [each["type"] for each in status.get("conditions") or ()]


def marked(stage: Stage) -> list[str]:
    """Pods that are there and have the condition DisruptionTarget."""
    return sorted(n for n in stage.api.of("/api/v1/pods") if "DisruptionTarget" in conditions(stage, n))


def events(stage: Stage, reason: str) -> list[str]:
    """The notes of the events of that reason."""
    stored = stage.api.of("/apis/events.k8s.io/v1/events").values()
    return [each["note"] for each in stored if each["reason"] == reason]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes are tried once, and evictions again at once."""
    defaults = Sender.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "attempts", 1)
    monkeypatch.setattr(evictions, "RETRY_SECONDS", 0.0)
