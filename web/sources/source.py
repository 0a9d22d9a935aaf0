"""What the page asks of where its answers come from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from answers.details import Details
from answers.picture import Picture

__all__ = ["Ask", "Seen", "Source"]

Ask = Callable[[str, Mapping[str, str]], Awaitable[bytes]]
"""Path and query: the body of a GET as the reader. Raises kube.errors.ApiError."""


class Seen(Protocol):
    """A cluster at one moment. Nothing changes it, but only one thread at a time may read it."""

    def at(self, moment: int) -> Picture:
        """What the answers are about. `moment`: in microseconds since 1970."""

    def details(self, namespace: str) -> Details:
        """Whole objects of a namespace, as far as the list of what waits needs them."""


class Source(Protocol):
    """Where the page's answers come from."""

    is_live: bool
    """Whether it follows a cluster."""

    def picture(self) -> Seen:
        """The newest moment. The same object while nothing changes. Raises UnreadError before there is one."""

    def now(self) -> int:
        """The moment for answers, in microseconds since 1970: the clock, or the time of the files."""

    async def about(self, namespace: str, ask: Ask) -> tuple[Picture, Details]:
        """What an answer about an object of the namespace needs. What is not mirrored is asked as the reader. Raises
        UnreadError before there is a picture."""

    @property
    def version(self) -> str:
        """Changes when what is shown could change. Opaque, ASCII."""

    @property
    def lease(self) -> Mapping[str, str]:
        """What the leader says of itself: the annotations of its Lease. Empty if it says nothing."""

    @property
    def trouble(self) -> str:
        """Why what is shown may be old. Empty if it is not."""

    async def changed(self) -> None:
        """Wait for the next change. Never returns for files."""

    async def run(self) -> None:
        """Follow the cluster until cancelled. Returns at once for files."""

    async def wait_synced(self) -> None:
        """Wait until there is a picture."""
