"""The control planes that run in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest

from hack.controlplane.plane import ControlPlane, Options, up_together
from hack.controlplane.states import States
from tests.e2e.audit import AuditTrail
from tests.kit.forks.client import forking
from tests.kit.versions import as_set_up

__all__ = ["RUNNING", "Planes"]


class Planes:
    """Starts control planes on the version that is picked. Each stops as soon as nobody uses it any longer."""

    def __init__(
        self, session: pytest.Session, folders: pytest.TempPathFactory, trail: AuditTrail, states: States
    ) -> None:
        """`states`: those of all processes of the run. To apply the manifests takes a third of a start."""
        self._session = session
        self._folders = folders
        self._trail = trail
        self._states = states
        self._running: dict[ControlPlane, int] = {}
        """Each with the number of tests that had failed when it started."""
        self._shared: dict[str, ControlPlane] = {}

    def __iter__(self) -> Iterator[ControlPlane]:
        return iter(self._running)

    def start(self, options: Options) -> ControlPlane:
        """A new plane. Raises ProcessFailedError."""
        return self.start_all([replace(options, states=self._states)])[0]

    def start_all(self, options: Sequence[Options]) -> list[ControlPlane]:
        """New planes that start together, each with namespaces of its own UIDs. Raises ProcessFailedError."""
        planes = [ControlPlane(self._folders.mktemp("plane"), forking(as_set_up(each))) for each in options]
        for plane in planes:
            self._running[plane] = self._session.testsfailed
            self._trail.follow(plane.audit_log)
        up_together(planes)
        return planes

    def shared(self, name: str, options: Options) -> ControlPlane:
        """The shared plane of this name, which is started if it does not run."""
        return self.share_all({name: replace(options, states=self._states)})[name]

    def share_all(self, options: Mapping[str, Options]) -> dict[str, ControlPlane]:
        """The shared planes of these names. If one of them does not run, they are started together."""
        missing = {name: each for name, each in options.items() if name not in self._shared}
        self._shared |= dict(zip(missing, self.start_all(list(missing.values())), strict=True))
        return {name: self._shared[name] for name in options}

    def stop_shared(self) -> None:
        """Stop the shared planes."""
        while self._shared:
            self.stop(self._shared.popitem()[1])

    def stop_all(self) -> None:
        """Stop all planes."""
        self._shared.clear()
        for plane in list(self._running):
            self.stop(plane)

    def stop(self, plane: ControlPlane) -> None:
        """Stop a plane. Its folder goes, too, unless a test has failed meanwhile: then the logs are wanted."""
        failed = self._running.pop(plane)
        plane.down()
        self._trail.keep(plane.audit_log)
        if self._session.testsfailed == failed:
            plane.discard()


RUNNING = pytest.StashKey[Planes]()
"""Where a session keeps its planes."""
