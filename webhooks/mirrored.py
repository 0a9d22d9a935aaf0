"""What other objects say, from the mirror."""

from __future__ import annotations

from api.core import PriorityClass
from api.groups import PodGroup
from api.priority import SYSTEM_CLASSES, global_default
from runtime.mirror import Mirror
from webhooks.facts import UNKNOWN, Answer

__all__ = ["MirroredFacts"]


class MirroredFacts:
    """`Facts` of a cluster; nothing is known before the mirror is synced."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def priority_class(self, name: str) -> Answer[PriorityClass]:
        """See `Facts`."""
        if not self._mirror.synced:
            return SYSTEM_CLASSES.get(name, UNKNOWN)
        return self._mirror.tables.priority_classes.get(name) or SYSTEM_CLASSES.get(name)

    def default_priority_class(self) -> Answer[PriorityClass]:
        """See `Facts`."""
        if not self._mirror.synced:
            return UNKNOWN
        return global_default(self._mirror.tables.priority_classes.values())

    def pod_group(self, namespace: str, name: str) -> Answer[PodGroup]:
        """See `Facts`."""
        return self._mirror.tables.groups.find(namespace, name) if self._mirror.synced else UNKNOWN
