"""Which structs commands read each kind into."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from answers.reading.changes import Changed
from answers.reading.details import NamespaceObjects
from answers.reading.documents import Reader
from answers.reading.plans import Reported
from answers.reading.submissions import ClusterObjects, SubmissionReader
from api.foreign_owners import Scalable

__all__ = ["READ"]

READERS: Final[tuple[type[Reader], ...]] = (
    ClusterObjects,
    NamespaceObjects,
    SubmissionReader,
    Changed,
    Reported,
)
"""Together they read every kind that a plan, a quota decision or an answer is made of. `doctor` is left out: it asks
whether objects are there."""


def _read() -> Mapping[tuple[str, str], tuple[type[Any], ...]]:
    found: dict[tuple[str, str], dict[type[Any], None]] = {}
    for reader in READERS:
        for key, kind in reader.kinds.items():
            # Owners that say only how many pods there are to be: without a number there is one.
            if not issubclass(kind.struct, Scalable):
                found.setdefault(key, {})[kind.struct] = None
    return {key: (*structs,) for key, structs in found.items()}


READ: Final = _read()
"""By apiVersion and kind."""
