"""Rules taken from Kueue hold for the whole object at every update, whatever was stored, as in Kueue's webhook."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from schema.verdict import Cause
from webhooks.rules.decoding import decoding_causes
from webhooks.rules.request import Request

__all__ = ["kueue_causes"]

MOST_CAUSES: Final = 5000
"""Nobody reads more; an annotation of commas has 128 thousand."""


def kueue_causes(rule: Callable[[Request], Iterable[Cause]], request: Request) -> list[Cause]:
    """What the rule finds in an object that can be decoded; nothing, where Kueue itself checks it."""
    if request.settings.beside_kueue:
        return []
    unreadable = list(islice(decoding_causes(request.kind, request.new), MOST_CAUSES))
    return unreadable or list(islice(rule(request), MOST_CAUSES))
