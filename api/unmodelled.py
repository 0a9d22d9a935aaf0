"""What is said of what is not modelled: by both engines, all commands and every status.

Names are short and stand for a feature of an object, such as `resource claims (DRA)`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

__all__ = ["UNKNOWN", "doubted", "not_modelled"]

UNKNOWN: Final = "Unknown"
"""The outcome of an answer that could be another one, because of what is not modelled."""


def not_modelled(names: Collection[str]) -> str:
    """The names, for a message: `not modelled: a, b`."""
    return f"not modelled: {', '.join(names)}"


def doubted(says: str, names: Collection[str]) -> str:
    """The sentences of an answer. With names, what is said is not known, and the names come first."""
    if not names:
        return says
    said = not_modelled(names)
    return f"It is not known. {said[0].upper()}{said[1:]}. By what is modelled: {says}"
