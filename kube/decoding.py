"""Decodes what lists and watches of one resource bring. An object that cannot be read hides no other one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from api.meta import List, ListMeta
from kube.envelopes import Event
from kube.errors import ApiError

__all__ = ["Decoding"]

T = TypeVar("T")


class Decoding(Generic[T]):
    """Of objects of this type."""

    def __init__(self, type_: type[T]) -> None:
        self._pages = msgspec.json.Decoder(List[type_])  # type: ignore[valid-type] # a run-time type
        self._raw_pages = msgspec.json.Decoder(List[msgspec.Raw])
        self._items = msgspec.json.Decoder(type_)
        self._events: msgspec.json.Decoder[Event[T]] = msgspec.json.Decoder(Event[type_])  # type: ignore[valid-type] # a run-time type

    def page(
        self, body: bytes, unreadable: Callable[[msgspec.Raw, Exception], None]
    ) -> tuple[ListMeta, list[T]]:
        """The readable objects of a page of a list. `unreadable` gets each other one. Raises ApiError if the answer is
        no list."""
        try:
            page = self._pages.decode(body)
        except msgspec.ValidationError:
            return self._page_by_item(body, unreadable)
        except msgspec.DecodeError as error:
            raise ApiError(0, "InvalidAnswer", str(error)) from error
        return page.metadata, page.items

    def event(self, line: bytes) -> Event[T]:
        """A watch event with an object. Raises msgspec.ValidationError for another one, or if its object cannot be
        read, and msgspec.DecodeError if it is no JSON."""
        return self._events.decode(line)

    def fault(self, raw: msgspec.Raw) -> Exception:
        """Why an object cannot be read."""
        try:
            self._items.decode(raw)
        except msgspec.ValidationError as error:
            return error
        return ValueError("the event is not of the expected shape")

    def _page_by_item(
        self, body: bytes, unreadable: Callable[[msgspec.Raw, Exception], None]
    ) -> tuple[ListMeta, list[T]]:
        try:
            page = self._raw_pages.decode(body)
        except msgspec.DecodeError as error:
            raise ApiError(0, "InvalidAnswer", str(error)) from error
        items = list[T]()
        for raw in page.items:
            try:
                items.append(self._items.decode(raw))
            except msgspec.ValidationError as error:
                unreadable(raw, error)
        return page.metadata, items
