"""Whether this process may do what `planning.mode: Enforce` does. A term asks before it begins.

Without these rights it would hold pods for plans that it cannot carry out. So such a term observes, says so, and asks
again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

import structlog

from controllers.gangs.lifecycle.modes import Modes
from kube.access import Access, lacking
from kube.client import ApiClient
from kube.errors import ApiError

__all__ = ["NEEDED", "Permits"]

log = structlog.get_logger(__name__)

NEEDED: Final = (
    Access("", "pods", "delete"),
    Access("", "pods", "patch"),
    Access("", "pods/eviction", "create"),
    Access("", "pods/status", "patch"),
)
"""What an observer lacks, and each plan of Enforce may need."""
TO_ASK: Final = Access("authorization.k8s.io", "selfsubjectaccessreviews", "create")
"""Every user has this right (the role system:basic-user), unless an administrator has taken it away."""
FORBIDDEN: Final = 403
AGAIN_SECONDS: Final = 60.0
"""After this time a term that lacks rights asks again."""
NO_ANSWER_SECONDS: Final = 1.0


class Permits:
    """The rights of this process, as far as a term has asked for them."""

    def __init__(self, client: ApiClient, modes: Modes) -> None:
        self._client, self._modes = client, modes
        self.lacking: tuple[str, ...] = ()
        """Rights that this term lacks; empty if nobody leads here, or nothing is to be enforced."""

    async def ask(self) -> None:
        """A term begins. Without the rights, nothing is enforced in it. Waits for an answer of the API server."""
        if not self._modes.wants_to_enforce:
            return
        self._found(await self._answered())
        if self.lacking:
            log.warning(
                "planning.mode is Enforce, and rights are missing: this term only observes",
                lacking=list(self.lacking),
            )

    async def act(self, acting: Coroutine[Any, Any, None]) -> None:
        """Do it until cancelled. If rights are missing: until they are granted."""
        if not self.lacking:
            await acting
            return
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(acting, name="observing without rights")
            while self.lacking:
                await asyncio.sleep(AGAIN_SECONDS)
                self.lacking = await self._answered()
            log.info("the rights that were missing are granted: the term begins anew")
            running.cancel()

    def end(self) -> None:
        """The term is over. The next leader asks for itself."""
        self._found(())

    def _found(self, missing: tuple[str, ...]) -> None:
        self.lacking = missing
        self._modes.permit(not missing)

    async def _answered(self) -> tuple[str, ...]:
        while True:
            try:
                return tuple(str(each) for each in await lacking(self._client, NEEDED))
            except ApiError as error:
                if error.status == FORBIDDEN:
                    return (str(TO_ASK),)
                log.warning("the API server does not say which rights there are", error=str(error))
                await asyncio.sleep(NO_ANSWER_SECONDS)
