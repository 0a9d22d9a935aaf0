"""What a Job says of partial admission: how many pods suffice, and whether its completions follow its parallelism."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from api.integration import COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION, MIN_PARALLELISM_ANNOTATION
from api.syntax import whole_number

__all__ = ["boolean", "completions_follow", "min_parallelism"]

MOST_PODS: Final = 2**31 - 1
TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})


def min_parallelism(annotations: Mapping[str, str] | None) -> int | None:
    """The fewest pods that the Job starts with. None: it needs all of them, or the text is no number above 0."""
    text = (annotations or {}).get(MIN_PARALLELISM_ANNOTATION)
    return None if text is None else whole_number(text, 1, MOST_PODS)


def completions_follow(annotations: Mapping[str, str] | None) -> bool:
    """Whether completions are lowered together with parallelism."""
    return boolean((annotations or {}).get(COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION, "")) is True


def boolean(text: str) -> bool | None:
    """The value of a text, as Go's strconv.ParseBool reads it; None for any other text."""
    return True if text in TRUE else False if text in FALSE else None
