"""The extender as a service: the verbs behind their listener."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol

from aiohttp import web

from api.clock import Clock
from controllers.gangs.answering import Answering
from controllers.gangs.controller import GangController
from extender.blind import Blind
from extender.callers import Callers
from extender.configuration import ExtenderConfiguration
from extender.echo import Echo
from extender.peers import Peers
from extender.quiet import QuietMoments
from extender.server import Answers, Others, extender_app
from extender.tls import ExtenderTLS
from extender.verbs import Verbs
from extender.wire import Verb
from runtime.failpoints import failpoint
from serving.listeners import CONNECTIONS, serving
from serving.ops import Check

__all__ = ["EchoService", "Election", "ExtenderService"]

DRAIN_SECONDS: Final = 5.0
"""How long the listener answers after the process got its signal to end: the scheduler learns of the end late."""


class Election(Protocol):
    """Who leads, as far as this process knows."""

    @property
    def leader(self) -> str:
        """The address (HOST:PORT) of the other replica that leads now; of the last one if we are not in touch.

        It is empty if no other replica leads, or if the address is unknown.
        """

    @property
    def in_touch(self) -> bool:
        """Whether we know what other replicas may have done. If not, our mirror may be old, however new it looks."""

    @property
    def enforces(self) -> bool | None:
        """Whether the leader enforces, or something of a former Enforce is still held, by the Lease as it was seen
        last. None if there is no Lease, or nobody has held it yet."""


class _Listening:
    """The listener, and its certificate."""

    def __init__(self, configuration: ExtenderConfiguration, clock: Clock) -> None:
        """Raises OSError, which names the file, if there are no CAs of clients."""
        self._configuration = configuration
        self._tls = ExtenderTLS(configuration.tls, clock) if configuration.tls else None
        self._app: web.Application | None = None

    def checks(self) -> Mapping[str, Check]:
        """That of the certificate."""
        return {"extender-certificate": self._tls.fault} if self._tls else {}

    def tasks(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        """Who looks after the certificates."""
        return self._tls.tasks() if self._tls else {}

    @asynccontextmanager
    async def _serving(
        self, answers: Answers, drain_seconds: float = 0.0, others: Others | None = None
    ) -> AsyncIterator[None]:
        app = extender_app(answers, self._configuration, failpoint, others)
        if self._tls is not None:
            await self._tls.load()
        context = self._tls.context if self._tls else None
        async with serving(app, self._configuration, context, drain_seconds=drain_seconds):
            self._app = app
            yield


class _Replica(_Listening):
    """Answers as the leader's mode wants it, which may be another one than that of this process."""

    def __init__(
        self,
        configuration: ExtenderConfiguration,
        controller: GangController | None,
        clock: Clock,
        election: Election | None,
        callers: Callers | None,
    ) -> None:
        """`controller`: None for a process without a nodes plane. `election`: None for a process that is alone.
        `callers` takes note of the schedulers that call; None: nobody asks for them.

        Raises OSError, which names the file, if there are no CAs of clients.
        """
        super().__init__(configuration, clock)
        self._controller, self._election = controller, election
        saw = (callers or Callers(clock)).saw
        hears = controller.preempt_heard if controller is not None else None
        self._answering: Answering | None = None
        if controller is not None:
            self._answering = Answering(controller, self._is_in_touch, stands_in=not self._enforces)
        self.verbs: Verbs | Blind = Verbs(self._answering, saw) if self._answering is not None else Blind(saw)
        self._echo = Echo(saw, hears, QuietMoments(clock))
        self._peers: Peers | None = None
        if election is not None:
            tls = self._tls
            context = (lambda: tls.as_client) if tls is not None else None
            self._peers = Peers(configuration.peers, lambda: election.leader, self, clock, context)
        if controller is not None:
            controller.on_step_down(self._renew_connections)

    @property
    def _enforces(self) -> bool:
        """Whether this process would enforce if it led."""
        raise NotImplementedError

    @property
    def _leads(self) -> bool:
        return self._controller is not None and self._controller.acts

    @property
    def gives_back(self) -> bool:
        """Whether a call gets back what it brought. The leader's mode counts; without a Lease our own.

        Without the rights to enforce, a leader observes.
        """
        controller = self._controller
        if controller is not None and (controller.acts or controller.permits.lacking):
            return controller.leading is None
        enforces = self._election.enforces if self._election is not None else None
        return not (self._enforces if enforces is None else enforces)

    def answer(self, verb: Verb, body: bytes) -> bytes:
        """See `extender.server.Answers`."""
        return (self._echo if self.gives_back else self.verbs).answer(verb, body)

    def tasks(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        """Who looks after the certificates, and who tells the leader of pods that were turned down here."""
        tasks = super().tasks()
        return {**tasks, "extender notices": self._peers.tell()} if self._peers is not None else tasks

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """The verbs are answered while the context lasts."""
        if self._peers is None:
            async with self._serving(self, 0.0 if self._enforces else DRAIN_SECONDS):
                yield
            return
        async with self._peers.connected(), self._serving(self, DRAIN_SECONDS, self):
            yield

    def _renew_connections(self) -> None:
        """This process does not lead any longer: the scheduler connects anew, maybe to the one that does."""
        if self._app is not None:
            self._app[CONNECTIONS].renew()

    # ---- other replicas (see `extender.server.Others` and `extender.peers.Notices`)

    async def pass_on(self, verb: Verb, body: bytes) -> bytes | None:
        """The leader's answer; None if this replica is to answer."""
        if self._peers is None or self._leads or self.gives_back:
            return None
        return await self._peers.pass_on(verb, body)

    @property
    def is_blind(self) -> bool:
        """Whether this replica neither leads nor knows what others have done."""
        return not self._leads and not self._is_in_touch() and not self.gives_back

    def _is_in_touch(self) -> bool:
        return self._election is None or self._election.in_touch

    def told(self, notice: bytes) -> bool:
        """Another replica names pods that it has turned down. Returns whether this one leads and brings them back."""
        return self._answering is not None and self._answering.told(notice)

    def take(self) -> bytes | None:
        """The pods that this replica has turned down, as a notice to the leader; None if there are no such pods."""
        return self._answering.take_notice() if self._answering is not None else None

    def put_back(self, notice: bytes) -> None:
        """The leader was not told."""
        if self._answering is not None:
            self._answering.put_back(notice)


class EchoService(_Replica):
    """Gives every call back to kube-scheduler as it came, from the start.

    While another replica enforces, or has not withdrawn yet what it held, this one is a standby as any other.
    """

    def __init__(
        self,
        configuration: ExtenderConfiguration,
        clock: Clock,
        callers: Callers | None = None,
        controller: GangController | None = None,
        election: Election | None = None,
    ) -> None:
        """See `_Replica`."""
        super().__init__(configuration, controller, clock, election, callers)

    @property
    def _enforces(self) -> bool:
        return False


class ExtenderService(_Replica):
    """Answers kube-scheduler from what the gang controller knows, or has the replica that leads answer."""

    def __init__(
        self,
        configuration: ExtenderConfiguration,
        controller: GangController,
        clock: Clock,
        election: Election | None = None,
        callers: Callers | None = None,
    ) -> None:
        """See `_Replica`."""
        super().__init__(configuration, controller, clock, election, callers)
        self._gangs = controller

    @property
    def _enforces(self) -> bool:
        return True

    def checks(self) -> Mapping[str, Check]:
        """Those of the controller, from which the verbs answer, and that of the certificate.

        A replica that does not lead is ready as well: it passes calls on.
        """
        return {**self._gangs.checks(), **super().checks()}
