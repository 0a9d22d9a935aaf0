"""Reads what somebody posts, who may be anybody: it has limits, and is kept nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from answers.errors import InputError
from answers.reading.details import DetailedObjects
from answers.reading.documents import Header, Kind
from answers.reading.submissions import ClusterObjects, SubmissionReader
from answers.submission import Known, Submission
from api.integration import QUEUE_NAME_LABEL as QUEUE
from api.words import counted

__all__ = ["SOURCE", "Posted", "SubmittableObjects", "TooMuchError"]

MOST_OBJECTS: Final = 100
MOST_PODS: Final = 10_000
"""Of all objects together."""
SOURCE: Final = "manifests"
"""What messages call the text."""


class TooMuchError(InputError):
    """More objects or pods than are looked at."""


class SubmittableObjects(DetailedObjects, ClusterObjects):
    """What `why` needs, and what only submissions need."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {**ClusterObjects.kinds, **DetailedObjects.kinds}

    def known(self) -> Known:
        """What only submissions need. Call it after the last object was read."""
        return Known(self.picture(nodes=False).workload_classes, self.runtimes, self.unread_runtimes)


class Posted(SubmissionReader):
    """Objects that are posted. Aliases of YAML are refused: a short text could repeat itself without end."""

    most_aliased: ClassVar[int] = 0

    def __init__(self, namespace: str) -> None:
        """`namespace`: of objects that name none."""
        super().__init__(namespace)
        self._objects_seen = 0

    def _kind_of(self, header: Header) -> Kind | None:
        """Counts the object. Raises TooMuchError."""
        self._objects_seen += 1
        if self._objects_seen > MOST_OBJECTS:
            raise TooMuchError(f"{SOURCE}: more than {counted(MOST_OBJECTS, 'object')} are not looked at")
        return super()._kind_of(header)

    def keep(self, thing: Any, place: str) -> None:
        """See `SubmissionReader`. Raises TooMuchError."""
        super().keep(thing, place)
        check_pods(sum(each.count for made, _ in self._objects for each in made.sets))

    @property
    def namespaces(self) -> frozenset[str]:
        """Of all objects that were read."""
        metas = [made.written.metadata for made, _ in self._objects]
        metas += [each.metadata for each in self._groups] + [each.metadata for each in self._claims]
        return frozenset(each.namespace for each in metas)

    @property
    def uses_queues(self) -> bool:
        """Whether any of the objects may need quota."""
        return any(
            made.kind == "Workload" or QUEUE in labels
            for made, _ in self._objects
            for labels in (made.labels or {}, *((each.pod.metadata.labels or {}) for each in made.sets))
        ) or any(QUEUE in (each.metadata.labels or {}) for each in self._groups)

    def submission(self, known: Known) -> Submission:
        """What was read, by what the cluster has. Raises InputError."""
        found = self.expand(known.runtimes, known.unread_runtimes)
        check_pods(sum(each.count for made in found.objects for each in made.sets))
        return found


def check_pods(pods: int) -> None:
    """Raises TooMuchError."""
    if pods > MOST_PODS:
        raise TooMuchError(f"{SOURCE}: these are {pods} pods; more than {MOST_PODS} are not looked at")
