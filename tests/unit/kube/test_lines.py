"""Streams as lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.lines import LineTooLongError, delayed, lines


async def split(pieces: list[bytes], longest: int = 100) -> list[bytes]:
    async def arriving() -> AsyncGenerator[bytes, None]:
        for piece in pieces:
            yield piece

    return [line async for batch in lines(arriving(), longest=longest) for line in batch]


@given(
    text=st.lists(st.binary(max_size=6).map(lambda line: line.replace(b"\n", b"")), max_size=8),
    cuts=st.lists(st.integers(0, 60), max_size=6),
    ended=st.booleans(),
)
def test_lines_do_not_depend_on_where_the_pieces_end(text: list[bytes], cuts: list[int], ended: bool) -> None:
    whole = b"\n".join(text) + (b"\n" if ended else b"")
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    pieces = [whole[start:end] for start, end in pairwise(edges) if start < end]
    complete = whole.split(b"\n")[:-1]
    assert asyncio.run(split(pieces)) == [line for line in complete if line]


@pytest.mark.parametrize("pieces", [[b"x" * 101], [b"x" * 60, b"x" * 60], [b"y\n" + b"x" * 101 + b"\nz\n"]])
async def test_a_line_may_not_be_longer_than_any_object(pieces: list[bytes]) -> None:
    with pytest.raises(LineTooLongError):
        await split(pieces)


async def test_long_lines_are_whole() -> None:
    assert await split([b"a" * 60, b"b" * 40 + b"\n", b"c\n"]) == [b"a" * 60 + b"b" * 40, b"c"]


async def test_what_is_delayed_keeps_its_order_and_its_end() -> None:
    async def source() -> AsyncGenerator[list[bytes], None]:
        for number in range(5):
            yield [b"%d" % number]
        raise LineTooLongError("the end")

    seen: list[bytes] = []

    async def read() -> None:
        async for batch in delayed(source(), 0.01):
            seen.extend(batch)

    with pytest.raises(LineTooLongError, match="the end"):
        await read()
    assert seen == [b"0", b"1", b"2", b"3", b"4"]
