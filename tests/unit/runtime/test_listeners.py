"""What listens hears everything until the end of its block."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from runtime.listeners import Listenable


class Bell(Listenable[[str]]):
    def ring(self, tone: str) -> None:
        self._tell(tone)


def test_each_listener_is_called_until_the_end_of_its_block() -> None:
    bell, first, second = Bell(), list[str](), list[str]()
    with bell.told(first.append):
        bell.ring("a")
        with bell.told(second.append):
            bell.ring("b")
        bell.ring("c")
    bell.ring("d")
    assert (first, second) == (["a", "b", "c"], ["b"])


def test_one_that_leaves_when_it_is_called_takes_nothing_from_the_others() -> None:
    bell, heard, block = Bell(), list[str](), ExitStack()
    block.enter_context(bell.told(lambda _: block.close()))
    with bell.told(heard.append):
        bell.ring("a")
    assert heard == ["a"]


def test_a_fault_in_the_block_ends_it_as_well() -> None:
    bell, heard = Bell(), list[str]()
    with pytest.raises(ZeroDivisionError), bell.told(heard.append):
        bell.ring(str(1 // 0))
    bell.ring("a")
    assert heard == []
