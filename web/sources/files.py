"""Files: what they say was so at one moment, and nothing changes."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from functools import cache

from answers.details import Details
from answers.doctor.seen import Seen as Looked
from answers.names import Names
from answers.picture import Picture
from answers.reading.page_objects import PageObjects
from answers.scheduler_marks import Mark
from answers.submission import Known
from web.sources.source import Ask, Changes, Seen

__all__ = ["Files"]


class Files:
    """See `Source`."""

    is_live = False
    version = "files"
    trouble = ""

    def __init__(self, objects: PageObjects) -> None:
        """`objects`: everything has been read. Raises InputError for an object that cannot be used."""
        self._seen = Seen(objects.picture(), cache(objects.details), objects.account(), objects.plans())
        self._known, self._look = objects.known(), cache(objects.seen)
        self.lease: Mapping[str, str] = objects.nodes.published

    def picture(self) -> Seen:
        """See `Source`."""
        return self._seen

    def now(self) -> int:
        """See `Source`."""
        return self._seen.picture.moment

    async def about(self, namespace: str, ask: Ask) -> tuple[Picture, Details]:
        """See `Source`. Nothing is asked."""
        del ask
        return self._seen.picture, self._seen.details(namespace)

    async def known(self, namespaces: Collection[str], ask: Ask) -> Known:
        """See `Source`. Nothing is asked."""
        del namespaces, ask
        return self._known

    async def looked(self, ask: Ask) -> Looked:
        """See `Source`. Nothing is asked."""
        del ask
        return self._look()

    async def marks(self, namespace: str, name: str, names: Names, ask: Ask) -> Sequence[Mark]:
        """See `Source`. Whoever reads files may read all of them."""
        del names, ask
        return self._seen.details(namespace).marks(name)

    def changes(self) -> Changes:
        """See `Source`. Nobody asks: nothing changes."""
        raise NotImplementedError

    async def changed(self) -> None:
        """See `Source`."""
        await asyncio.Event().wait()

    async def wait_synced(self) -> None:
        """See `Source`."""

    async def run(self) -> None:
        """See `Source`."""
