"""The extender as a service: the verbs behind their listener."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

from controllers.gangs.controller import GangController
from extender.configuration import ExtenderConfiguration
from extender.server import extender_app, tls_context
from extender.verbs import Verbs
from extender.world import LiveWorld
from runtime.failpoints import failpoint
from serving.listeners import serving
from serving.ops import Check

__all__ = ["ExtenderService"]


class ExtenderService:
    """Answers kube-scheduler from what the gang controller knows."""

    def __init__(self, configuration: ExtenderConfiguration, controller: GangController) -> None:
        self._configuration = configuration
        self.verbs = Verbs(LiveWorld(controller), controller.reservations)

    def checks(self) -> Mapping[str, Check]:
        """None of its own: it is ready when its controller is."""
        return {}

    def tasks(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        """Nothing goes on beside the listener."""
        return {}

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """The verbs are answered while the context lasts."""
        app = extender_app(self.verbs, self._configuration, failpoint)
        tls = tls_context(self._configuration.tls) if self._configuration.tls else None
        async with serving(app, self._configuration, tls):
            yield
