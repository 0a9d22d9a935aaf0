"""The mirror of one process: the tables, questions to them, and whether they may be trusted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from api.clock import Clock
from api.core import Pod
from api.times import parse_rfc3339
from controllers.gangs.keys import GroupKey
from controllers.gangs.mirror.roster import Roster
from runtime.mirror.pauses import Pauses
from runtime.mirror.readiness import not_synced, too_old
from runtime.mirror.views import View
from runtime.mirror.watched_tables import WatchedTables
from serving.ops import Check

__all__ = ["Mirror"]

OBJECT_SECONDS: Final = 5.0
"""How long after its creation a pod waits at most until its owner or PodGroup is known."""


class Mirror:
    """A mirror that is not synced, or has heard nothing for long, is not trusted: nobody is evicted then."""

    def __init__(
        self,
        watched: WatchedTables,
        roster: Roster,
        more: Collection[View[Any]],
        clock: Clock,
        *,
        overdue_seconds: float,
        max_age_seconds: float,
    ) -> None:
        """`more`: views of what else decisions depend on. The times: see `PlanningConfiguration`."""
        self.watched, self.tables, self.roster = watched, watched.tables, roster
        self.views: tuple[View[Any], ...] = (*watched.views, *more)
        self._clock, self._overdue_seconds = clock, overdue_seconds
        self._not_synced, self._too_old = not_synced(self.views), too_old(self.views, max_age_seconds)
        self._hooks: list[Callable[[str], None]] = []

    @property
    def pauses(self) -> Pauses:
        """Which namespaces are paused."""
        return self.watched.pauses

    def checks(self) -> Mapping[str, Check]:
        """What is wrong with it, by name."""
        return {"synced": self._not_synced, "watch-age": self._too_old}

    def is_trusted(self) -> bool:
        """Whether it may be trusted. Without it nobody is evicted, and pods of groups wait."""
        return self._not_synced() is None and self._too_old() is None

    async def wait_synced(self) -> None:
        """Wait until everything has been listed."""
        for view in self.views:
            await view.wait_synced()

    def on_overdue(self, hook: Callable[[str], None]) -> None:
        """Call `hook` with each pod (UID) that has become overdue, or is so no longer."""
        self._hooks.append(hook)

    def tell_time(self) -> bool:
        """Have the tables know which pods are overdue; whether that has changed for any pod."""
        changed = self.tables.tell_time(self._clock.wall() - self._overdue_seconds)
        for uid in changed:
            for hook in self._hooks:
                hook(uid)
        return bool(changed)

    def awaits_object(self, pod: Pod, key: GroupKey) -> bool:
        """Whether the pod is new, and the object that would make its group a gang is not known yet.

        A scheduler may hear of a pod before we hear of its owner or PodGroup, or of their kind, if that has just been
        installed. An object that does not come delays no pod for long.
        """
        created = pod.metadata.creation_timestamp
        if created is None:
            return False
        age = self._clock.wall() - parse_rfc3339(created)
        if age >= OBJECT_SECONDS:
            return False
        # The object came before the pod. Times of creation have whole seconds.
        return self.watched.awaits_object(key, self._clock.monotonic() - age + 1.0)
