"""What `reprieve pause` and `reprieve resume` print."""

from __future__ import annotations

from api.pauses import Pause
from api.published import NAMESPACE
from cli.common.output import show_as
from cli.common.printable import say

__all__ = ["paused", "show"]


def paused(namespace: str, found: Pause | None) -> str:
    """What is said of a pause that has begun."""
    reason = found.reason if found is not None else ""
    if namespace == NAMESPACE:
        return f"Evictions are paused in the whole cluster{reason}"
    return f"Evictions for namespace {namespace} and in it are paused{reason}"


def show(namespace: str, found: Pause | None, says: str, output: str | None) -> None:
    """Print the state of a namespace. `says`: as text."""
    if output in (None, "text"):
        say(says)
        return
    data = {
        "namespace": namespace,
        "paused": found is not None,
        "why": found.why if found is not None else None,
        "until": (found.end or None) if found is not None else None,
    }
    show_as(data, str(output))
