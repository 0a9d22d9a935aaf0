"""Strategies for texts that are nearly right, or just so, for each target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hypothesis import strategies as st

from api.quantity import FAR
from tests.fuzz.bodies import bodies
from tests.fuzz.reviewing import PATHS
from tests.fuzz.targets import DURATIONS, SUFFIXES

__all__ = ["NEAR"]

BOUNDS: Final = (
    2**15, 2**31, 2**32, 2**53, 2**60, 2**63, 2**64, 2**63 // 1000, 2**63 // 10**6, 2**63 // 1024,
    2**63 // 3600, *(10**exponent for exponent in (3, 9, 14, 15, 16, 17, 18, 19, 20, 27)),
)  # fmt: skip
near_bounds: Final = st.builds(int.__add__, st.sampled_from(BOUNDS), st.integers(-2, 2)).map(str)
many: Final = st.builds(
    lambda start, block, count: start + block * count,
    st.text("0123456789", max_size=3),
    st.sampled_from(["0", "9", "1", "10", "09"]),
    st.integers(0, FAR) | st.integers(FAR - 40, FAR + 40),
)
digits: Final = st.text("0123456789", max_size=21) | near_bounds | many
signs: Final = st.sampled_from(["", "", "-", "+"])


def _joined(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map("".join)


numbers: Final = digits | _joined(digits, st.just("."), digits)
exponents: Final = _joined(
    st.sampled_from(["e", "E"]),
    signs,
    st.integers(0, 60).map(str) | st.integers(0, 5000).map(str) | near_bounds,
)
suffixes: Final = st.sampled_from(SUFFIXES) | exponents | st.text("eEinumkKMGTP+-0123456789", max_size=4)
quantities: Final = _joined(signs, numbers, suffixes)
spaces: Final = st.text(" \t\n\u00a0\u0085\u2003\u2028\ufeff\u200b", max_size=2)
units: Final = st.sampled_from(["ns", "us", "\u00b5s", "\u03bcs", "ms", "s", "m", "h", "d", ""])
durations: Final = _joined(signs, st.lists(_joined(numbers, units), max_size=4).map("".join))

NEAR: Final[Mapping[str, st.SearchStrategy[bytes]]] = {
    "quantity": st.one_of(
        quantities,
        _joined(quantities, st.just("\0"), quantities),
        _joined(spaces, quantities, spaces),
        st.floats().map(repr),
        st.text("0123456789.+-eEinumkKMGTP ", max_size=30),
    ).map(str.encode)
    | st.binary(max_size=12),
    "duration": (
        durations | st.sampled_from(DURATIONS) | st.text("0123456789.+-nu\u00b5mhs", max_size=12)
    ).map(str.encode)
    | st.binary(max_size=12),
    "review": bodies.map(lambda asked: bytes([PATHS.index(asked[0])]) + asked[1]) | st.binary(max_size=200),
}
"""By the target's name."""
