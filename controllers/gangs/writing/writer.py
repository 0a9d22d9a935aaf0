"""Conditioned writes: each says which object it means by UID, so that a late one cannot hit another of the name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

import msgspec

from api.clock import Clock
from api.groups import API_VERSION, PodGroup, PodGroupStatus
from controllers.gangs.lifecycle.modes import Modes
from kube.client import ApiClient
from kube.conditions import ConditionWriter, Status, Target
from kube.recorder import Event, EventRecorder, Reference
from kube.sender import Sender
from nodes.groups.forms import object_name
from runtime.plans.plan_writer import PlanWriter, decoded, path_of

__all__ = ["Reference", "Writer", "reference_of"]

EVENTS_SECONDS: Final = 1.0
"""How long a term that ends may write events."""


def reference_of(group: PodGroup) -> Reference:
    """The object of the group, whatever its kind is."""
    named = object_name(group)
    return Reference(named.api_version, named.kind, group.metadata.namespace, named.name, named.uid)


class Writer(PlanWriter):
    """All that is written to the API server, pods aside (`PodWriter`).

    Writes are tried again for a while when the API server is away or overloaded; what it then still refuses, and
    conflicts at once, are raised as ApiError.
    """

    def __init__(
        self,
        client: ApiClient,
        clock: Clock,
        *,
        sender: Sender | None = None,
        group_written: Callable[[PodGroup], object] = lambda _group: None,
        modes: Modes | None = None,
    ) -> None:
        """`group_written` gets each PodGroup after a write: it is newer than what the watch shows. `modes`: None: all
        is enforced."""
        super().__init__(client, sender or Sender(client))
        self._group_written, self._clock = group_written, clock
        self._recorder = EventRecorder(self._sender, clock=clock)
        self._conditions = ConditionWriter(self._sender, clock=clock)
        self._modes = modes or Modes()

    def event(
        self,
        regarding: Reference,
        type_: Literal["Normal", "Warning"],
        reason: str,
        action: str,
        note: str,
        *,
        related: Reference | None = None,
    ) -> None:
        """See `kube.recorder.EventRecorder`. Where nothing is done, there are no events."""
        if not self._modes.observes(regarding.namespace):
            self._recorder.event(regarding, type_, reason, action, note, related=related)

    def events(self, made: Iterable[Event]) -> None:
        """See `kube.recorder.EventRecorder`. Where nothing is done, there are no events."""
        self._recorder.events(each for each in made if not self._modes.observes(each.regarding.namespace))

    async def close(self) -> None:
        """Write the events that wait, if that is soon done: the next process waits for us."""
        await self._recorder.close(EVENTS_SECONDS)

    # ---- groups

    async def write_group_condition(
        self,
        group: PodGroup,
        type_: str,
        status: Status,
        reason: str,
        message: str,
        *,
        numbers: Mapping[str, int] | None = None,
    ) -> None:
        """Have the PodGroup say so; nothing is sent if it says just that, or if it has gone.

        `numbers`: fields of its status that are written with the condition. See `ConditionWriter.write`.
        """
        meta, known = group.metadata, msgspec.to_builtins(group.status or PodGroupStatus())
        target = Target(
            path=path_of("podgroups", meta.namespace, meta.name),
            api_version=API_VERSION,
            kind="PodGroup",
            metadata=meta,
            conditions=(group.status.conditions if group.status else None) or (),
            numbers={name: known.get(name, 0) for name in numbers or ()},
        )
        body = await self._conditions.write(
            target, type_, status, reason, message, generation=meta.generation, numbers=numbers or {}
        )
        if body is not None:
            self._group_written(decoded(body, PodGroup))
