"""Bodies that no API server sends: reviews with something else in some place, and bytes that are hardly JSON."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from tests.fuzz.reviewing import PATHS, seeds

T = TypeVar("T")

__all__ = ["bodies"]


def _among(values: Sequence[T]) -> st.SearchStrategy[T]:
    """One of them, by index: some would fill the screen in hypothesis' own messages."""
    return st.integers(0, len(values) - 1).map(values.__getitem__)


ODD_TEXTS: Final = (
    "", " ", "0", "-1", "1Ki", "1e1.5", "9" * 400, "9" * 50_000, ".", "\x00", "\x7f", "\u2028", "\U0001f4a9",
    "0s", "1h", "-1ns", "9999999999h", "2026-01-02T03:04:05Z", "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999-23:59", "gate", "a/b/c", "~1/~0", "Open", "Closed", "Retry", "Never",
    "Any", "system-node-critical", "__proto__", "%s%n", "../..", "\u0130", "\u212a",
)  # fmt: skip
ODD_NUMBERS: Final = (
    0, -1, 1, 2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**400, 0.5,
    -0.0, 1e308, 5e-324, 1e-7,
)  # fmt: skip
_odd_values: Final = st.recursive(
    st.none()
    | st.booleans()
    | _among(ODD_TEXTS)
    | _among(ODD_NUMBERS)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=6,
)
"""Anything that JSON holds, mostly what some check looks at."""

RAW: Final = (
    b"", b"null", b"[]", b"{}", b'""', b"0", b"true", b"nul", b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00",
    b"\x00", b"[" * 100_000, b"[" * 5_000 + b"]" * 5_000, b'{"a":' * 50_000, b"1" * 200_000,
    b'"' + b"\\u0000" * 20_000,
    b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}',
    b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"u"}}',
)  # fmt: skip
TOKENS: Final = (
    b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"-0", b"01", b"1.", b"1" * 5_000, b'"\\ud800"',
    b'"\\udc00"', b'"\xff"', b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"/**/", b"\x00", b"\xc0\x80",
    b'"uid":"v",', b'"object":{},"object":[],', b"[" * 90 + b"]" * 90, b"[" * 5_000 + b"]" * 5_000,
    b'{"":' * 99 + b"0" + b"}" * 99,
)  # fmt: skip


@st.composite
def _requests_of_reviews(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """(path, review), the review with other values in up to four places, or with other fields."""
    path, sound = draw(_among(seeds()))
    review: dict[str, Any] = copy.deepcopy(sound)
    for _ in range(draw(st.integers(0, 4))):
        _spoil(draw, review)
    return path, review


def _spoil(draw: st.DrawFn, review: dict[str, Any]) -> None:
    # Mostly in the objects: what is wrong outside of them is refused before anybody looks at them.
    place: Any = review
    for name in ("request", draw(st.sampled_from(["object", "object", "oldObject"]))):
        if isinstance(place.get(name), dict) and draw(st.integers(0, 19)):
            place = place[name]
    while True:
        if isinstance(place, dict):
            if not place or draw(st.integers(0, 19)) == 0:
                place[draw(st.text(max_size=8))] = draw(_odd_values)
                return
            key: Any = draw(st.sampled_from(sorted(place)))
        elif place:
            key = draw(st.integers(0, len(place) - 1))
        else:
            place.append(draw(_odd_values))
            return
        if not isinstance(place[key], dict | list) or draw(st.integers(0, 7)) == 0:
            if draw(st.booleans()):
                place[key] = draw(_odd_values)
            elif isinstance(place, list):
                place[:] = place * 2 if len(place) < 50 else place[:key]
            else:
                del place[key]
            return
        place = place[key]


@st.composite
def _cut(draw: st.DrawFn) -> tuple[str, bytes]:
    """A right review with tokens put in, or pieces left out or twice."""
    path, review = draw(_among(seeds()))
    body = json.dumps(review).encode()
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(body)))
        until = draw(st.integers(at, min(len(body), at + 40)))
        token = draw(_among(TOKENS) | st.binary(max_size=4) | st.just(body[at:until]))
        body = body[:at] + token + body[until:]
    return path, body


def _encoded(asked: tuple[str, Any]) -> tuple[str, bytes]:
    path, review = asked
    return path, json.dumps(review, ensure_ascii=False).encode("utf-8", "surrogatepass")


bodies: Final[st.SearchStrategy[tuple[str, bytes]]] = st.one_of(
    _requests_of_reviews().map(_encoded),
    _requests_of_reviews().map(_encoded),
    _cut(),
    st.tuples(st.sampled_from(PATHS), _among(RAW) | st.binary(max_size=200)),
)
"""(path, body)."""
