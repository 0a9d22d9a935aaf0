"""Our own rules do not refuse an update because of a fault that is already stored.

See docs/decisions/0015.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from schema.verdict import Cause
from webhooks.rules.request import Object, Request

__all__ = ["new_causes"]

INDEX: Final = re.compile(r"\[[0-9]+\]")


def new_causes(rule: Callable[[Object], Iterable[Cause]], request: Request) -> list[Cause]:
    """The causes that the rule finds in the new object but not in the old one.

    A cause's message names every value that it depends on. If one of them changes and is still wrong, the cause is
    new. Entries of lists may have moved.
    """
    causes = list(rule(request.new))
    if not causes or request.old is None:
        return causes
    stored = {_key(cause) for cause in rule(request.old)}
    return [cause for cause in causes if _key(cause) not in stored]


def _key(cause: Cause) -> tuple[str, str, str]:
    return INDEX.sub("[]", cause.field), cause.type, cause.message
