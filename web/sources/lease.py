"""The Lease of the leader, which is read again and again: it says what the process does for gangs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

import msgspec
import structlog

from answers.native_gangs import NativeSaid
from answers.reading.published import LEASE, PublishedLease, by_owner_said, native_said
from api.owner_annotations import ByOwner
from api.published import NAMESPACE, PROCESS
from api.validation import FieldError
from kube.client import ApiClient, get_or_none
from kube.discovery import object_path
from kube.errors import ApiError
from nodes.groups.forms import ALL_PREEMPTING, PREEMPTING, Sources

__all__ = ["USUAL", "LeaseReader"]

log = structlog.get_logger(__name__)

SECONDS: Final = 1.5
"""Between two reads. They show a cut network before the watches do: the page says so within five seconds."""
REQUEST_SECONDS: Final = 1.5
USUAL: Final[ByOwner] = "Victims"
"""`groups.byOwner` where nobody says it."""


class LeaseReader:
    """What the Lease said last."""

    def __init__(
        self, client: ApiClient, changed: Callable[[], None], by_owner: ByOwner | None = None
    ) -> None:
        """`changed` is called when it says something else than before. `by_owner`: counts whatever it says."""
        self._client, self._changed = client, changed
        self._path = object_path(LEASE[0], "leases", NAMESPACE, PROCESS)
        self._read = asyncio.Event()
        self.said: Mapping[str, str] = {}
        """Its annotations."""
        self._given = by_owner
        self.native, self.by_owner = NativeSaid(), by_owner or USUAL
        self.refused: Mapping[tuple[str, str], str] = {}
        """The right that is missing to read it."""
        self.trouble = ""
        """Why it was not read the last time; empty if it was."""

    @property
    def preempting(self) -> Sources:
        """Sources whose gangs ask for room as one."""
        return ALL_PREEMPTING if self.native.plans else PREEMPTING

    async def wait_read(self) -> None:
        """Wait until it was asked for once."""
        await self._read.wait()

    async def run(self) -> None:
        """Read it until cancelled."""
        while True:
            await self.read()
            await asyncio.sleep(SECONDS)

    async def read(self) -> None:
        """Read it once."""
        try:
            body = await get_or_none(self._client, self._path, seconds=REQUEST_SECONDS)
            self.refused, self.trouble = {}, ""
            self._take(body)
        except ApiError as error:
            if error.status == HTTPStatus.FORBIDDEN:
                self.refused, self.trouble = {LEASE: f"a right is missing: {error.message}"}, ""
                self._take(None)
            else:
                self.trouble = "the API server does not answer"
        self._read.set()

    def _take(self, body: bytes | None) -> None:
        """It says this; None: there is no Lease."""
        try:
            lease = msgspec.json.decode(body, type=PublishedLease) if body is not None else None
            annotations = dict((lease.metadata.annotations if lease is not None else None) or {})
        except msgspec.DecodeError as error:
            log.warning("the Lease cannot be read", error=str(error))
            return
        if annotations == self.said:
            return
        self.said = annotations
        self.native, self.by_owner = NativeSaid(), self._given or USUAL
        if lease is not None:
            try:
                self.native = native_said(lease)
                self.by_owner = self._given or by_owner_said(lease) or USUAL
            except FieldError as error:
                log.warning("the Lease says something that cannot be read", error=str(error))
        self._changed()
