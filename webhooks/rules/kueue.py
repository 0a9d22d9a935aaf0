"""Rules from Kueue apply to the whole object at every update, even to stored faults, as in Kueue's webhook."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from schema.verdict import Cause
from webhooks.rules.decoding import decoding_causes
from webhooks.rules.request import Request

__all__ = ["kueue_causes"]

MOST_CAUSES: Final = 5000
"""Nobody reads more causes. An annotation full of commas has 128,000 of them."""


def kueue_causes(rule: Callable[[Request], Iterable[Cause]], request: Request) -> list[Cause]:
    """The causes that the rule finds in an object that can be decoded. Empty if Kueue itself checks the object."""
    if request.settings.beside_kueue:
        return []
    unreadable = list(islice(decoding_causes(request.kind, request.new), MOST_CAUSES))
    return unreadable or list(islice(rule(request), MOST_CAUSES))
