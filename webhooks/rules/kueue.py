"""Rules taken from Kueue hold for the whole object at every update, whatever was stored, as in Kueue's webhook."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from webhooks.rules.decoding import decoding_causes
from webhooks.rules.request import Request
from webhooks.verdict import Cause

__all__ = ["kueue_causes"]


def kueue_causes(rule: Callable[[Request], Iterable[Cause]], request: Request) -> list[Cause]:
    """What the rule finds in an object that can be decoded; nothing, where Kueue itself checks it."""
    if request.settings.beside_kueue:
        return []
    return decoding_causes(request.kind, request.new) or list(rule(request))
