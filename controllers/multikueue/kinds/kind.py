"""What the manager must know of a kind of object that it sends to worker clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from api.jobs import TemplatedJob
from api.workloads import Workload
from controllers.multikueue.life.seen import Mark

__all__ = ["Json", "Kind"]

Json = Mapping[str, Any]
"""An object, or a part of one, as the API server has it. Nobody changes it in place."""


class Kind(Protocol):
    """One kind. All methods are pure."""

    @property
    def api_version(self) -> str:
        """Such as `batch/v1`."""

    @property
    def name(self) -> str:
        """Such as `Job`."""

    def why_not(self, workload: Workload, job: TemplatedJob) -> str:
        """Why no cluster can ever get this one, in Kueue's words where it has some; empty if one can."""

    def body(self, job: Json, workload: Json, mark: Mark, origin: str) -> dict[str, Any]:
        """The object that is created in a worker cluster, suspended. `workload`: its Workload here, with its
        admission."""

    def mirrored(self, job: Json, remote: Json | None) -> dict[str, Any] | None:
        """A merge patch of the status of the object here (`job`), so that it shows what happens there.

        `remote`: the status of the object there; None: it does not exist, and no pod of it runs. Returns None if
        there is nothing to write."""
