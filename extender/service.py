"""The extender as a service: the verbs behind their listener."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

from api.clock import Clock
from controllers.gangs.controller import GangController
from extender.configuration import ExtenderConfiguration
from extender.server import extender_app
from extender.tls import ExtenderTLS
from extender.verbs import Verbs
from extender.world import LiveWorld
from runtime.failpoints import failpoint
from serving.listeners import serving
from serving.ops import Check

__all__ = ["ExtenderService"]


class ExtenderService:
    """Answers kube-scheduler from what the gang controller knows."""

    def __init__(
        self, configuration: ExtenderConfiguration, controller: GangController, clock: Clock
    ) -> None:
        """Raises OSError, which names the file, if there are no CAs of clients."""
        self._configuration, self._controller = configuration, controller
        self._tls = ExtenderTLS(configuration.tls, clock) if configuration.tls else None
        self.verbs = Verbs(LiveWorld(controller), controller.reservations)

    def checks(self) -> Mapping[str, Check]:
        """Those of the controller, from which the verbs answer, and that of the certificate."""
        certificate = {"extender-certificate": self._tls.fault} if self._tls else {}
        return {**self._controller.checks(), **certificate}

    def tasks(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        """Who looks after the certificates."""
        return self._tls.tasks() if self._tls else {}

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """The verbs are answered while the context lasts."""
        app = extender_app(self.verbs, self._configuration, failpoint)
        if self._tls is not None:
            await self._tls.load()
        async with serving(app, self._configuration, self._tls.context if self._tls else None):
            yield
