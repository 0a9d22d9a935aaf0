"""What the page's answers are about, wherever it comes from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from answers.details import Details
from answers.doctor.seen import Seen as Looked
from answers.map.changing import Change
from answers.names import Names
from answers.picture import Picture
from answers.reports.decisions import NO_ACCOUNT, Account
from answers.scheduler_marks import Mark
from answers.stored_plans import StoredPlans
from answers.submission import Known

__all__ = ["Ask", "Changes", "Seen", "Source"]

Ask = Callable[[str, Mapping[str, str]], Awaitable[bytes]]
"""The body of the answer to a GET of this path and query, as the user. Raises ApiError."""

Changes = Callable[[], Change | None]
"""What has changed of the map since the last call, as of the version that the source has then; None if there was too
much to be known."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A moment. Nothing changes it."""

    picture: Picture
    details: Callable[[str], Details]
    """What a namespace has, as far as the list of what waits needs it: of its pods at least those without a node."""
    account: Account = NO_ACCOUNT
    """What reports of preemption are made from."""
    plans: Mapping[str, StoredPlans] = field(default_factory=dict)
    """The stored plans by namespace."""

    def at(self, moment: int) -> Picture:
        """The picture, looked at later. `moment`: in microseconds since 1970."""
        return self.picture if self.picture.moment == moment else replace(self.picture, moment=moment)

    @property
    def refused(self) -> Mapping[tuple[str, str], str]:
        """The right that is missing, by apiVersion and kind of what could not be read."""
        return self.picture.refused


class Source(Protocol):
    """Where pictures come from. Everything runs on one event loop."""

    @property
    def is_live(self) -> bool:
        """Whether it follows a cluster."""

    @property
    def version(self) -> str:
        """Another one when what is shown could be different. It is ASCII, and differs between processes."""

    @property
    def trouble(self) -> str:
        """Why what is shown may be old, as the rest of a sentence; empty if it is not."""

    @property
    def lease(self) -> Mapping[str, str]:
        """What the leader says of itself: the annotations of its Lease (`api.published`)."""

    def picture(self) -> Seen:
        """The newest moment. The same object while nothing has changed. Raises UnreadError before there is one."""

    def now(self) -> int:
        """The moment of answers, in microseconds since 1970: the clock's, or that of files."""

    async def about(self, namespace: str, ask: Ask) -> tuple[Picture, Details]:
        """For an answer about an object of this namespace: the picture as of now, and all details of the namespace.

        What `ask` may not read is in `Picture.refused`. Raises ApiError for other faults.
        """

    async def known(self, namespaces: Collection[str], ask: Ask) -> Known:
        """What only submissions to these namespaces need, besides the picture. Raises ApiError."""

    async def looked(self, ask: Ask) -> Looked:
        """What the checks of `doctor` look at. What `ask` may not read is named in it.

        Raises ApiError for other faults.
        """

    async def marks(self, namespace: str, name: str, names: Names, ask: Ask) -> Sequence[Mark]:
        """What kube-scheduler says of pods of this name that it has evicted, as far as `names` and `ask` may read it.

        Raises ApiError.
        """

    def changes(self) -> Changes:
        """What changes from now on. Everybody who calls this gets all of it."""

    async def changed(self) -> None:
        """Wait until the version is another one. What stands still never returns."""

    async def wait_synced(self) -> None:
        """Wait until everything that may be read has been listed once."""

    async def run(self) -> None:
        """Follow the cluster until cancelled. Files have nothing to follow."""
