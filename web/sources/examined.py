"""What `doctor` looks at, asked of the API server when somebody asks, as the user. It costs lists of all pods."""

from __future__ import annotations

from collections.abc import Mapping

from answers.doctor.seen import Seen
from answers.reading.seen import PartlySeen
from api.kueue import API_VERSION as QUOTA
from kube.client import REQUEST_SECONDS
from kube.reading import read_kinds, why_unread
from web.sources.source import Ask

__all__ = ["look"]


async def look(ask: Ask) -> Seen:
    """All of it. A right that is missing is named in it. Raises ApiError for other faults, and InputError for an object
    that cannot be used."""
    reader = PartlySeen()
    for kind, error in (await read_kinds(_As(ask), reader, {QUOTA})).items():
        reader.do_without(kind, why_unread(error))
    return reader.seen()


class _As:
    """See `kube.client.Getting`."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        seconds: float = REQUEST_SECONDS,
    ) -> bytes:
        """Only for GET."""
        del method, seconds
        return await self._ask(path, query or {})
