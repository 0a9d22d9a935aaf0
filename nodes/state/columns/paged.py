"""Lists that a table changes in place, and that snapshots keep as they were.

A list is in pages. A snapshot keeps the pages, and the table copies a page before the first change after that. So a
snapshot costs a pointer for each page, and an event costs a page at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, Generic, TypeVar, overload

__all__ = ["PagedList", "Pages"]

T = TypeVar("T")

BITS: Final = 9
SIZE: Final = 1 << BITS
"""Items of a page. The last page may have fewer."""
INSIDE: Final = SIZE - 1


class Pages(Sequence[T], Generic[T]):
    """A list that nobody changes. Indexes are not negative."""

    __slots__ = ("_pages",)

    def __init__(self, pages: Sequence[list[T]] = ()) -> None:
        self._pages = pages

    def __len__(self) -> int:
        pages = self._pages
        return (len(pages) - 1) * SIZE + len(pages[-1]) if pages else 0

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(self._pages)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [*self][index]
        return self._pages[index >> BITS][index & INSIDE]

    @property
    def pages(self) -> Sequence[list[T]]:
        """The pages of a list that is shared. Nobody changes them, so the same page has the same items."""
        return self._pages

    def extended(self, items: Iterable[T]) -> Pages[T]:
        """The list with more items at the end."""
        last = [*(self._pages[-1] if self._pages else ()), *items]
        return Pages((*self._pages[:-1], *(last[at : at + SIZE] for at in range(0, len(last), SIZE))))

    def at(self, indexes: Iterable[int]) -> list[T]:
        """The items at these indexes: faster than one by one."""
        pages = self._pages
        return [pages[index >> BITS][index & INSIDE] for index in indexes]


class PagedList(Pages[T]):
    """A list that one thread changes, and that it shares with snapshots."""

    __slots__ = ("_last", "_mine", "_own")

    def __init__(self) -> None:
        self._mine: list[list[T]] = []
        super().__init__(self._mine)
        self._own: set[int] = set()
        """Numbers of the pages that nobody else keeps."""
        self._last: list[T] = []
        """The last page, if nobody else keeps it. Otherwise a list that no page is."""

    def append(self, item: T) -> None:
        """Add an item at the end."""
        last = self._last
        if not last or len(last) == SIZE:
            last = self._open()
        last.append(item)

    def __setitem__(self, index: int, item: T) -> None:
        self._page(index >> BITS)[index & INSIDE] = item

    def share(self) -> Pages[T]:
        """The list as it is now, for somebody to keep."""
        self._own.clear()
        self._last = []
        return Pages(tuple(self._mine))

    def _open(self) -> list[T]:
        """The last page, which has room for more."""
        if not self._mine or len(self._mine[-1]) == SIZE:
            self._own.add(len(self._mine))
            self._mine.append([])
        self._last = self._page(len(self._mine) - 1)
        return self._last

    def _page(self, number: int) -> list[T]:
        """The page, to be changed."""
        if number not in self._own:
            self._mine[number] = self._mine[number].copy()
            self._own.add(number)
        return self._mine[number]
